"""A model server for a test, and a Qdrant server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ollama_server import Model, OllamaServer

if TYPE_CHECKING:
    from qdrant_server import QdrantServer

_MODELS = [Model("bge-m3", 32), Model("all-minilm", 48, 512), "llama3.2"]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[OllamaServer]:
    """An Ollama server. A module that needs other models than these names them in `MODELS`."""
    with OllamaServer(getattr(request.module, "MODELS", _MODELS)) as running:
        yield running


@pytest.fixture
def own_qdrant() -> Iterator[QdrantServer]:
    """A Qdrant server of the test's own, which may be made to fail."""
    from qdrant_server import QdrantServer  # its client takes a second to import

    with QdrantServer() as running:
        yield running
