"""Two machines that share an index on one server."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from machines import Machine
from qdrant_server import QdrantServer
from rag.config import RAGConfig, StoreConfig


@pytest.fixture
def machine(server: QdrantServer, tmp_path: Path) -> Callable[..., Machine]:
    """Return a machine by name: `machine("desk")`."""

    def make(name: str, **settings: Any) -> Machine:
        store = StoreConfig(**{"url": server.url, "timeout": 5, "hnsw_m": 0, **settings})
        return Machine(RAGConfig(data_dir=tmp_path / name, store=store))

    return make


@pytest.fixture
def desk(machine: Callable[..., Machine]) -> Machine:
    """The machine that writes in most of these tests."""
    return machine("desk")


@pytest.fixture
def laptop(machine: Callable[..., Machine]) -> Machine:
    """Another machine."""
    return machine("laptop")
