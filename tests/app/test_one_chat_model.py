"""Everything that asks for a chat model, or names one, means the same of several that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ollama_answers import ANSWER_NOTES, QUESTION, TRUE
from ollama_server import KNOWN, Model, OllamaServer
from openai_server import OpenAIServer
from rag.app.ask import ask
from rag.app.doctor import CheckResult, Examination, check_servers, check_vectors
from rag.app.requests import AskRequest
from rag.app.setup import SetupReport, plan
from rag.app.workspace import Workspace
from rag.clients.factory import chat_provider
from rag.config import ChatConfig, EmbeddingConfig, OllamaConfig, RAGConfig

MODELS = [
    Model("nomic-embed-text", 768, 2048, family="nomic-bert"),
    Model("my/Qwen3-Reranker-0.6B", capabilities=("completion", "tools"), family="qwen3"),
    Model("my/Qwen3-Embedding-0.6B-GGUF", capabilities=("completion",), family="qwen3"),
    Model("llava", 4096, 32768, ("completion", "vision"), "llama"),
    KNOWN["llama3.2"],
]
FIRST, EMBEDDER = "llava", "nomic-embed-text"
Settings = Callable[[str], RAGConfig]


@pytest.fixture(scope="module")
def index(build_index: Any) -> RAGConfig:
    return build_index({"v": ANSWER_NOTES})


@pytest.fixture(params=["ollama", "openai"])
def settings(request: pytest.FixtureRequest, index: RAGConfig) -> Iterator[Settings]:
    """Settings that name a chat model of one kind of server."""
    by_ollama = request.param == "ollama"
    with (OllamaServer if by_ollama else OpenAIServer)(MODELS, answer=lambda _: TRUE) as server:

        def made(model: str) -> RAGConfig:
            limits = {"query_timeout": 5.0, "retries": 0, "embedding_model": ""}
            base = replace(index, embedding=EmbeddingConfig("none"))
            if by_ollama:
                return replace(
                    base, ollama=OllamaConfig(url=server.url, chat_model=model, **limits)
                )
            off = OllamaConfig(enabled=False, **limits)
            return replace(base, chat=ChatConfig(url=server.url, model=model), ollama=off)

        yield made


def doctor(config: RAGConfig) -> CheckResult | None:
    examination = Examination(config)
    checks = check_servers, check_vectors
    results = [result for check in checks for result in check(examination)]
    return next((result for result in results if result.name == "chat model"), None)


def answered_by(config: RAGConfig) -> str:
    with Workspace(config) as workspace:
        return ask(workspace, AskRequest(QUESTION)).answer.model


def setup(config: RAGConfig, folder: Path) -> SetupReport:
    return plan(config, folder / "rag.toml", folder, folder)


@pytest.mark.parametrize(("configured", "named"), [("auto", FIRST), ("llama3.2", "llama3.2")])
def test_all_name_the_same_model(
    settings: Settings, tmp_path: Path, configured: str, named: str
) -> None:
    config = settings(configured)
    checked = doctor(config)
    assert checked is not None and checked.status == "pass"
    names = [
        checked.facts["model"],
        answered_by(config),
        chat_provider(config).find_chat_model(5.0),  # for transforms
        setup(config, tmp_path).chat_model,
    ]
    assert [str(name).removesuffix(":latest") for name in names] == [named] * len(names)


def test_without_a_chat_model_all_say_so(settings: Settings, tmp_path: Path) -> None:
    config = settings("")
    assert doctor(config) is None
    assert answered_by(config) == ""
    assert setup(config, tmp_path).chat_model == ""
