"""Two machines that share an index on one server."""

from collections.abc import Callable
from typing import Any

import pytest

from machines import Machine
from rag.config import RAGConfig, StoreConfig


@pytest.fixture
def machine(server, tmp_path) -> Callable[..., Machine]:
    """Return a machine by name: `machine("desk")`."""

    def make(name: str, **settings: Any) -> Machine:
        store = StoreConfig(**{"url": server.url, "timeout": 5, "hnsw_m": 0, **settings})
        return Machine(RAGConfig(data_dir=tmp_path / name, store=store))

    return make


@pytest.fixture
def desk(machine) -> Machine:
    """The machine that writes in most of these tests."""
    return machine("desk")


@pytest.fixture
def laptop(machine) -> Machine:
    """Another machine."""
    return machine("laptop")
