"""A model server for a test, and a Qdrant server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ollama_server import Model, OllamaServer

if TYPE_CHECKING:
    from qdrant_server import QdrantServer

_MODELS = [Model("bge-m3", 32), Model("all-minilm", 48, 512), "llama3.2"]


@pytest.fixture
def server(request) -> Iterator[OllamaServer]:
    """An Ollama server. A module that needs other models than these names them in `MODELS`."""
    with OllamaServer(getattr(request.module, "MODELS", _MODELS)) as running:
        yield running


@pytest.fixture
def own_qdrant() -> Iterator[QdrantServer]:
    """A Qdrant server of the test's own, which may be made to fail."""
    from qdrant_server import QdrantServer  # its client takes a second to import

    with QdrantServer() as running:
        yield running


@pytest.fixture
def models_here(monkeypatch) -> None:
    """Run models of this machine in the test's own process: theirs take .4 s to start."""
    from rag.clients.local.process import ModelProcess

    def results(process: ModelProcess, function: Callable[..., Any], *given: Any) -> Iterator[Any]:
        try:
            yield from function(*given)
        except Exception as error:  # as an answer of the process would be
            raise process._error(f"failed ({error})") from error

    monkeypatch.setattr(ModelProcess, "results", results)
    monkeypatch.setattr("rag.clients.local.process.lower_priority", lambda: None)
