"""Prompts that a server cuts in silence: what the answer says of it, and when it says nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

import pytest
from haystack import Pipeline

from index_fixtures import open_pipeline
from ollama_server import Model, OllamaServer
from rag.config import OllamaConfig, RAGConfig
from rag.pipelines import ask, create_qa_pipeline
from rag.qa.answer import Answer

CONTEXT = 2048
SMALL = Model("small", context=CONTEXT, capabilities=("completion",))
QUESTION = "How long do we keep backups?"
TRUE = "We keep backups for ninety days. [1]"
# The test server's tokenizer makes eleven tokens of each long word, our estimate three.
WORDS = [f"incomprehensibilities{letter}uncharacteristically" for letter in ascii_lowercase]
NOTES = {
    f"Backups {name}.md": f"# Backups {name}\n\nWe keep backups for ninety days.\n\n"
    + " ".join(f"Some {word}{name} say {name}{word} of {word}." for word in WORDS)
    for name in ("one", "two", "six", "ten", "red", "tin")
}
FEW = {"Backups.md": "# Backups\n\nWe keep backups for ninety days.\n"}


@pytest.fixture(scope="module")
def index(build_index) -> RAGConfig:
    return build_index({"v": NOTES})


@pytest.fixture(scope="module")
def small_index(build_index) -> RAGConfig:
    return build_index({"v": FEW})


@contextmanager
def asked_at(config: RAGConfig, **server: Any) -> Iterator[tuple[Pipeline, OllamaServer]]:
    """Give a pipeline whose model is small, and the server that runs it."""
    with OllamaServer([SMALL], **server) as running:
        running.api.answer = lambda _: TRUE
        wanted = replace(config, ollama=OllamaConfig(url=running.url, retries=0))
        with open_pipeline(create_qa_pipeline, wanted) as pipeline:
            yield pipeline, running


def cut(answer: Answer) -> list[str]:
    return [notice for notice in answer.notices if "of the prompt" in notice]


class TestByOllama:
    def test_an_old_server_that_cuts_in_silence_is_found_out(self, index):
        with asked_at(index, overflow="cut", refuses=False) as (pipeline, _):
            answer = ask(pipeline, QUESTION)
        [said] = cut(answer)
        assert said.startswith("small:latest read only 2,048 tokens of the prompt; ")
        assert "ollama.max_context" in said and "ask.top_k" in said
        assert answer.usage["prompt_tokens"] == answer.usage["num_ctx"] == CONTEXT

    @pytest.mark.parametrize("counts_cached", [True, False])
    def test_a_prompt_that_the_server_has_cached_is_not_taken_for_cut(
        self, small_index, counts_cached
    ):
        questions = [QUESTION, QUESTION, f"{QUESTION} In days, please."]
        with asked_at(small_index, counts_cached=counts_cached, refuses=False) as (pipeline, _):
            answers = [ask(pipeline, question) for question in questions]
        read = [answer.usage["prompt_tokens"] for answer in answers]
        assert [count > read[0] / 2 for count in read[1:]] == [counts_cached] * 2
        assert not any(map(cut, answers))
