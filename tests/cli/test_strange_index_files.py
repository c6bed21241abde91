"""Folders and pipes in the place of files of the index: said, and never waited for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.config import load_config
from rag.index.snapshots import CURRENT, DAMAGED
from rag.support.files import MARK

READERS = (("search", "backups"), ("get", "Backups"), ("status",), ("ask", "backups", "--no-model"))
LOCKS = ("index.lock", f"gen-*/{MARK}")


def make_folder(path: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text("mine")


KINDS: dict[str, Callable[[Path], None]] = {"a folder": make_folder, "a pipe": os.mkfifo}


def replace(pattern: str, kind: str) -> Path:
    """Put something else in the place of a file of the index, and return its path."""
    [file] = load_config().index_dir.glob(pattern)
    file.unlink()
    KINDS[kind](file)
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_no_command_waits_for_what_is_in_the_place_of_current(rag, indexed, kind):
    replace(CURRENT, kind)
    for command in (*READERS, ("index",)):
        ran = rag(*command)
        assert ran.code and ran.out == "" and "Traceback" not in ran.err, command
        assert f"CURRENT is {kind}, not a file" in ran.err, command


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pattern", LOCKS)
def test_searches_do_without_a_lock(rag, indexed, pattern, kind):
    replace(pattern, kind)
    for command in READERS:
        assert rag(*command).code == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_writer_says_what_is_in_the_place_of_its_lock(rag, indexed, kind):
    file = replace("index.lock", kind)
    ran = rag("index")
    assert (ran.code, ran.err) == (2, f"rag: {file} is {kind}, not a file\nMove it away.\n")
    examined = rag("doctor")
    assert examined.code == 1 and f"{file} is {kind}, not a file" in examined.out


def test_a_pipe_for_word_of_damage_is_not_waited_for(rag, indexed):
    os.mkfifo(load_config().index_dir / DAMAGED)
    (load_config().index_dir / CURRENT).write_text("gen-999")
    assert rag("search", "backups").code == 3
    ran = rag("index")
    assert ran.code == 0 and "the index is rebuilt" in ran.err


@pytest.mark.parametrize("name", ["manifest.sqlite3", "shard/edge_config.json"])
def test_a_pipe_in_a_generation_is_damage_like_any(rag, indexed, name):
    replace(f"gen-*[0-9]/{name}", "a pipe")
    ran = rag("search", "backups")
    assert ran.code == 3 and "is damaged" in ran.err
    assert rag("doctor").code == 1
    assert rag("index").code == 0
    assert rag("search", "backups").code == 0


def test_a_pipe_for_the_list_of_vaults_is_damage_that_the_next_run_mends(rag, indexed):
    replace("../vaults.json", "a pipe")
    ran = rag("index")
    assert ran.code == 0 and "was damaged" in ran.err
    assert rag("index").err == ""


def test_a_file_in_the_place_of_the_data_folder_is_named(rag, tmp_path, monkeypatch):
    (tmp_path / "taken").touch()
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "taken"))
    for command in (("search", "x"), ("index", tmp_path), ("status",)):
        ran = rag(*command)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"rag: {tmp_path / 'taken'} is a file, not a folder\n")


def test_a_folder_for_the_list_of_vaults_is_never_deleted(rag, indexed):
    file = replace("../vaults.json", "a folder")
    ran = rag("index")
    assert ran.code == 2 and "vaults.json is a folder" in ran.err
    assert (file / "mine.txt").exists()
