"""What models and tools said while a plan was made: asked live, or read back from the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from rag.query.asking import Asked, ask
from rag.query.prompts import Prompt

Stage = Literal["route", "metadata", "hyde"]


class RawResponse(BaseModel):
    """What a model replied to one request, word for word, or why there is nothing."""

    stage: Stage
    model: str = ""
    text: str = ""
    failure: str = ""


class ToolCall(BaseModel):
    """One use of a tool; its arguments are redacted, since names of notes may stand in them."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    engine: str = ""
    matches: int = 0
    failure: str = ""


class Trace(BaseModel):
    """All that happened while a plan was made, in order."""

    responses: list[RawResponse] = Field(default_factory=list)
    tools: list[ToolCall] = Field(default_factory=list)


class Asker(Protocol):
    """Whoever answers the requests of the stages, and keeps the trace."""

    trace: Trace

    def has(self, stage: Stage) -> bool:
        """Tell whether there is a model for a stage."""

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the reply to a prompt, or why there is none; nothing is raised."""


class LiveAsker:
    """Asks chat generators.

    :param generators: a Haystack chat generator by stage; a stage without one has no model.
    :param timeout: seconds for one reply.
    """

    def __init__(self, generators: Mapping[Stage, Any], timeout: float = 30.0) -> None:
        self._generators, self._timeout = dict(generators), timeout
        self.trace = Trace()

    def has(self, stage: Stage) -> bool:
        """Tell whether there is a model for a stage."""
        return self._generators.get(stage) is not None

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Ask the stage's model."""
        if not self.has(stage):
            return Asked("", "", "there is no model")
        asked = ask(self._generators[stage], prompt, schema, self._timeout)
        self.trace.responses.append(
            RawResponse(stage=stage, model=asked.model, text=asked.reply, failure=asked.failure)
        )
        return asked


class ReplayAsker:
    """Answers with the responses that a trace holds, stage by stage, in their order."""

    def __init__(self, trace: Trace) -> None:
        self._left = list(trace.responses)
        self._stages = {response.stage for response in trace.responses}
        self.trace = Trace()

    def has(self, stage: Stage) -> bool:
        """Tell whether the stage's model was asked."""
        return stage in self._stages

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the next response of the stage."""
        for at, response in enumerate(self._left):
            if response.stage == stage:
                del self._left[at]
                self.trace.responses.append(response)
                return Asked(response.text, response.model, response.failure)
        return Asked("", "", "the audit holds no further response")
