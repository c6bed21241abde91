"""A machine that has no more than the address of a server, on which another one keeps its index."""

import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qdrant_server import QdrantServer

Rag = Callable[..., Any]


@pytest.fixture
def server(own_qdrant, monkeypatch) -> QdrantServer:
    monkeypatch.setenv("RAG_STORE__URL", own_qdrant.url)
    return own_qdrant


@pytest.fixture
def on(tmp_path, monkeypatch) -> Callable[[str], Path]:
    """Go to another machine: `on("laptop")`. Returns its data folder."""

    def go(name: str) -> Path:
        home = tmp_path / "machines" / name
        monkeypatch.setenv("RAG_DATA_DIR", str(home))
        return home

    return go


@pytest.fixture
def elsewhere(server, notes, rag, on) -> Path:
    """Notes that another machine has indexed, and that are not on this one; returns where they
    were."""
    on("desktop")
    assert rag("index", "-q", notes).code == 0
    shutil.move(notes, notes.with_name("away"))
    on("laptop")
    server.requests.clear()
    return notes


@pytest.mark.usefixtures("elsewhere")
class TestReading:
    def test_a_search_finds_what_it_finds_there(self, rag, on):
        here = rag("search", "rolling back", "--json").json
        on("desktop")
        there = rag("search", "rolling back", "--json").json
        assert [r["path"] for r in here["results"]] == ["runbooks/Rollback.md"]
        assert here["results"] == there["results"]

    def test_a_note_is_printed_as_it_was_indexed(self, rag):
        ran = rag("get", "Backups")
        assert ran.out.startswith("# Backups\n\nWe keep backups for ninety days.\n\n## Restore\n")
        assert "the file is not on this machine" in ran.err
        assert rag("get", "Backups:8-8").out == "We keep backups for ninety days.\n"
        assert rag("get", "証明書", "--json").json["notice"]

    def test_status_says_who_writes_and_not_that_it_is_up_to_date(self, rag):
        out = rag("status").out
        assert f"written   by {socket.gethostname()}, since 2" in out
        assert "up to date" not in out and "(the folder is not there)" in out
        writer = rag("status", "--json").json["index"]["writer"]
        assert (writer["name"], writer["here"]) == (socket.gethostname(), False)


class TestWriting:
    def test_who_writes_is_said_before_anything_is_changed(self, rag, elsewhere, write_notes):
        other = write_notes("other", {"A.md": "# A\n"})
        refused = rag("index", other)
        assert refused.code == 2
        assert f"{socket.gethostname()} writes this index, since 2" in refused.err
        assert "rag index --take-over" in refused.err
        assert "other" not in rag("vault", "list").out
        assert rag("vault", "remove", "work").code == 2

    def test_a_catalog_with_parts_missing_can_be_rebuilt(self, rag, elsewhere, server):
        name = "obsidian_knowledge.catalog"
        points, _ = server.engine.scroll(name, limit=100)
        server.engine.delete(name, [point.id for point in points if point.id != 0])
        assert rag("search", "backups").code == 3
        assert rag("index", "--take-over").code == 3
        shutil.move(elsewhere.with_name("away"), elsewhere)
        assert rag("index", "--take-over", "--rebuild", elsewhere).code == 0
        assert rag("search", "backups").code == 0

    def test_it_is_taken_over_without_writing_anything_anew(self, rag, elsewhere, server, on):
        shutil.move(elsewhere.with_name("away"), elsewhere)
        taken = rag("index", "--take-over")
        assert (taken.code, "nothing changed: 3 notes, 4 chunks" in taken.out) == (0, True)
        assert "this machine writes the index now" in taken.err
        assert not [path for path in server.paths() if path.endswith("obsidian_knowledge/points")]
        (elsewhere / "New.md").write_text("# New\n\nA quokka.\n", "utf-8")
        assert rag("index").out.startswith("1 new; 4 notes")
        on("desktop")
        assert rag("search", "quokka", "--paths").out.endswith("New.md\n")
        assert rag("index").code == 2
        assert rag("index", "--take-over").code == 0
