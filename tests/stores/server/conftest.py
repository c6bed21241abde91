"""Two machines that share an index on one server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from machines import Machine
from rag.config import RAGConfig, StoreConfig
from rag.stores import QdrantServerDocumentStore


@pytest.fixture
def machine(server, tmp_path) -> Callable[..., Machine]:
    """Return a machine by name: `machine("desk")`."""

    def make(name: str, **settings: Any) -> Machine:
        store = StoreConfig(**{"url": server.url, "timeout": 5, "hnsw_m": 0, **settings})
        return Machine(RAGConfig(data_dir=tmp_path / name, store=store))

    return make


@pytest.fixture
def open_server(request, tmp_path) -> Iterator[Callable[..., QdrantServerDocumentStore]]:
    """Open a store of the test's own server, or of others: `open_server()`,
    `open_server("two", hnsw_m=0)`, `open_server(url="http://one, http://two")`."""
    with ExitStack() as opened:

        def make(folder: str = "index", **settings: Any) -> QdrantServerDocumentStore:
            if "url" not in settings:
                settings["url"] = request.getfixturevalue("server").url
            store = QdrantServerDocumentStore(str(tmp_path / folder), StoreConfig(**settings))
            return opened.enter_context(store)

        yield make


@pytest.fixture
def desk(machine) -> Machine:
    """The machine that writes in most of these tests."""
    return machine("desk")


@pytest.fixture
def laptop(machine) -> Machine:
    """Another machine."""
    return machine("laptop")
