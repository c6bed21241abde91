"""Against a cluster that really runs: RAG_TEST_QDRANT_CLUSTER names its addresses, three with
commas between (`make integration`). Collections begin with `rag-test-` and are deleted.
"""

import os
import socket
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from index_fixtures import offline
from rag.app.requests import SearchRequest, SyncRequest
from rag.app.search import search
from rag.app.sync import sync
from rag.app.workspace import Workspace
from rag.config import RAGConfig, StoreConfig

CLUSTER = os.environ.get("RAG_TEST_QDRANT_CLUSTER", "")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not CLUSTER, reason="RAG_TEST_QDRANT_CLUSTER names no addresses"),
]
ADDRESSES = CLUSTER.split(",")
QUERIES = ["armadillo", "armadillo seven", "called 12", "number 3 quokka", "zebra or quokka"]


@pytest.fixture
def store() -> Iterator[StoreConfig]:
    """Six shards with two copies of each, on all nodes."""
    name = f"rag-test-{uuid.uuid4()}"
    yield StoreConfig(
        url=CLUSTER, collection=name, shard_number=6, replication_factor=2, timeout=30
    )
    for collection in (name, f"{name}.catalog"):
        httpx.delete(f"{ADDRESSES[0]}/collections/{collection}", timeout=30)


@pytest.fixture
def notes(tmp_path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(120):
        kind = ["armadillo", "zebra", "quokka"][n % 3]
        text = f"# Note {n}\n\nAn {kind} called {n}.\n\n## More\n\nIts number is {n % 7}.\n"
        (folder / f"{n}.md").write_text(text, "utf-8")
    return folder


def machine(home: Path, store: StoreConfig | None = None) -> RAGConfig:
    return offline(home, **({"store": store} if store else {}))


def index(config: RAGConfig, notes: Path) -> None:
    with Workspace(config) as workspace:
        sync(workspace.config, SyncRequest([notes]))


def scores(config: RAGConfig, query: str) -> dict[str, float]:
    with Workspace(config) as workspace:
        found = search(workspace, SearchRequest(query, top_k=20)).results
    return {result.title: result.score for result in found}


def closed_address() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_cluster_ranks_as_the_embedded_store(tmp_path, notes, store):
    there, here = machine(tmp_path / "there", store), machine(tmp_path / "here")
    index(there, notes)
    index(here, notes)
    for n in range(0, 120, 5):  # brought up to date as well
        (notes / f"{n}.md").write_text(f"# Note {n}\n\nA quokka, number {n}.\n", "utf-8")
    index(there, notes)
    index(here, notes)
    for query in QUERIES:
        assert scores(there, query) == pytest.approx(scores(here, query), abs=1e-6)


def test_each_node_is_the_same_index_to_every_machine(tmp_path, notes, store):
    owner = machine(tmp_path / "owner", replace(store, url=ADDRESSES[0]))
    index(owner, notes)
    wanted = scores(owner, "armadillo seven")
    for at, address in enumerate(ADDRESSES):
        through = replace(store, url=address)
        assert scores(machine(tmp_path / f"reader {at}", through), "armadillo seven") == wanted
        with Workspace(machine(tmp_path / "owner", through)) as workspace:
            assert not sync(workspace.config, SyncRequest()).run.touched


def test_an_address_at_which_nobody_answers_is_passed_over(tmp_path, notes, store):
    half_dead = replace(store, url=f"{closed_address()},{CLUSTER}")
    config = machine(tmp_path / "owner", half_dead)
    index(config, notes)
    assert "Note 7" in scores(config, "zebra called 7")
    assert scores(machine(tmp_path / "reader", half_dead), "zebra") == scores(config, "zebra")
