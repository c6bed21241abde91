"""A server with two models, and settings that point to it and give up soon."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ollama_server import OllamaServer
from rag.config import OllamaConfig

EMBED, CHAT = "nomic-embed-text", "llama3.2"


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer([EMBED, CHAT, "qwen3", "all-minilm"]) as running:
        yield running


@pytest.fixture
def settings(server) -> Callable[..., OllamaConfig]:
    """Make settings: `settings(retries=0)`."""

    def make(**changes: Any) -> OllamaConfig:
        given: dict[str, Any] = {"url": server.url, "embedding_model": EMBED, "chat_model": CHAT}
        given |= {"retries": 1, "connect_timeout": 2.0, "read_timeout": 5.0}
        return OllamaConfig(**(given | changes))

    return make
