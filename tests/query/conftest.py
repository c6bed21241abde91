"""A chat model that says what it is told to."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag.clients import OllamaGenerator
from rag.config import OllamaConfig


@pytest.fixture
def model(server) -> Iterator[Callable[..., OllamaGenerator]]:
    """Make a generator of that server: `model(timeout=1.0)`."""
    made: list[OllamaGenerator] = []

    def make(url: str = "", **arguments: Any) -> OllamaGenerator:
        config = OllamaConfig(url=url or server.url, chat_model="llama3.2", retries=0)
        made.append(OllamaGenerator(config, **arguments))
        return made[-1]

    yield make
    for generator in made:
        generator.close()
