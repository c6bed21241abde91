"""What `rag doctor` finds of a Qdrant server."""

import json
from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient

from ollama_server import refused
from qdrant_server import QdrantServer
from rag.app.doctor import CheckResult, Examination, check_server, run_checks
from rag.config import ChatConfig, EmbeddingConfig, RAGConfig, StoreConfig

NO_REPLICA = "The replica set for shard 4 on peer 1 has no active replica"


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    """A server with the collection `notes`."""
    with QdrantServer() as running:
        client = QdrantClient(url=running.url, check_compatibility=False)
        client.create_collection("notes", {})
        yield running


def examine(*urls: str, collection: str = "notes") -> list[CheckResult]:
    store = StoreConfig(url=",".join(urls), collection=collection, api_key_env="QDRANT_KEY")
    return [*check_server(Examination(RAGConfig(store=store)))]


def test_one_whose_collection_reads_passes(server):
    server.is_ready = False  # it says so for minutes after a restart, and reads
    [answer] = examine(server.url)
    assert (answer.status, answer.message) == ("pass", f"{server.url} has 'notes'")


@pytest.mark.parametrize(
    ("kind", "status", "text", "message", "hint"),
    [
        ("status", 500, NO_REPLICA, NO_REPLICA, "server's log"),
        ("status", 503, "no healthy upstream", "busy (no healthy upstream)", "later"),
        ("status", 401, "", "API key", "QDRANT_KEY"),
        ("status", 500, "bad: s3cret", "bad: …", "server's log"),
        ("html", 200, "", "not Qdrant's", "store.url"),
        ("deep", 200, "", "not Qdrant's", "store.url"),
        ("hang", 200, "", "too long", "Start it"),
    ],
)
def test_one_that_does_not_read_fails_with_what_it_says(
    server, monkeypatch, kind, status, text, message, hint
):
    monkeypatch.setenv("QDRANT_KEY", "s3cret")
    monkeypatch.setattr("rag.app.doctor._PATIENCE", 0.3)
    server.fail(kind, status, text)
    [answer] = examine(server.url)
    assert answer.status == "fail" and message in answer.message and hint in answer.hint
    assert "s3cret" not in json.dumps(answer.to_json())


def test_of_several_addresses_one_that_answers_is_enough(server):
    with refused() as down:
        [only] = examine(down)
        assert only.status == "fail" and "store.url" in only.hint
        spare, answer = examine(down, server.url)
    assert [spare.status, answer.status] == ["warn", "pass"]


@pytest.mark.parametrize(
    ("url", "key", "message"),
    [
        ("http://qdrant.example:6333", "secret", "unencrypted"),
        ("http://127.0.0.1:1", "sec\nret", "characters that no key has"),
    ],
)
def test_a_key_that_must_not_be_sent_is_not_and_is_not_repeated(monkeypatch, url, key, message):
    monkeypatch.setenv("QDRANT_KEY", key)
    store = StoreConfig(url=url, api_key_env="QDRANT_KEY")
    off = EmbeddingConfig("none"), ChatConfig("none")
    [*_, check] = run_checks(RAGConfig(store=store, embedding=off[0], chat=off[1]))
    assert (check.name, check.status) == ("qdrant", "fail") and message in check.message
    assert "ret" not in json.dumps(check.to_json())
