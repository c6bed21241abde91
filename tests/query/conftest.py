"""A chat model that says what it is told to."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from rag.clients import OllamaGenerator
from rag.config import OllamaConfig


@pytest.fixture
def model(server) -> Iterator[Callable[..., OllamaGenerator]]:
    """Make a generator of that server: `model(timeout=1.0)`."""
    with ExitStack() as opened:

        def make(url: str = "", **arguments: Any) -> OllamaGenerator:
            config = OllamaConfig(url=url or server.url, chat_model="llama3.2", retries=0)
            return opened.enter_context(closing(OllamaGenerator(config, **arguments)))

        yield make
