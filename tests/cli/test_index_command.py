"""`rag index`, `rag vault` and `rag status`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.config import load_config
from rag.index.snapshots import IndexDirectory


def data_files() -> dict[Path, bytes | tuple[int, int]]:
    """All that the data folder holds; a lock file that a reader made is no change.

    The engine's large files are mostly holes: when they were written last says as much.
    """
    found: dict[Path, bytes | tuple[int, int]] = {}
    for file in load_config().data_dir.rglob("*"):
        if file.is_file() and file.suffix != ".lock":
            stat = file.stat()
            is_large = stat.st_size > 1 << 20
            found[file] = (stat.st_size, stat.st_mtime_ns) if is_large else file.read_bytes()
    return found


class TestIndex:
    def test_the_first_run_says_what_it_did_on_one_line(self, rag, notes):
        ran = rag("index", notes)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("3 new; 3 notes, 4 chunks in the index (")
        assert ran.out.count("\n") == 1

    def test_a_run_without_changes_says_so(self, rag, indexed):
        ran = rag("index")
        assert ran.code == 0
        assert ran.out.startswith("nothing changed: 3 notes, 4 chunks")

    @pytest.mark.parametrize("broken", ["a folder", "no pattern", "a link to nothing"])
    def test_an_ignore_file_that_is_none_is_told_once(self, rag, notes, broken):
        assert rag("index", notes).code == 0
        place = notes / ".ragignore"
        if broken == "a folder":
            place.mkdir()
        elif broken == "no pattern":
            place.write_text("!\n")
        else:
            place.symlink_to("nowhere")
        first, second = rag("index"), rag("index")
        assert (first.code, second.code, second.err) == (0, 0, "")
        assert ".ragignore: ignore file: " in first.err
        assert ".ragignore: ignore file: " in rag("status").out

    def test_quiet_prints_nothing_when_nothing_changed(self, rag, indexed):
        assert rag("index", "-q") == (0, "", "")

    def test_quiet_prints_one_line_when_something_did(self, rag, indexed):
        (indexed / "new.md").write_text("new")
        (indexed / "Backups.md").unlink()
        ran = rag("index", "-q")
        assert ran.out.startswith("1 new, 1 deleted; 3 notes")
        assert (ran.out.count("\n"), ran.err) == (1, "")

    @pytest.mark.parametrize(
        ("folder", "pair"), [("runbooks", "'runbooks' lies in 'work'"), ("..", "'work' lies in")]
    )
    def test_a_vault_within_another_is_told(self, rag, indexed, folder, pair):
        ran = rag("index", indexed / folder, "-q")
        assert ran.code == 0
        assert pair in ran.err and "rag vault remove" in ran.err
        assert "twice" not in rag("index").err  # whoever wants it so need not read it each time

    def test_a_vault_may_be_given_a_name(self, rag, notes):
        rag("index", notes, "--name", "office")
        assert list(rag("vault", "list", "--json").json["vaults"]) == ["office"]

    @pytest.mark.parametrize("flag", [(), ("--dry-run",)])
    def test_of_two_folders_of_one_name_neither_is_registered(self, rag, write_notes, flag):
        one, other = (write_notes(name, {"a.md": "# A\n"}) for name in ("notes", "other/notes"))
        ran = rag("index", one, other, *flag)
        assert (ran.code, ran.out) == (2, "")
        assert f"'notes': {one} and {other}" in ran.err and f"--name NAME {other}" in ran.err
        assert rag("vault", "list", "--json").json["vaults"] == {}

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

    def test_beside_a_folder_whose_name_the_index_holds_none_is_registered(self, rag, write_notes):
        held, fresh, other = (
            write_notes(name, {"a.md": "# A\n"}) for name in ("notes", "fresh", "other/notes")
        )
        rag("index", "-q", held)
        listed = load_config().data_dir / "vaults.json"
        listed.unlink()  # as another project's `vaults_dir` names vaults without a list
        ran = rag("index", fresh, other)
        assert ran.code == 2 and str(held) in ran.err
        assert not listed.exists()

    def test_a_folder_named_twice_is_one_vault(self, rag, notes):
        assert rag("index", notes, f"{notes}/.").code == 0
        assert list(rag("vault", "list", "--json").json["vaults"]) == ["work"]

    def test_a_folder_that_does_not_exist_is_a_usage_error_and_makes_nothing(self, rag, tmp_path):
        assert rag("index", tmp_path / "nowhere").code == 2
        assert not load_config().data_dir.exists()

    @pytest.mark.inside
    def test_notes_that_failed_give_5_and_are_named(self, rag, indexed, monkeypatch):
        import rag.indexing.run as module

        read = module.read_file

        def fail(root, vault, file, *settings):
            if file.path == "bad.md":
                raise PermissionError(13, "Permission denied")
            return read(root, vault, file, *settings)

        monkeypatch.setattr(module, "read_file", fail)
        (indexed / "bad.md").write_text("x")
        (indexed / "good.md").write_text("x")
        ran = rag("index", "-q")
        assert ran.code == 5
        assert ran.err == "rag: work/bad.md: Permission denied\n"
        assert ran.out.startswith("1 new; 4 notes")

    @pytest.mark.inside
    def test_an_unreadable_note_does_not_make_the_index_look_stale(self, rag, indexed, monkeypatch):
        import rag.indexing.run as module

        def fail(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        (indexed / "bad.md").write_text("x")
        monkeypatch.setattr(module, "read_file", fail)
        rag("index", "-q")
        assert rag("search", "backups").err == ""

    def test_an_empty_folder_gives_5_and_keeps_its_notes(self, rag, indexed):
        for note in indexed.rglob("*.md"):
            note.unlink()
        ran = rag("index")
        assert ran.code == 5
        assert "holds no notes (is it mounted?); 3 notes kept (--prune forgets)" in ran.err
        assert rag("search", "backups").code == 0

    def test_prune_forgets_them(self, rag, indexed):
        for note in indexed.rglob("*.md"):
            note.unlink()
        assert rag("index", "--prune").code == 0
        assert rag("search", "backups").code == 1

    def test_prune_keeps_a_folder_with_notes(self, rag, indexed):
        (indexed / "証明書.md").unlink()
        assert rag("index", "--prune", "-q").code == 0
        assert rag("get", "Backups").out

    def test_another_writer_gives_75_at_once(self, rag, indexed):
        with IndexDirectory(load_config().index_dir).writing():
            ran = rag("index")
        assert (ran.code, ran.out) == (75, "")
        assert "--wait" in ran.err

    def test_other_settings_rebuild_all_vaults_though_one_is_named(
        self, rag, indexed, write_notes, monkeypatch
    ):
        home = write_notes("home", {"h.md": "home"})
        rag("index", home)
        monkeypatch.setenv("RAG_INDEX__CHUNK_SIZE", "300")
        ran = rag("index", home)
        assert "rebuilt" in ran.err
        assert "; 4 notes" in ran.out
        assert rag("search", "backups").code == 0

    def test_rebuild_keeps_the_other_vaults(self, rag, indexed, write_notes):
        home = write_notes("home", {"h.md": "home"})
        assert "; 4 notes" in rag("index", home, "--rebuild").out


class TestVaultsDir:
    @pytest.fixture
    def parent(self, write_notes, monkeypatch) -> Path:
        write_notes("a", {"1.md": "alpha"})
        parent = write_notes("b", {"2.md": "beta"}).parent
        monkeypatch.setenv("RAG_VAULTS_DIR", str(parent))
        return parent

    def test_each_of_its_folders_is_indexed(self, rag, parent):
        assert list(rag("index", "--json").json["vaults"]) == ["a", "b"]

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
        ran = rag("index", "--prune")
        assert ran.code == 0
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

    def test_its_json_has_the_types_of_a_run_and_the_paths(self, rag, indexed):
        (indexed / "new.md").write_text("new")
        looked = rag("index", "--dry-run", "--json").json
        ran = rag("index", "--json").json
        assert looked.pop("dry_run") is True
        paths = looked["vaults"]["work"].pop("paths")
        assert paths == {"added": ["new.md"], "changed": [], "deleted": []}
        assert types(looked) == types(ran)
        assert looked["vaults"]["work"]["added"] == ran["vaults"]["work"]["added"] == 1

    def test_it_writes_nothing_where_nothing_was(self, rag, notes):
        assert rag("index", notes, "--dry-run").code == 0
        assert not load_config().data_dir.exists()

    def test_it_writes_nothing_where_an_index_is(self, rag, indexed, write_notes):
        before = data_files()
        (indexed / "new.md").write_text("new")
        rag("index", "--dry-run")
        rag("index", write_notes("other", {"a.md": "x"}), "--dry-run")
        assert data_files() == before


class TestVault:
    def test_list_shows_names_folders_and_notes(self, rag, indexed):
        assert rag("vault", "list").out == f"work  3 notes  {indexed}\n"

    def test_list_without_vaults_says_how_to_make_one(self, rag):
        assert "rag index FOLDER" in rag("vault", "list").out

    def test_an_added_vault_is_read_by_the_next_index(self, rag, notes):
        assert rag("vault", "add", notes).code == 0
        assert rag("search", "backups").code == 3
        assert "3 new" in rag("index").out

    def test_a_removed_vault_leaves_the_index_and_keeps_its_files(self, rag, indexed):
        ran = rag("vault", "remove", "work")
        assert ran.code == 0
        assert "3 notes" in ran.out
        assert rag("search", "backups").code == 1
        assert len(list(indexed.rglob("*.md"))) == 3

    def test_removing_an_unknown_vault_names_the_nearest(self, rag, indexed):
        ran = rag("vault", "remove", "wrok")
        assert ran.code == 2
        assert "Did you mean: work?" in ran.err


class TestStatus:
    def test_it_shows_the_size_and_that_all_is_fresh(self, rag, indexed):
        ran = rag("status")
        assert ran.code == 0
        assert "3 in 4 chunks" in ran.out
        assert "up to date" in ran.out
        assert f"work  3 notes  {indexed}" in ran.out

    def test_it_counts_what_changed_since(self, rag, indexed):
        (indexed / "new.md").write_text("new")
        assert "1 note changed since" in rag("status").out

    def test_problems_lists_the_notes_that_could_not_be_read_as_meant(self, rag, indexed):
        (indexed / "bad.md").write_text("---\ntags: [\n---\ntext")
        rag("index", "-q")
        ran = rag("status", "--problems")
        assert ran.out.startswith("work/bad.md: front matter:")
        assert rag("status", "--json").json["problems"][0]["path"] == "bad.md"

    def test_no_problems_are_told_too(self, rag, indexed):
        assert rag("status", "--problems").out == "no problems\n"

    def test_a_vault_that_was_never_indexed_is_named(self, rag, indexed, write_notes):
        rag("vault", "add", write_notes("other", {"a.md": "x"}))
        assert rag("status", "--json").json["not_indexed"] == ["other"]


def test_a_folder_that_appears_in_vaults_dir_is_taken_in_with_a_word_once(
    rag, write_notes, monkeypatch
):
    parent = write_notes("first", {"a.md": "# A\n"}).parent
    monkeypatch.setenv("RAG_VAULTS_DIR", str(parent))
    assert "vaults_dir" not in rag("index").err
    folder = write_notes("later", {"b.md": "# B\n"})
    assert rag("index").err == (
        f"rag: {folder} lies in vaults_dir, and is the vault 'later' from now on:"
        " `rag vault remove later` takes it out\n"
    )
    assert "vaults_dir" not in rag("index").err


def types(found):
    """Return JSON with the name of its type in the place of each value."""
    if isinstance(found, dict):
        return {name: types(value) for name, value in found.items()}
    return type(found).__name__
