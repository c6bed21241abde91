"""The chat models that plan queries: looked for when they are first wanted, and within a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rag.clients.factory import chat_provider
from rag.config import RAGConfig
from rag.exceptions import RAGError
from rag.query.llm.call import Asked
from rag.query.planner.trace import LiveAsker, Outcome, RawResponse, Stage
from rag.query.transforms.prompts import Prompt


class PlannerModels(LiveAsker):
    """Asks the configured models, all of them together for `ollama.transform_timeout` at most.

    A model that failed is not asked again.

    :param config: the settings; no server is asked before `has` is.
    """

    def __init__(self, config: RAGConfig) -> None:
        super().__init__({})
        self._config, self._chat = config.ollama, chat_provider(config)
        planner, default = config.planner, self._chat.model
        self._names: dict[Stage, str] = {
            "route": planner.router_model or default,
            "metadata": planner.extractor_model or default,
            "hyde": planner.hyde_model or default,
        }
        self._made: dict[str, Any] = {}
        self._failed: set[str] = set()
        self._until = 0.0
        self._answers: bool | None = None

    def has(self, stage: Stage) -> bool:
        """Return whether there is a model for a stage."""
        return bool(self._names[stage]) and self._is_there()

    def model_of(self, stage: Stage) -> str:
        """Return the name of the stage's configured model."""
        return self._names[stage]

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Ask the stage's model."""
        if not self.has(stage):
            return Asked("", "", "there is no model")
        name = self._names[stage]
        left = self._left()
        if left <= 0 or name in self._failed:
            timeout = "no time was left (ollama.transform_timeout)"
            asked = Asked("", name, timeout if left <= 0 else f"{name} had failed before")
            self.trace.responses.append(
                RawResponse(stage=stage, model=asked.model, failure=asked.failure)
            )
            return asked
        self._timeout = left
        self._generators[stage] = self.generator(name, left)
        asked = super().ask(stage, prompt, schema)
        if asked.failure:
            self._failed.add(name)
        return asked

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Use a tool, within the time that is left."""
        self._timeout = max(self._left(), 0.0)
        return super().call(use)

    def _left(self) -> float:
        return round(self._until - time.monotonic(), 1)

    def generator(self, name: str, seconds: float) -> Any:
        """Return a chat generator that waits so long for its reply."""
        if name not in self._made:
            self._made[name] = self._chat.generator(name, seconds)
        self._made[name].timeout = seconds
        return self._made[name]

    def generator_of(self, stage: Stage) -> Any | None:
        """Return the chat generator of a stage, for plug-ins; `None` where none is configured."""
        name = self._names[stage]
        if not name or self._chat.is_off:
            return None
        return self.generator(name, self._config.transform_timeout)

    def close(self) -> None:
        """Close all connections."""
        for generator in self._made.values():
            generator.close()
        self._made.clear()

    def _is_there(self) -> bool:
        if self._answers is None:
            self._answers = False
            with suppress(RAGError):
                self._chat.check_listening()
                self._answers = True
            self._until = time.monotonic() + self._config.transform_timeout
        return self._answers
