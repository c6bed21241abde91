"""A chat provider that is not Ollama: it answers, plans and transforms, with Ollama off."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from haystack import Pipeline, component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage

from index_fixtures import open_pipeline
from ollama_answers import QUESTION, TRUE
from rag.app.ask import ask as answer
from rag.app.requests import AskRequest, SearchRequest, with_model
from rag.app.search import search
from rag.app.workspace import Workspace
from rag.clients.protocols import ServerView, Settings
from rag.config import ChatConfig, ModelsConfig, OllamaConfig, RAGConfig
from rag.config.sections import CHAT_PROVIDERS
from rag.exceptions import ConfigError, ConnectionError
from rag.pipelines import ask, create_qa_pipeline
from rag.qa.pipeline import GENERATOR
from rag.search.planned_query import PlannerModels
from rag.support.pipeline_parts import component_of

ORIGINAL = "How long are the copies kept?"


@component
class Recital:
    """A chat generator of Haystack's kind that recites."""

    def __init__(self, text: str = TRUE, model: str = "reciter") -> None:
        self.text, self.model, self.timeout = text, model, 1.0

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Recite, or fill the first field of a schema."""
        text = self.text
        if response_format:
            text = json.dumps({key: [ORIGINAL] for key in response_format["required"]})
        meta = {"model": self.model, "finish_reason": "stop"}
        return {"replies": [ChatMessage.from_assistant(text, meta=meta)]}

    def close(self) -> None:
        """Do nothing."""

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, text=self.text, model=self.model)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        return default_from_dict(cls, data)


class Reciter:
    """A chat provider of nobody's, whose model lies in the settings of another section."""

    is_off = False
    listens = True

    def __init__(self, config: ModelsConfig) -> None:
        self.model = config.ollama.keep_alive.removesuffix("m")

    @property
    def is_configured(self) -> bool:
        return bool(self.model)

    def with_model(self, config: Settings, model: str) -> Settings:
        return replace(config, ollama=replace(config.ollama, keep_alive=model))

    def check_listening(self) -> None:
        if not self.listens:
            raise ConnectionError("the reciter sleeps", "here")

    def survey(self) -> list[ServerView]:
        return []

    def find_chat_model(self, deadline: float) -> str:
        self.check_listening()
        if not self.model:
            raise ConfigError("there is no reciter")
        return self.model

    def context_window(self, model: str = "") -> int:
        return 600

    def generator(self, model: str = "", seconds: float | None = None) -> Any:
        return Recital(model=model or self.model)

    def answer_generator(self, model: str, think: bool, temperature: float, tokens: int) -> Any:
        return Recital(model=model or self.model)


@pytest.fixture
def config(index, monkeypatch) -> RAGConfig:
    monkeypatch.setitem(CHAT_PROVIDERS, "reciter", (__name__, "Reciter"))
    ollama = OllamaConfig(enabled=False, keep_alive="reciter")
    return replace(index, chat=ChatConfig("reciter"), ollama=ollama)


@pytest.fixture
def pipeline(config) -> Iterator[Pipeline]:
    with open_pipeline(create_qa_pipeline, config) as made:
        yield made


def test_it_answers_and_its_answers_are_verified(pipeline):
    answer = ask(pipeline, QUESTION)
    assert (answer.text, answer.model, answer.verified) == (TRUE, "reciter", 1.0)
    assert [source.file_path for source in answer.sources] == ["Backups.md"]


def test_without_any_model_there_are_quotations(config):
    without = with_model(config, no_model=True)
    with open_pipeline(create_qa_pipeline, without) as pipeline:
        assert component_of(pipeline, GENERATOR) is None
        assert ask(pipeline, QUESTION).quotes


def test_it_plans(config, monkeypatch):
    models = PlannerModels(config)
    assert models.has("metadata") and models.has("hyde")
    monkeypatch.setattr(Reciter, "listens", False)
    assert not PlannerModels(config).has("metadata")


def test_it_transforms_queries(config):
    with Workspace(config) as workspace:
        found = search(workspace, SearchRequest("backups", transforms=["multi-query"]))
        assert [variant.text for variant in found.variants] == [ORIGINAL]
        assert answer(workspace, AskRequest(QUESTION)).answer.model == "reciter"
        assert answer(workspace, AskRequest(QUESTION, no_model=True)).answer.quotes
