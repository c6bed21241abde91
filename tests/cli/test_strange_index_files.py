"""Folders and pipes in the place of files of the index: said, and never waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.config import load_config
from rag.index.snapshots import CURRENT

READERS = (("search", "backups"), ("get", "Backups"), ("status",), ("ask", "backups", "--no-model"))
LOCKS = ("index.lock", "gen-*.lock")


def make_folder(path: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text("mine")


KINDS: dict[str, Callable[[Path], None]] = {
    "a folder": make_folder,
    "a pipe": os.mkfifo,
}


def replace(pattern: str, kind: str) -> Path:
    """Put something else in the place of a file of the index, and return its path."""
    [file] = load_config().index_dir.glob(pattern)
    file.unlink()
    KINDS[kind](file)
    return file


def says_what_to_do(err: str, file: Path, kind: str) -> bool:
    told = f"{file} is {kind}, and should be a file"
    return told in err and f"Move {file} away, then run `rag index`." in err


@pytest.mark.parametrize("kind", KINDS)
def test_no_command_reads_what_is_in_the_place_of_current(rag, indexed, kind):
    file = replace(CURRENT, kind)
    for command in (*READERS, ("index",)):
        ran = rag(*command)
        assert (ran.code, ran.out) == (3, ""), command
        assert says_what_to_do(ran.err, file, kind)
    assert rag("search", "backups", "--json").json["error"]["kind"] == "index"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pattern", LOCKS)
def test_searches_do_without_a_lock_and_writers_do_not(rag, indexed, pattern, kind):
    file = replace(pattern, kind)
    for command in READERS:
        assert rag(*command).code == 0
    (indexed / "new.md").write_text("# New\n")
    ran = rag("index")
    assert ran.code == 3 and says_what_to_do(ran.err, file, kind)


@pytest.mark.parametrize("pattern", [CURRENT, *LOCKS])
def test_once_it_is_moved_away_an_index_run_mends_it(rag, indexed, tmp_path, pattern):
    file = replace(pattern, "a folder")
    (indexed / "new.md").write_text("# New\n")
    file.rename(tmp_path / "moved")
    assert rag("index").code == 0
    assert rag("search", "new").code == 0
    assert (tmp_path / "moved/mine.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pattern", [CURRENT, *LOCKS])
def test_doctor_says_so_too(rag, indexed, pattern, kind):
    file = replace(pattern, kind)
    ran = rag("doctor")
    assert ran.code == 1 and says_what_to_do(ran.out, file, kind)
    assert "the check broke" not in ran.out


@pytest.mark.parametrize("kind", KINDS)
class TestTheLockOfEmbedding:
    @pytest.fixture
    def strange(self, server, indexed: Path, kind: str) -> Path:
        """What is in its place, beside a note that has yet to be embedded."""
        (indexed / "new.md").write_text("# New\n")
        return replace("embedding.lock", kind)

    def test_without_it_words_are_indexed_and_it_is_said(self, rag, strange, kind):
        ran = rag("index")
        assert (ran.code, ran.out[:6]) == (0, "1 new;")
        assert says_what_to_do(ran.err, strange, kind)
        assert says_what_to_do(rag("index", "-q").err, strange, kind)

    def test_once_it_is_moved_away_an_index_run_mends_it(self, rag, strange, tmp_path):
        strange.rename(tmp_path / "moved")
        assert "1 chunk embedded" in rag("index").out

    def test_vectors_that_are_asked_for_are_missed_with_3(self, rag, strange, kind):
        ran = rag("index", "--embed")
        assert (ran.code, ran.out) == (3, "") and says_what_to_do(ran.err, strange, kind)


@pytest.mark.parametrize("name", ["points", "manifest.sqlite3", "shard/edge_config.json"])
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


def test_a_folder_for_the_list_of_vaults_is_never_deleted(rag, indexed):
    file = replace("../vaults.json", "a folder")
    ran = rag("index")
    assert ran.code == 3 and "vaults.json is a folder, and should be a file" in ran.err
    assert (file / "mine.txt").exists()


def test_nor_does_a_rebuild_take_the_index_away_first(rag, indexed):
    work = [*load_config().index_dir.glob("gen-*/shard/segments/*")]
    replace("../vaults.json", "a folder")
    assert rag("index", "--rebuild").code == 3
    assert work and all(segment.exists() for segment in work)


def test_doctor_tells_to_move_it_away(rag, indexed):
    file = replace("../vaults.json", "a folder").resolve()
    assert f"Move {file} away" in rag("doctor").out


@pytest.mark.parametrize("kind", KINDS)
def test_vaults_are_not_said_to_be_empty_or_new_when_the_index_cannot_be_read(rag, indexed, kind):
    file = replace(CURRENT, kind)
    listed = rag("vault", "list")
    assert listed.out == f"work  notes unknown  {indexed}\n"
    assert says_what_to_do(listed.err, file, kind)
    assert rag("vault", "list", "--json").json["vaults"]["work"]["notes"] is None
    found = rag("doctor")
    assert "not indexed" not in found.out and says_what_to_do(found.out, file, kind)


def test_without_an_index_a_vault_has_no_notes_in_it(rag, notes):
    assert rag("vault", "add", notes).code == 0
    listed = rag("vault", "list")
    assert (listed.out, listed.err) == (f"{notes.name}  0 notes  {notes}\n", "")
    assert "not indexed yet" in rag("doctor").out
