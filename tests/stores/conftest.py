"""Stores on the real engine, each in a folder of its own."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
import qdrant_edge as qe

from qdrant_server import QdrantServer
from rag.config import StoreConfig
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST
from rag.stores import QdrantEdgeDocumentStore, QdrantServerDocumentStore
from rag.stores.edge.document_store import create_shard, load_shard
from rag.support.disk_space import copy_tree

Store = QdrantEdgeDocumentStore
Either = QdrantEdgeDocumentStore | QdrantServerDocumentStore
ENGINES = ("embedded", "server")


@pytest.fixture(scope="session")
def empty_shard(tmp_path_factory) -> Path:
    """A shard as the engine makes it, closed."""
    path = tmp_path_factory.mktemp("empty") / "shard"
    create_shard(path).close()
    return path


@pytest.fixture(autouse=True)
def quick_shards(request, monkeypatch, empty_shard) -> None:
    """Copy the empty shard wherever one is made: half of most tests' time went into making it.

    Where the making itself is tested, `@pytest.mark.usefixtures("slow_shards")`.
    """

    def copied(path: Path) -> qe.EdgeShard:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy_tree(empty_shard, path)
        return load_shard(path)

    if "slow_shards" not in request.fixturenames:
        monkeypatch.setattr("rag.stores.edge.document_store.create_shard", copied)


@pytest.fixture
def slow_shards() -> None:
    """Shards are made by the engine."""


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "index")


@pytest.fixture
def store(path) -> Iterator[Store]:
    with Store(path) as store:
        yield store


@pytest.fixture
def opened(monkeypatch) -> list[Path]:
    """The folders that the engine was given to open as a shard."""
    seen: list[Path] = []

    def noted(path: Path) -> qe.EdgeShard:
        seen.append(path)
        return load_shard(path)

    monkeypatch.setattr("rag.stores.edge.document_store.load_shard", noted)
    return seen


@pytest.fixture
def publish() -> Callable[[Store, str], None]:
    """Publish a snapshot whose manifest of notes says `made=…`: `publish(store, "first")`."""

    def published(store: Store, made: str) -> None:
        store.begin_writing()
        with Manifest.open_work(store.directory.begin_work() / MANIFEST) as manifest:
            manifest.set(made=made, fingerprint="{}")
        store.publish()

    return published


@pytest.fixture(scope="session")
def qdrant() -> Iterator[QdrantServer]:
    """A server for tests that leave it whole; each has collections of its own."""
    with QdrantServer() as server:
        yield server


@pytest.fixture
def server(own_qdrant) -> QdrantServer:
    """In these tests the server is Qdrant's."""
    return own_qdrant


@pytest.fixture(scope="session")
def open_store(qdrant) -> Callable[[str, Path], Either]:
    """Open an empty store of either engine: `open_store("server", tmp_path)`."""
    numbers = count()

    def opened(engine: str, path: Path) -> Either:
        if engine == "embedded":
            return QdrantEdgeDocumentStore(str(path))
        name = f"test-{next(numbers)}"
        return QdrantServerDocumentStore(
            str(path), StoreConfig(url=qdrant.url, collection=name, hnsw_m=0)
        )

    return opened


@pytest.fixture(params=ENGINES)
def either(request, path, open_store) -> Iterator[Either]:
    """A store of one engine, then of the other."""
    with open_store(request.param, Path(path)) as store:
        yield store
