"""Links of results: to a file, to Obsidian, to an editor; and `rag search --open`."""

import errno
import os
from pathlib import Path

import pytest

from disk_files import write
from rag.app.index_state import link_to
from tables import rows

FILE = Path("/notes/a b/Ü#1.md")


class TestLinks:
    def test_of_a_file(self):
        assert link_to("file", FILE, 7, "Holds") == "file:///notes/a%20b/%C3%9C%231.md"

    def test_of_obsidian_with_the_heading(self):
        link = link_to("obsidian", FILE, 7, "To do: A&B")
        path = "%2Fnotes%2Fa%20b%2F%C3%9C%231.md"
        assert link == f"obsidian://open?path={path}%23To%20do%3A%20A%26B"

    def test_inside_a_folder_of_obsidian_it_is_the_default(self, tmp_path):
        file = write(tmp_path / "vault/inner/a.md", "")
        assert link_to("", file, 1).startswith("file://")
        (tmp_path / "vault" / ".obsidian").mkdir()
        assert link_to("", file, 1).startswith("obsidian://open?path=")


@pytest.mark.parametrize("closed", ["around/vault", "around"])
@pytest.mark.parametrize("command", ["search Harbour", "ask Harbour", "status"])
def test_a_vault_that_may_not_be_read_leaves_the_output_whole(
    rag, tmp_path, monkeypatch, command, closed
):
    note = write(tmp_path / "around/vault/a.md", "# Harbour\n\nThe harbour is open.\n")
    assert rag("index", note.parent).code == 0
    before = rag(*command.split())
    monkeypatch.setattr(os, "stat", refusing(os.stat, tmp_path / closed))
    after = rag(*command.split())
    assert (after.code, after.out.split("(")[0]) == (0, before.out.split("(")[0])


def refusing(examine, folder: Path):
    """Return an `os.stat` that may look at nothing in a folder."""

    def stat(path, *args, **given):
        if isinstance(path, (str, os.PathLike)) and folder in Path(path).parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return examine(path, *args, **given)

    return stat


@pytest.fixture
def opener(tmp_path, monkeypatch):
    """A program that writes down what it is to open, in the place of the system's."""
    folder, log = tmp_path / "bin", tmp_path / "opened.txt"
    for name in ("xdg-open", "open"):
        program = write(folder / name, f'#!/bin/sh\nprintf "%s\\n" "$@" > {log}\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


class TestOpen:
    def test_the_chosen_result_is_opened(self, rag, library, opener):
        second = rag("search", "rolling back backups", "--json").json["results"][1]
        ran = rag("search", "rolling back backups", "--open", "2")
        assert ran.code == 0
        assert opener.read_text() == f"file://{library}/{second['path']}\n"
        assert "opening file://" in ran.err

    def test_by_the_link_and_the_command_of_the_settings(
        self, rag, library, opener, monkeypatch, tmp_path
    ):
        monkeypatch.setenv("RAG_LINKS__URI", "edit://{path}?{line}")
        monkeypatch.setenv("RAG_LINKS__OPENER", f"{tmp_path}/bin/open --new")
        assert rag("search", "rolling back", "--open", "1").code == 0
        link = f"edit://{library}/runbooks/Rollback.md?7"
        assert opener.read_text() == f"--new\n{link}\n"

    @rows("command", "nowhere-to-be-found", "false", "'open")
    def test_a_command_that_fails_gives_2(self, rag, library, monkeypatch, command):
        monkeypatch.setenv("RAG_LINKS__OPENER", command)
        ran = rag("search", "rolling back", "--open", "1")
        assert ran.code == 2
        assert "links.opener" in ran.err
