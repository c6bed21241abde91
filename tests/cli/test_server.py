"""The commands with a Qdrant server: what is printed, and the exit codes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qdrant_server import QdrantServer

Rag = Callable[..., Any]


@pytest.fixture
def server(own_qdrant, monkeypatch) -> QdrantServer:
    """A Qdrant server, named in the environment."""
    monkeypatch.setenv("RAG_STORE__URL", own_qdrant.url)
    monkeypatch.setenv("RAG_STORE__TIMEOUT", "0.5")
    return own_qdrant


def test_notes_are_indexed_into_the_server_and_found_there(server, notes, rag):
    assert rag("index", notes).code == 0
    assert server.engine.count("obsidian_knowledge").count == 4
    found = rag("search", "restore", "--json").json
    assert found["results"][0]["path"] == "Backups.md"
    assert rag("ask", "How long are backups kept?").code == 0
    assert rag("get", "Backups").code == 0


def test_the_index_is_copied_to_the_server(notes, rag, request):
    rag("index", "-q", notes)
    server = request.getfixturevalue("server")
    copied = rag("index", "--to-server")
    assert copied.code == 0
    assert copied.out.startswith("3 notes in 4 chunks (0 with vectors) copied to http://127")
    assert rag("index", "--to-server", "--json").json["copied"]["chunks"] == 4
    assert rag("index", "--to-server", "-q") == (0, "", "")
    assert server.engine.count("obsidian_knowledge").count == 4
    assert rag("search", "restore", "--paths").out.endswith("Backups.md\n")
    assert rag("index").out.startswith("nothing changed: 3 notes, 4 chunks")


def test_status_names_the_server_and_asks_it_one_thing(server, notes, rag):
    rag("index", "-q", notes)
    server.requests.clear()
    assert f"server    {server.url}, collection obsidian_knowledge" in rag("status").out
    assert len(server.requests) == 1
    assert rag("status", "--json").json["index"]["server"] == {
        "url": server.url,
        "collection": "obsidian_knowledge",
        "answers": True,
    }


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["status", "garbage", "hang", "hangup"])
@pytest.mark.parametrize(
    "command", [("index",), ("search", "restore"), ("ask", "restore?"), ("index", "--to-server")]
)
def test_a_server_that_fails_is_exit_code_4(server, notes, rag, monkeypatch, kind, command):
    with monkeypatch.context() as patch:
        patch.delenv("RAG_STORE__URL")
        rag("index", "-q", notes)
    rag("index", "-q", notes)
    server.fail(kind)
    failed = rag(*command)
    assert failed.code == 4
    assert server.url in failed.err and "Traceback" not in failed.err
    assert len(failed.err.splitlines()) <= 3


def test_a_collection_that_vanished_is_exit_code_3_and_the_next_run_mends_it(server, notes, rag):
    rag("index", "-q", notes)
    server.engine.delete_collection("obsidian_knowledge")
    lost = rag("search", "restore")
    assert lost.code == 3 and "rag index" in lost.err
    assert "rebuilt" in rag("index").err
    assert rag("search", "restore").code == 0


def test_the_key_is_never_shown(server, notes, rag, monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret")
    server.key = "s3cret"
    shown = [rag("index", notes), rag("config"), rag("status", "--json"), rag("search", "restore")]
    assert [ran.code for ran in shown] == [0, 0, 0, 0]
    server.key = "another"
    refused = rag("search", "restore")
    assert refused.code == 4 and "QDRANT_API_KEY" in refused.err
    assert not any("s3cret" in ran.out + ran.err for ran in [*shown, refused])
    kept = [p for p in Path(os.environ["RAG_DATA_DIR"]).rglob("*") if p.is_file()]
    assert kept and not any(b"s3cret" in file.read_bytes() for file in kept)
