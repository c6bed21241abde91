"""Notes to ask about, which are only read."""

import pytest

from ollama_answers import ANSWER_NOTES
from rag.config import RAGConfig


@pytest.fixture(scope="session")
def index(build_index) -> RAGConfig:
    """The settings with the index of `ANSWER_NOTES`."""
    return build_index({"v": ANSWER_NOTES})
