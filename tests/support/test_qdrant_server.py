"""The stand-in for a Qdrant server does what a real one does where that is easily missed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx
import pytest
from qdrant_client import QdrantClient, models

from qdrant_server import QdrantServer

IDF, NONE = models.Modifier.IDF, models.Modifier.NONE


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    """The first of three nodes."""
    with QdrantServer(nodes=3) as running:
        yield running


@pytest.fixture
def client(server: QdrantServer) -> QdrantClient:
    return QdrantClient(url=server.url, check_compatibility=False)


def identity(number: int) -> str:
    return str(uuid.UUID(int=number))


def fill(client: QdrantClient, name: str, shards: int, modifier: models.Modifier) -> None:
    """Make a collection of 20 points, of which each has word 0 and every third has word 1."""
    words = {"words": models.SparseVectorParams(modifier=modifier)}
    client.create_collection(name, {}, words, shard_number=shards, replication_factor=2)
    points = []
    for n in range(20):
        held = [0] if n % 3 else [0, 1]
        vector = {"words": models.SparseVector(indices=held, values=[1.0] * len(held))}
        points.append(models.PointStruct(id=identity(n), vector=vector, payload={"n": n}))
    client.upsert(name, points)


def scores(client: QdrantClient, name: str) -> list[float]:
    query = models.SparseVector(indices=[0, 1], values=[1.0, 2.0])
    request = models.QueryRequest(query=query, using="words", limit=20)
    [found] = client.query_batch_points(name, [request])
    return [point.score for point in found.points]


@pytest.mark.parametrize(("modifier", "is_same"), [(NONE, True), (IDF, False)])
def test_documents_are_counted_shard_by_shard_where_the_server_weighs_words(
    client: QdrantClient, modifier: models.Modifier, is_same: bool
) -> None:
    fill(client, "one", 1, modifier)
    fill(client, "six", 6, modifier)
    assert (scores(client, "one") == scores(client, "six")) is is_same


def test_weighing_can_be_switched_off(client: QdrantClient) -> None:
    fill(client, "six", 6, IDF)
    plain = models.SparseVectorParams(modifier=NONE)
    client.update_collection("six", sparse_vectors_config={"words": plain})
    assert scores(client, "six")[0] == 3.0


def test_shards_answer_as_one(client: QdrantClient) -> None:
    fill(client, "six", 6, NONE)
    ids = [identity(n) for n in range(20)]
    assert client.count("six").count == client.get_collection("six").points_count == 20
    assert {record.id for record in client.retrieve("six", ids[:2])} == {*ids[:2]}
    listed, offset = [], None
    while True:
        page, offset = client.scroll("six", limit=7, offset=offset)
        listed += [record.id for record in page]
        if offset is None:
            break
    assert listed == ids
    falling = models.OrderBy(key="n", direction=models.Direction.DESC)
    newest, _ = client.scroll("six", limit=3, order_by=falling)
    assert [record.payload for record in newest] == [{"n": 19}, {"n": 18}, {"n": 17}]
    client.delete("six", models.PointIdsList(points=ids[:5]))
    assert client.count("six").count == 15


def test_the_cluster_tells_the_state_of_every_copy(
    server: QdrantServer, client: QdrantClient
) -> None:
    fill(client, "six", 6, NONE)
    server.states[4, 3] = "Dead"
    told = httpx.get(f"{server.url}/collections/six/cluster").json()["result"]
    assert (told["peer_id"], told["shard_count"], told["shard_transfers"]) == (1, 6, [])
    assert len(told["local_shards"]) + len(told["remote_shards"]) == 12
    assert sum(shard["points_count"] for shard in told["local_shards"]) > 0
    dead = [shard for shard in told["remote_shards"] if shard["state"] != "Active"]
    assert dead == [{"shard_id": 4, "peer_id": 3, "state": "Dead"}]


def test_one_that_is_not_ready_says_so_and_answers(
    server: QdrantServer, client: QdrantClient
) -> None:
    fill(client, "one", 1, NONE)
    server.is_ready = False
    ready = httpx.get(f"{server.url}/readyz")
    assert (ready.status_code, ready.text) == (503, "some shards are not ready")
    assert client.count("one").count == 20


def test_its_version_and_whether_it_is_ready_take_no_key(server: QdrantServer) -> None:
    server.key = "secret"
    paths = ("/", "/readyz", "/collections/one")
    statuses = [httpx.get(server.url + path).status_code for path in paths]
    assert statuses == [200, 200, 401]


@pytest.mark.parametrize(("accepted", "sent"), [("gzip, br", "gzip"), ("identity", None)])
def test_an_answer_is_compressed_for_whoever_reads_that(
    server: QdrantServer, accepted: str, sent: str | None
) -> None:
    answer = httpx.get(server.url, headers={"Accept-Encoding": accepted})
    assert answer.headers.get("Content-Encoding") == sent
    assert answer.json()["version"] and server.compressed == (["/"] if sent else [])
