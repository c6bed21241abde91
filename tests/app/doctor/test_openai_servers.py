"""What `rag doctor` finds of servers that speak OpenAI's API: it embeds, and compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from haystack.dataclasses import Document

from ollama_server import Model, refused
from openai_server import EMBEDDINGS, MODELS, OpenAIServer
from rag.app.doctor.check import Check, Examination, IndexView
from rag.app.doctor.model_servers import check_models, check_servers
from rag.app.doctor.vectors import check_vectors
from rag.config import ChatConfig, EmbeddingConfig, OllamaConfig, RAGConfig
from rag.index.embedding_space import Embedded, Space

EMBED, CHAT = "bge-m3", "llama3.2"
CHOSEN = {"embedding.model": "rag.toml", "chat.model": "rag.toml"}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([Model(EMBED, 32), CHAT]) as running:
        yield running


def settings(url: str, model: str = EMBED, chat: str = CHAT, **limits: Any) -> RAGConfig:
    limits = {"query_timeout": 5.0, "retries": 0} | limits
    return RAGConfig(
        embedding=EmbeddingConfig("openai", url, model),
        chat=ChatConfig("openai", url, chat),
        ollama=OllamaConfig(**limits),
        origins=dict(CHOSEN),
    )


def run(config: RAGConfig, index: IndexView | None = None) -> list[Check]:
    examination = Examination(config, index)
    return [
        *check_servers(examination),
        *check_models(examination),
        *check_vectors(examination),
    ]


def statuses(checks: list[Check]) -> list[tuple[str, str]]:
    return [(check.name, check.status) for check in checks]


def test_one_server_for_both_has_one_line_and_its_models_one_each(server: OpenAIServer) -> None:
    checks = run(settings(server.url))
    assert statuses(checks) == [
        ("openai", "pass"),
        ("embedding model", "pass"),
        ("chat model", "pass"),
    ]
    assert checks[0].message.startswith(f"at {server.url}, 2 models, ")
    assert checks[1].message == f"{EMBED} at {server.url}: 32 dimensions, reads 2,048 tokens"
    assert len(server.requests(EMBEDDINGS)) == 2  # it costs little


def test_two_servers_have_a_line_each(server: OpenAIServer) -> None:
    with OpenAIServer([CHAT], tells="") as other:
        config = settings(server.url)
        config = replace(config, chat=ChatConfig(url=other.url))
        checks = run(config)
        assert statuses(checks) == [
            *(("openai", "pass"), ("openai", "pass")),
            *(("embedding model", "pass"), ("chat model", "pass")),
        ]
        assert other.requests(EMBEDDINGS) == []
        assert checks[3].message.endswith("the first that can write answers")  # and no length


def test_models_that_are_not_there_are_failures_that_list_those_that_are(
    server: OpenAIServer,
) -> None:
    checks = run(settings(server.url, "nope", "nope"))
    assert statuses(checks)[1:] == [("embedding model", "fail"), ("chat model", "fail")]
    for check, setting in zip(checks[1:], ("embedding.model", "chat.model"), strict=True):
        assert setting in check.hint and f"{EMBED}, {CHAT}" in check.hint


def test_a_server_that_makes_vectors_at_random_is_found_out(server: OpenAIServer) -> None:
    model = server.models[EMBED]

    class Fickle(Model):
        """A model that reads something else than the text."""

        def vector(self, text: str) -> list[float]:
            return model.vector(f"request{len(server.requests())}")

    server.models[EMBED] = Fickle(EMBED, 32)
    check = run(settings(server.url))[1]
    assert check.status == "fail" and "one text two vectors" in check.message


def test_a_model_of_another_dimension_than_the_index_is_a_failure(server: OpenAIServer) -> None:
    made = Embedded(Space(EMBED, "", 64, ""), 1, 1)
    checks = {check.name: check for check in run(settings(server.url), IndexView(made, 64))}
    assert checks["embedding model"].status == "fail"
    assert "gives 32 dimensions, the index has 64" in checks["embedding model"].message


@pytest.mark.parametrize(("text", "status"), [("the same", "pass"), ("another", "fail")])
def test_vectors_of_the_index_are_made_again_and_compared(
    server: OpenAIServer, text: str, status: str
) -> None:
    vector = server.models[EMBED].vector("the same")
    document = Document(id="a", content=text, embedding=vector)
    made = Embedded(Space(EMBED, "", 32, ""), 1, 1)
    found = {
        check.name: check for check in run(settings(server.url), IndexView(made, 32, [document]))
    }
    assert found["vector sample"].status == status


@pytest.mark.parametrize(
    ("fault", "says", "hint"),
    [
        ({"status": 401, "error": "no"}, "wants an API key", "embedding.api_key"),
        ({"status": 503, "error": "Loading model"}, "is busy", "later"),
        ({"kind": "html"}, "not of OpenAI's API", "embedding.url"),
    ],
)
def test_what_is_wrong_with_a_server_is_said_with_what_to_do(
    server: OpenAIServer, fault: dict[str, Any], says: str, hint: str
) -> None:
    server.fail(MODELS, times=None, **fault)
    check, *_ = run(settings(server.url))
    assert (check.name, check.status) == ("openai", "warn")
    assert says in check.message and hint in check.hint


def test_a_server_that_lists_no_models_is_no_failure() -> None:
    with OpenAIServer([Model(EMBED, 32)], lists=False, tells="info") as server:
        config = replace(settings(server.url), chat=ChatConfig("none"))
        assert statuses(run(config)) == [("openai", "pass"), ("embedding model", "pass")]


def test_nobody_there_and_nobody_named_are_told() -> None:
    with refused() as nowhere:
        checks = run(settings(nowhere))
    assert statuses(checks) == [("openai", "warn"), ("openai", "warn")]
    assert "LM Studio" in checks[0].hint
    checks = run(settings(""))
    assert "no server is configured" in checks[0].message and "embedding.url" in checks[0].hint


def test_a_chat_model_that_is_not_wanted_is_not_looked_for(server: OpenAIServer) -> None:
    checks = run(settings(server.url, chat=""))
    assert statuses(checks) == [("openai", "pass"), ("embedding model", "pass")]


def test_without_providers_there_is_nothing_to_say() -> None:
    assert run(RAGConfig(embedding=EmbeddingConfig("none"), chat=ChatConfig("none"))) == []
