"""What `rag doctor` finds of a Qdrant server, and of the copies of the shards on it."""

from __future__ import annotations

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
    """The first of three nodes, with the collection `notes`: six shards, two copies of each."""
    with QdrantServer(nodes=3) as running:
        make(running, 6, 2)
        yield running


def make(server: QdrantServer, shards: int, copies: int) -> None:
    client = QdrantClient(url=server.url, check_compatibility=False)
    client.create_collection("notes", {}, shard_number=shards, replication_factor=copies)


def examine(*urls: str, collection: str = "notes") -> list[CheckResult]:
    store = StoreConfig(url=",".join(urls), collection=collection, api_key_env="QDRANT_KEY")
    return [*check_server(Examination(RAGConfig(store=store)))]


def test_without_a_server_there_is_nothing_to_tell() -> None:
    assert examine("") == []


def test_one_whose_collection_reads_and_has_all_its_copies_passes(server: QdrantServer) -> None:
    server.is_ready = False  # it says so for minutes after a restart, and reads
    answer, shards = examine(server.url)
    assert (answer.status, answer.facts["server"]) == ("pass", server.url)
    assert (shards.status, shards.message) == ("pass", "6 shards, 2 active copies of each")


def test_a_collection_that_does_not_exist_yet_is_no_failure(server: QdrantServer) -> None:
    [answer] = examine(server.url, collection="other")
    assert answer.status == "pass" and "no collection 'other' yet" in answer.message


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
    server: QdrantServer,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    status: int,
    text: str,
    message: str,
    hint: str,
) -> None:
    monkeypatch.setenv("QDRANT_KEY", "s3cret")
    monkeypatch.setattr("rag.app.doctor._PATIENCE", 0.3)
    server.fail(kind, status, text)
    [answer] = examine(server.url)
    assert answer.status == "fail" and message in answer.message and hint in answer.hint
    assert "s3cret" not in json.dumps(answer.to_json())


def test_of_several_addresses_one_that_answers_is_enough(server: QdrantServer) -> None:
    with refused() as down:
        [only] = examine(down)
        assert only.status == "fail" and "store.url" in only.hint
        spare, answer, shards = examine(down, server.url)
    assert [spare.status, answer.status, shards.status] == ["warn", "pass", "pass"]


@pytest.mark.parametrize(
    ("url", "key", "message"),
    [
        ("http://qdrant.example:6333", "secret", "in the clear"),
        ("http://127.0.0.1:1", "sec\nret", "characters that no key has"),
    ],
)
def test_a_key_that_must_not_be_sent_is_not_and_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, url: str, key: str, message: str
) -> None:
    monkeypatch.setenv("QDRANT_KEY", key)
    store = StoreConfig(url=url, api_key_env="QDRANT_KEY")
    off = EmbeddingConfig("none"), ChatConfig("none")
    [*_, check] = run_checks(RAGConfig(store=store, embedding=off[0], chat=off[1]))
    assert (check.name, check.status) == ("qdrant", "fail") and message in check.message
    assert "ret" not in json.dumps(check.to_json())


def test_shards_that_lack_active_copies_are_told(server: QdrantServer) -> None:
    server.states |= {(4, 2): "Dead", (5, 1): "Partial"}
    _, shards = examine(server.url)
    assert shards.status == "warn"
    assert shards.message.startswith("2 of 6 shards with fewer active copies than the 2 asked for")
    assert "shard 4 (Active, Dead), shard 5 (Active, Partial)" in shards.message
    assert "Start the nodes that are down" in shards.hint and shards.facts["lacking"] == [4, 5]


def test_of_many_shards_a_message_names_the_first() -> None:
    with QdrantServer() as server:
        make(server, 30, 2)  # of which the only node has one each
        _, shards = examine(server.url)
    assert shards.message.endswith("shard 7 (Active) and 22 more")
    assert "replicate_shard" in shards.hint and shards.facts["lacking"] == [*range(30)]


@pytest.mark.parametrize("answer", ['{"result": {"peer_id": 1, "local_shards": 3}}', "<html>"])
def test_a_cluster_that_tells_something_else_is_a_warning(
    server: QdrantServer, answer: str
) -> None:
    server.fail("status", 200, answer, after=2)
    _, shards = examine(server.url)
    assert (shards.name, shards.status) == ("shards", "warn") and "not known" in shards.message


def test_a_server_without_a_cluster_tells_no_shards(server: QdrantServer) -> None:
    server.fail("status", 404, "", after=2)
    assert [check.name for check in examine(server.url)] == ["qdrant"]
