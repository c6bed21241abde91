"""What `rag doctor` says of a Qdrant server that is not ready, or whose collection is not read."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient

from qdrant_server import VERSION, QdrantServer
from rag.app.doctor import Check
from rag.app.doctor.check import Examination
from rag.app.doctor.qdrant_server import check_server
from rag.app.schema.setup import check_to_json
from rag.config import RAGConfig, StoreConfig

NOT_READY = "some shards are not ready"
NO_REPLICA = "The replica set for shard 4 on peer 1 has no active replica"


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    """A server that holds the collection `notes`."""
    with QdrantServer() as running:
        client = QdrantClient(url=running.url, check_compatibility=False)
        client.create_collection("notes", {})
        yield running


def examine(server: QdrantServer, collection: str = "notes") -> Check:
    """Return the line of the server itself."""
    store = StoreConfig(url=server.url, collection=collection, api_key_env="QDRANT_KEY")
    first, *_ = check_server(Examination(RAGConfig(store=store)))
    assert first.name == "qdrant"
    return first


def test_one_that_reads_although_it_is_not_ready_is_a_warning(server: QdrantServer) -> None:
    server.is_ready = False
    check = examine(server)
    assert check.status == "warn"
    assert NOT_READY in check.message and "searching may work" in check.message
    assert "server's log" in check.hint
    assert check.facts["ready"] is False and NOT_READY in check.facts["said"]
    assert check.facts["version"] == VERSION


def test_one_that_is_not_ready_and_does_not_read_fails(server: QdrantServer) -> None:
    server.is_ready = False
    server.fail("status", 500, NO_REPLICA, after=3)
    check = examine(server)
    assert check.status == "fail"
    assert NOT_READY in check.message and NO_REPLICA in check.message


def test_one_that_is_not_ready_without_a_collection_fails(server: QdrantServer) -> None:
    server.is_ready = False
    check = examine(server, "other")
    assert check.status == "fail" and "no collection 'other'" in check.message


def test_what_a_proxy_says_in_the_place_of_the_server_is_repeated(server: QdrantServer) -> None:
    server.fail("status", 503, "no healthy upstream")
    check = examine(server)
    assert check.status == "fail" and "error 503: no healthy upstream" in check.message
    assert "store.url" in check.hint


def test_one_that_is_ready_and_does_not_read_fails(server: QdrantServer) -> None:
    server.fail("status", 500, NO_REPLICA, after=3)
    check = examine(server)
    assert check.status == "fail" and NO_REPLICA in check.message and "log" in check.hint


def test_a_collection_that_does_not_exist_yet_is_no_failure(server: QdrantServer) -> None:
    check = examine(server, "other")
    assert check.status == "pass" and "no collection 'other' yet" in check.message


def test_a_key_that_only_the_collection_asks_for_is_refused_there(server: QdrantServer) -> None:
    server.key = "another"
    check = examine(server)
    assert check.status == "fail" and "QDRANT_KEY" in check.hint


def test_a_key_that_the_server_repeats_is_left_out(
    server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_KEY", "s3cret")
    server.fail("status", 500, "bad: s3cret", after=3)
    check = examine(server)
    assert "bad: …" in check.message and "s3cret" not in json.dumps(check_to_json(check))
