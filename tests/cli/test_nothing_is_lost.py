"""What no run may do: hide a new index, lose a note, or take one vault for another."""

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from disk_files import write_all
from rag.config import load_config
from rag.index.snapshots import MANIFEST, IndexDirectory
from tables import rows


class TestAnIndexMadeAnew:
    @pytest.mark.parametrize("empty_vaults", [0, 1, 2, 3])
    def test_is_published_whatever_the_numbers_of_generations(
        self, rag, write_notes, empty_vaults, tmp_path
    ):
        vault = write_notes("v", {"a.md": "zebra"})
        rag("index", vault)
        for number in range(empty_vaults):
            (tmp_path / f"empty{number}").mkdir()
            rag("vault", "add", tmp_path / f"empty{number}")
        (vault / "b.md").write_text("ocelot")
        assert rag("index", "--rebuild").code == 0
        assert rag("search", "ocelot").code == 0

    def test_is_not_published_when_a_note_that_was_readable_is_not(
        self, rag, write_notes, unreadable, monkeypatch
    ):
        vault = write_notes("v", {"a.md": "zebra", "b.md": "walrus"})
        rag("index", vault)
        unreadable("b.md")
        monkeypatch.setenv("RAG_INDEX__CHUNK_SIZE", "300")
        ran = rag("index", "-q")
        assert ran.code == 5
        assert "b.md" in ran.err and "--prune" in ran.err
        monkeypatch.delenv("RAG_INDEX__CHUNK_SIZE")
        assert rag("search", "walrus").code == 0

    def test_replaces_a_generation_that_lost_its_manifest_even_when_no_note_changed(
        self, rag, write_notes
    ):
        rag("index", write_notes("v", {"a.md": "zebra"}))
        directory = IndexDirectory(load_config().index_dir)
        (directory.path / str(directory.current()) / MANIFEST).unlink()
        assert rag("search", "zebra").code == 3
        rag("index")
        assert rag("search", "zebra").code == 0


class TestTwoFoldersOfOneName:
    def project(self, tmp_path: Path, name: str, text: str) -> Path:
        return write_all(tmp_path / name, {"rag.toml": "", "vaults/work/a.md": text})

    def test_one_project_does_not_replace_the_vault_of_another(self, rag, tmp_path, monkeypatch):
        monkeypatch.chdir(self.project(tmp_path, "p1", "zebra"))
        rag("index")
        monkeypatch.chdir(self.project(tmp_path, "p2", "ocelot"))
        ran = rag("index")
        assert ran.code == 2
        assert "p1/vaults/work" in ran.err and "--name" in ran.err
        assert rag("search", "zebra").code == 0


class TestNamesOnDisk:
    def test_paths_are_the_files_even_when_their_names_are_not_nfc(self, rag, write_notes):
        name = unicodedata.normalize("NFD", "ガイド.md")
        vault = write_notes("v", {name: "nfdneedle"})
        rag("index", vault)
        assert rag("search", "nfdneedle", "--paths").out.strip() == str(vault / name)
        assert rag("get", "ガイド", "--paths").out.strip() == str(vault / name)

    def test_a_vault_is_named_in_either_form(self, rag, write_notes):
        rag("index", write_notes("Café", {"a.md": "zebra"}))
        assert rag("search", "zebra", "--vault", unicodedata.normalize("NFD", "Café")).code == 0

    def test_paths_are_byte_for_byte_those_of_the_disk(self, rag, write_notes, environment):
        vault = write_notes("v", {})
        raw = os.fsencode(vault) + b"/\xff\xfe.md"
        Path(os.fsdecode(raw)).write_text("rawneedle")
        assert rag("index", vault).code == 0
        found = subprocess.run(
            [sys.executable, "-m", "rag", "search", "rawneedle", "--paths"],
            env=environment,
            capture_output=True,
        )
        assert found.stdout == raw + b"\n"
        assert rag("get", os.fsdecode(raw)).out == "rawneedle\n"


class TestStrangeInput:
    @rows("option", ("-t", ""), ("-t", "###"), ("--from", ""), ("--path", ""), ("--mode", ""))
    def test_an_empty_filter_is_refused_not_dropped(self, rag, indexed, option):
        assert rag("search", "backups", *option).code == 2

    @pytest.mark.sampled
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    @pytest.mark.parametrize(
        ("arguments", "unbuffered"),
        [("status --json", ""), ("status --json", "1"), ("get Backups", ""), ("status", "")],
    )
    def test_output_that_cannot_be_written_is_said(
        self, environment, indexed, arguments, unbuffered
    ):
        command = f"'{sys.executable}' -m rag {arguments} > /dev/full"
        env = {**environment, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, shell=True, env=env, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (
            74,
            "rag: the output cannot be written: No space left on device\n",
        )

    def test_escape_sequences_of_a_note_do_not_reach_the_terminal(self, rag, write_notes):
        rag("index", write_notes("v", {"a.md": "# T\x1b]0;pwned\x07\n\nneedle \x1b[2J here\n"}))
        assert "\x1b" not in rag("search", "needle").out
        assert "\x1b" not in rag("ask", "needle").out
