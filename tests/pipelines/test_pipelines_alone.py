"""The pipelines as Haystack users have them: from an `OllamaConfig`, from YAML, and without us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from ollama_answers import ANSWER_NOTES, QUESTION, TRUE
from ollama_server import OllamaServer
from rag.config import OllamaConfig, RAGConfig, load_config
from rag.pipelines import ask, create_qa_pipeline, create_search_pipeline, search
from rag.stores import get_document_store


@pytest.fixture(scope="module")
def index(build_index) -> RAGConfig:
    return build_index({"v": ANSWER_NOTES})


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer(["nomic-embed-text", "llama3.2"]) as running:
        yield running


class TestFromTheModelSettingsAlone:
    def test_search_takes_them_and_the_other_settings_in_force(self, index):
        with get_document_store(index) as store:
            ollama = OllamaConfig(enabled=False)
            alone = create_search_pipeline(store, ollama)
            whole = create_search_pipeline(store, replace(load_config(), ollama=ollama))
            assert alone.to_dict() == whole.to_dict()
            assert search(alone, "parking").results

    def test_questions_are_answered_by_their_model(self, index, server):
        server.say(TRUE)
        with get_document_store(index) as store:
            ollama = OllamaConfig(url=server.url)
            with closing(create_qa_pipeline(store, ollama)) as pipeline:
                answer = ask(pipeline, QUESTION)
        assert (answer.text, answer.model) == (TRUE, "llama3.2:latest")
