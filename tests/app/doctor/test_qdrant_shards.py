"""What `rag doctor` says of the shards on a Qdrant server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient

from qdrant_server import QdrantServer
from rag.app.doctor import Check
from rag.app.doctor.check import Examination
from rag.app.doctor.qdrant_server import check_server
from rag.config import RAGConfig, StoreConfig

ANSWERED_BEFORE = 4  # /readyz, /, the collection, a count of its points
OTHER_STATES = (
    *("Dead", "Partial", "Initializing", "Listener", "PartialSnapshot", "Recovery"),
    *("Resharding", "ReshardingScaleDown", "ActiveRead", "ManualRecovery"),
)


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    """The first of three nodes, with a collection of six shards, two copies of each."""
    with QdrantServer(nodes=3) as running:
        make(running, 6, 2)
        yield running


def make(server: QdrantServer, shards: int, copies: int) -> None:
    client = QdrantClient(url=server.url, check_compatibility=False)
    client.create_collection("notes", {}, shard_number=shards, replication_factor=copies)


def examine(server: QdrantServer) -> list[Check]:
    """Return the lines after that of the server itself."""
    store = StoreConfig(url=server.url, collection="notes")
    _, *rest = check_server(Examination(RAGConfig(store=store)))
    return rest


def test_shards_whose_copies_are_all_there_pass(server: QdrantServer) -> None:
    [check] = examine(server)
    assert (check.name, check.status) == ("shards", "pass")
    assert check.message == "6 shards, 2 copies of each, all active"
    assert (check.facts["shards"], check.facts["wanted"], check.facts["lacking"]) == (6, 2, [])


@pytest.mark.parametrize("state", OTHER_STATES)
def test_a_copy_in_any_other_state_is_not_counted(server: QdrantServer, state: str) -> None:
    server.states[4, 2] = state
    [check] = examine(server)
    assert check.status == "warn"
    assert check.message.startswith("1 of 6 shards has fewer active copies than the 2 asked for")
    assert "shard 4 (" in check.message and state in check.message
    assert "Start the nodes that are down" in check.hint
    assert check.facts["lacking"] == [4]
    assert {"shard": 4, "node": 2, "state": state} in check.facts["copies"]


def test_all_shards_that_lack_copies_are_told(server: QdrantServer) -> None:
    server.states |= {(shard, 1): "Dead" for shard in (0, 2, 3, 5)}
    [check] = examine(server)
    assert check.facts["lacking"] == [0, 2, 3, 5]
    assert check.message.startswith("4 of 6 shards have ") and "shard 5 (Active, Dead)" in (
        check.message
    )


def test_of_many_shards_a_message_names_the_first() -> None:
    with QdrantServer() as server:
        make(server, 30, 1)
        server.states |= {(shard, 1): "Dead" for shard in range(30)}
        [check] = examine(server)
    assert check.message.endswith("shard 7 (Dead) and 22 more")
    assert check.facts["lacking"] == [*range(30)]


def test_copies_that_are_made_now_are_told(server: QdrantServer) -> None:
    server.states[4, 2] = "Partial"
    server.transfers = [{"shard_id": 4, "from": 3, "to": 2, "sync": True}]
    [check] = examine(server)
    assert "1 transfer now" in check.hint and check.facts["transfers"] == 1


def test_a_copy_more_that_is_not_whole_yet_is_no_warning(server: QdrantServer) -> None:
    server.states[0, 3] = "Partial"
    [check] = examine(server)
    assert check.status == "pass"
    assert check.message == "6 shards, at least 2 active copies of each"


def test_copies_that_no_node_has_are_told() -> None:
    with QdrantServer() as server:
        make(server, 2, 2)
        [check] = examine(server)
    assert check.status == "warn" and "shard 0 (Active), shard 1 (Active)" in check.message
    assert "replicate_shard" in check.hint


def test_one_shard_on_one_node_passes() -> None:
    with QdrantServer() as server:
        make(server, 1, 1)
        [check] = examine(server)
    assert (check.status, check.message) == ("pass", "1 shard, 1 copy, active")


@pytest.mark.parametrize(
    ("status", "said"), [(400, "wrong"), (404, ""), (500, "Distributed mode is disabled")]
)
def test_a_server_without_a_cluster_has_no_line(
    server: QdrantServer, status: int, said: str
) -> None:
    server.fail("status", status, said, after=ANSWERED_BEFORE)
    assert examine(server) == []


@pytest.mark.parametrize("kind", ["status", "garbage", "deep", "html", "null", "cut", "hangup"])
def test_a_cluster_that_does_not_tell_is_a_warning(server: QdrantServer, kind: str) -> None:
    server.fail(kind, after=ANSWERED_BEFORE)
    [check] = examine(server)
    assert (check.name, check.status) == ("shards", "warn")
    assert "is not known (" in check.message and check.hint


@pytest.mark.parametrize(
    "result",
    [
        '{"local_shards": [], "remote_shards": []}',
        '{"peer_id": 1, "local_shards": 3, "remote_shards": []}',
        '{"peer_id": 1, "local_shards": [{"shard_id": "x"}], "remote_shards": []}',
        '{"peer_id": 1, "local_shards": ["x"], "remote_shards": []}',
    ],
)
def test_a_cluster_that_tells_something_else_is_a_warning(
    server: QdrantServer, result: str
) -> None:
    server.fail("status", 200, f'{{"result": {result}}}', after=ANSWERED_BEFORE)
    [check] = examine(server)
    assert (check.name, check.status) == ("shards", "warn")
