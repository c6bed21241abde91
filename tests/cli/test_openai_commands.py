"""A server of OpenAI's API behind the command line: index, search, ask, doctor; and its key."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from disk_files import write
from ollama_answers import ANSWER_NOTES, QUESTION
from ollama_server import Model
from openai_server import CHAT, EMBEDDINGS, OpenAIServer
from rag.config import user_file

KEY = "sk-very-secret-42"
EMBED, WRITE = Model("bge-m3", 32), "llama3.2"
Rag = Callable[..., Any]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([EMBED, WRITE], key=KEY) as running:
        yield running


@pytest.fixture
def configured(server, monkeypatch) -> OpenAIServer:
    """The server, which the user's own file names for both, with its key."""
    monkeypatch.setenv("MODEL_KEY", KEY)
    monkeypatch.delenv("RAG_EMBEDDING__PROVIDER")
    both = f"url = '{server.url}/v1'\napi_key = 'MODEL_KEY'\n"
    embedding = f"[embedding]\nprovider = 'openai'\nmodel = 'bge-m3'\n{both}"
    write(user_file(), f"{embedding}[chat]\n{both}")
    return server


@pytest.fixture
def notes(write_notes) -> Path:
    return write_notes("work", ANSWER_NOTES)


@pytest.fixture
def indexed(rag, configured, notes) -> Path:
    assert rag("index", "-q", notes).code == 0
    return notes


def test_notes_are_embedded_and_found_by_meaning(rag, indexed, configured):
    found = rag("search", "backups", "--mode", "dense", "--json")
    assert found.json["mode"] == "dense" and found.json["results"][0]["title"] == "Backups"
    assert configured.keys() <= {"", f"Bearer {KEY}"}
    status = rag("status", "--json").json
    assert "bge-m3" in json.dumps(status)


def test_the_key_is_nowhere_but_in_requests(rag, indexed, configured, tmp_path):
    ran = [
        rag("config", "--json"),
        rag("config"),
        rag("status", "--json"),
        rag("doctor"),
        rag("ask", QUESTION),
        rag("audit"),
    ]
    configured.api.key = "another"
    ran += [rag("ask", QUESTION), rag("search", "backups", "--mode", "dense"), rag("doctor")]
    assert "refuses the API key" in ran[-1].out and "MODEL_KEY" in ran[-1].out
    assert all(KEY not in one.out + one.err for one in ran)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files and not any(KEY.encode() in file.read_bytes() for file in files)


def test_without_any_provider_words_do(rag, notes, configured, monkeypatch):
    monkeypatch.setenv("RAG_EMBEDDING__PROVIDER", "none")
    monkeypatch.setenv("RAG_CHAT__PROVIDER", "none")
    assert rag("index", notes).err == ""
    assert rag("search", "backups", "--json").json["mode"] == "lexical"
    assert rag("ask", QUESTION, "--json").json["quotes"]
    assert {check["status"] for check in rag("doctor", "--json").json["checks"]} == {"pass"}
    assert rag("index", "--embed").code == 2
    assert configured.requests(EMBEDDINGS) == configured.requests(CHAT) == []
