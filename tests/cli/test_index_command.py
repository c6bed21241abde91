"""`rag index`, `rag vault` and `rag status`."""

import os
from pathlib import Path

import pytest

from rag.config import load_config
from rag.index.snapshots import IndexDirectory


class TestIndex:
    def test_the_first_run_says_what_it_did_on_one_line(self, rag, notes):
        ran = rag("index", notes)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("3 new; 3 notes, 4 chunks in the index (")
        assert ran.out.count("\n") == 1

    def test_beside_a_folder_whose_name_is_taken_none_is_registered(self, rag, write_notes):
        taken, fresh, other = (
            write_notes(name, {"a.md": "# A\n"}) for name in ("notes", "fresh", "other/notes")
        )
        rag("index", "-q", taken)
        listed = load_config().data_dir / "vaults.json"
        before = listed.read_bytes()
        ran = rag("index", fresh, other)
        assert ran.code == 2 and f"--name NAME {other}" in ran.err
        assert listed.read_bytes() == before

    def test_a_folder_that_does_not_exist_is_a_usage_error_and_makes_nothing(self, rag, tmp_path):
        assert rag("index", tmp_path / "nowhere").code == 2
        assert not load_config().data_dir.exists()

    def test_notes_that_failed_give_5_and_are_named(self, rag, indexed, monkeypatch):
        from rag.indexing.note_reader import NoteReader

        read = NoteReader._read_here

        def fail(reader, file, is_apart=False):
            if file.path == "bad.md":
                raise PermissionError(13, "Permission denied")
            return read(reader, file, is_apart)

        monkeypatch.setattr(NoteReader, "_read_here", fail)
        (indexed / "bad.md").write_text("x")
        (indexed / "good.md").write_text("---\ncreated: never\n---\nx")  # a problem, but no failure
        ran = rag("index", "-q")
        assert ran.code == 5
        assert ran.err == "rag: work/bad.md: Permission denied\n"
        assert ran.out.startswith("1 new; 4 notes")
        assert rag("status", "--problems").code == 5 and rag("status").code == 0

    def test_an_empty_folder_gives_5_and_keeps_its_notes(self, rag, indexed):
        for note in indexed.rglob("*.md"):
            note.unlink()
        ran = rag("index")
        assert ran.code == 5
        assert "holds no notes (is it mounted?); 3 notes kept (--prune forgets)" in ran.err
        assert rag("search", "backups").code == 0

    def test_prune_keeps_a_folder_with_notes(self, rag, indexed):
        (indexed / "証明書.md").unlink()
        assert rag("index", "--prune", "-q").code == 0
        assert rag("get", "Backups").out

    def test_another_writer_gives_75_at_once(self, rag, indexed):
        with IndexDirectory(load_config().index_dir).writing():
            ran = rag("index")
        assert (ran.code, ran.out) == (75, "")
        assert f"process {os.getpid()}" in ran.err and "--wait" in ran.err


class TestVaultsDir:
    @pytest.fixture
    def parent(self, write_notes, monkeypatch) -> Path:
        write_notes("a", {"1.md": "alpha"})
        parent = write_notes("b", {"2.md": "beta"}).parent
        monkeypatch.setenv("RAG_VAULTS_DIR", str(parent))
        return parent

    def test_a_vault_left_out_of_the_configuration_stays_until_it_is_removed(
        self, rag, parent, monkeypatch
    ):
        rag("index")
        monkeypatch.delenv("RAG_VAULTS_DIR")  # as when the command is typed in another folder
        (parent / "b/new.md").write_text("gamma")
        assert rag("index").out.startswith("1 new; 3 notes")
        assert rag("vault", "remove", "b").code == 0
        rag("index")
        assert rag("search", "beta").code == 1

    @pytest.mark.parametrize("what", ["one vault", "all of it"])
    def test_a_folder_that_is_away_loses_nothing(self, rag, parent, what, tmp_path, write_notes):
        rag("index")
        (tmp_path / "own").mkdir()
        (tmp_path / "own/x.md").write_text("x")
        rag("index", tmp_path / "own")  # so that there still is something to index
        gone = parent / "b" if what == "one vault" else parent
        gone.rename(tmp_path / "unmounted")
        ran = rag("index")
        assert ran.code == 5
        assert "1 note kept (--prune forgets)" in ran.err
        assert rag("search", "beta").code == 0

    def test_prune_forgets_a_folder_that_is_away(self, rag, parent, tmp_path):
        rag("index")
        (parent / "b").rename(tmp_path / "unmounted")
        directory = IndexDirectory.of(load_config())
        before = directory.newest()
        ran = rag("index", "--prune")
        assert ran.code == 0 and directory.newest() == before + 1
        assert "vault 'b' is gone, and forgotten" in ran.err
        assert rag("search", "beta").code == 1
        assert list(rag("vault", "list", "--json").json["vaults"]) == ["a"]


class TestDryRun:
    def test_it_lists_what_would_be_done(self, rag, indexed):
        (indexed / "new.md").write_text("new")
        (indexed / "Backups.md").write_text("changed")
        (indexed / "証明書.md").unlink()
        ran = rag("index", "--dry-run")
        assert ran.code == 0
        assert ran.out.splitlines() == [
            "+ work/new.md",
            "~ work/Backups.md",
            "- work/証明書.md",
            "would index 1 new and 1 changed, forget 1",
        ]


class TestStatus:
    def test_it_shows_the_size_and_that_all_is_fresh(self, rag, indexed):
        ran = rag("status")
        assert ran.code == 0
        assert "3 in 4 chunks" in ran.out
        assert "up to date" in ran.out
        assert f"work  3 notes  {indexed}" in ran.out
