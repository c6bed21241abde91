"""Searches of an index that is not what is on the disk: notes that changed, and that are gone."""

import json
import sys

import pytest

from disk_files import write
from rag.config.files import user_file
from tables import rows

GONE = "(gone; run rag index)"


@pytest.fixture
def at_terminal(monkeypatch):
    """Take stdout of the test, which it has once it runs, for a terminal."""
    return lambda: monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


@pytest.fixture
def written(indexed):
    (indexed / "Zebra.md").write_text("# Zebra\n\nThe quokka sleeps.\n")
    return indexed


@pytest.fixture
def deleted(indexed):
    """The vault, of whose two notes that hold `take` or `keep` one is gone."""
    (indexed / "Backups.md").unlink()
    return indexed


class TestChanged:
    def test_at_a_terminal_a_search_indexes_them_first_and_says_so(self, rag, written, at_terminal):
        at_terminal()
        ran = rag("search", "quokka")
        assert (ran.code, ran.err) == (0, "indexed 1 changed note\n")
        assert "Zebra.md" in ran.out

    @pytest.mark.parametrize("way", ["option", "setting"])
    def test_it_can_be_switched_off(self, rag, written, at_terminal, monkeypatch, way):
        at_terminal()
        if way == "setting":
            monkeypatch.setenv("RAG_SEARCH__REFRESH", "never")
        ran = rag("search", "quokka", *(["--no-refresh"] if way == "option" else []))
        assert ran.code == 1
        assert "1 note changed since the last index" in ran.err

    def test_under_a_pipe_it_is_done_only_when_asked_for(self, rag, written):
        assert rag("search", "quokka").code == 1
        ran = rag("search", "quokka", "--refresh", "--paths")
        assert ran.out == f"{written}/Zebra.md\n"

    def test_a_project_that_is_not_trusted_cannot_switch_it_on(self, rag, tmp_path, monkeypatch):
        write(user_file(), '[search]\nrefresh = "never"\n')
        write(tmp_path / "project" / "rag.toml", '[search]\nrefresh = "auto"\n')
        monkeypatch.chdir(tmp_path / "project")
        assert rag("config", "--json").json["settings"]["search.refresh"]["value"] == "never"


class TestGone:
    def test_a_hit_says_that_its_note_is_gone(self, rag, deleted):
        out = rag("search", "backups take", "--no-refresh").out
        assert out.count(GONE) == 1

    @rows("option", "--paths", "--format=paths0", "--format=lines")
    def test_where_files_are_named_it_is_left_out(self, rag, deleted, option):
        ran = rag("search", "backups minutes", option)
        assert "Rollback.md" in ran.out
        assert "Backups.md" not in ran.out
        assert "left out 1 note, gone since the last index" in ran.err

    @rows("option", "--json", "--format=jsonl")
    def test_json_has_a_field_for_it(self, rag, deleted, option):
        out = rag("search", "backups minutes", option).out
        found = (
            json.loads(out)["results"]
            if option == "--json"
            else map(json.loads, out.split("\n")[:-1])
        )
        assert {one["path"]: one.get("gone") for one in found} == {
            "Backups.md": True,
            "runbooks/Rollback.md": None,
        }

    def test_nothing_is_said_of_a_vault_that_is_not_here(self, rag, indexed):
        indexed.rename(indexed.with_name("away"))
        assert GONE not in rag("search", "backups").out
        assert rag("search", "backups", "--paths").out == f"{indexed}/Backups.md\n"

    def test_an_answer_names_no_file_that_is_gone(self, rag, deleted):
        out = rag("ask", "How long do we keep backups?", "--paths").out
        assert "Backups.md" not in out
