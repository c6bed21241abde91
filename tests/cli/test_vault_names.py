"""Vaults are renamed, near names of them suggested, empty ones told; `rag help` is `--help`."""

import shutil

from disk_files import write
from tables import rows


class TestRename:
    def test_notes_are_found_under_the_new_name_alone(self, rag, indexed):
        ran = rag("vault", "rename", "work", "office")
        assert (ran.code, ran.out) == (0, "vault 'work' is 'office' now (3 notes)\n")
        assert rag("search", "restore", "-v", "office", "--json").json["total"] == 1
        assert rag("search", "restore", "-v", "work").code == 2
        assert set(rag("vault", "list", "--json").json["vaults"]) == {"office"}

    def test_a_folder_of_vaults_dir_is_not_read_twice(self, rag, indexed, monkeypatch):
        monkeypatch.setenv("RAG_VAULTS_DIR", str(indexed.parent))
        assert rag("vault", "rename", "work", "office").code == 0
        assert set(rag("vault", "list", "--json").json["vaults"]) == {"office"}

    @rows(
        "names, said",
        (("wrok", "office"), "Did you mean: work?"),
        (("work", "work"), "exists already"),
        (("work", "a/b"), "cannot name a vault"),
        (("work", " "), "cannot name a vault"),
    )
    def test_what_cannot_be_gives_2_and_changes_nothing(self, rag, indexed, names, said):
        ran = rag("vault", "rename", *names)
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err
        assert rag("search", "restore", "-v", "work").code == 0

    def test_a_vault_whose_folder_is_gone_stays(self, rag, indexed):
        indexed.rename(indexed.with_name("away"))
        assert rag("vault", "rename", "work", "office").code == 2
        assert rag("search", "restore", "-v", "work").code == 0


class TestNearNames:
    def test_a_name_that_is_near_nothing_gets_the_list(self, rag, library):
        err = rag("search", "restore", "-v", "zebra").err
        assert "Did you mean" not in err
        assert "There are: work." in err


def test_a_folder_has_one_name(rag, indexed):
    for command in (
        ("index", "--name", "office", indexed),
        ("vault", "add", "--name", "x", indexed),
    ):
        ran = rag(*command)
        assert ran.code == 2 and "is the vault 'work' already" in ran.err
        assert "`rag vault rename work " in ran.err


def test_one_whose_folder_is_empty_keeps_its_name_and_its_notes(rag, indexed):
    shutil.move(indexed, indexed.with_name("away"))
    indexed.mkdir()
    ran = rag("vault", "rename", "work", "office")
    assert ran.code == 2 and "is it mounted?" in ran.err
    assert rag("search", "restore", "-v", "work").code == 0


def test_a_vault_that_is_registered_and_not_read_is_told_apart_from_none(rag, indexed, write_notes):
    assert rag("vault", "add", write_notes("fresh", {"a.md": "# A\n"})).code == 0
    ran = rag("search", "restore", "-v", "fresh")
    assert (ran.code, ran.err) == (3, "rag: the vault 'fresh' is not indexed yet\n`rag index`\n")


class TestHelp:
    @rows("words", (), ("search",), ("vault",), ("vault", "rename"))
    def test_it_is_the_help_of_a_command(self, rag, words):
        assert rag("help", *words).out == rag(*words, "--help").out


def test_a_folder_of_vaults_dir_with_the_name_of_a_registered_vault_is_told(
    rag, indexed, tmp_path, monkeypatch
):
    write(tmp_path / "project" / "work" / "Other.md", "# Other\n")
    monkeypatch.setenv("RAG_VAULTS_DIR", str(tmp_path / "project"))
    for command in ("index", "vault list"):
        ran = rag(*command.split())
        assert f"{tmp_path / 'project' / 'work'} is passed over: 'work' is" in ran.err
        assert "`rag index --name NAME" in ran.err


def test_one_that_never_had_notes_may_be_renamed(rag, indexed, tmp_path):
    (tmp_path / "fresh").mkdir()
    assert rag("vault", "add", tmp_path / "fresh").code == 0
    assert rag("vault", "rename", "fresh", "new").code == 0


def test_a_run_that_is_killed_leaves_the_notes_under_one_name(rag, indexed, monkeypatch):
    def killed(*_):
        raise OSError("the power failed")

    with monkeypatch.context() as patched:
        patched.setattr("rag.index.snapshots.IndexDirectory.publish", killed)
        assert rag("vault", "rename", "work", "office").code
    assert rag("search", "restore", "-v", "work", "--json").json["total"] == 1
