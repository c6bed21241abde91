"""What models and tools said while a plan was made: asked live, or read back from the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from haystack import default_from_dict, default_to_dict
from pydantic import BaseModel, Field

from rag.query.llm.call import Asked, ask, name_of
from rag.query.serialization import from_serialised, to_serialised
from rag.query.transforms.prompts import Prompt

Stage = Literal["route", "metadata", "hyde"]


class RawResponse(BaseModel):
    """What a model replied to one request, or why there is nothing.

    :param text: what was understood of the reply, without the arguments of tools; the reply word
        for word where `Trace.raw` says so.
    :param code: what stood around the query in the prompt, if it is in the text too.
    """

    stage: Stage
    model: str = ""
    text: str = ""
    failure: str = ""
    code: str = ""


class ToolCall(BaseModel):
    """One use of a tool; its arguments are redacted, since names of notes may stand in them."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    engine: str = ""
    matches: int = 0
    failure: str = ""


class Outcome(NamedTuple):
    """What came of the use of a tool.

    :param told: what the model is told, as JSON.
    :param call: what the trace keeps.
    """

    told: str
    call: ToolCall


class Trace(BaseModel):
    """All that happened while a plan was made, in order.

    :param raw: whether replies are kept word for word.
    """

    responses: list[RawResponse] = Field(default_factory=list)
    tools: list[ToolCall] = Field(default_factory=list)
    raw: bool = False

    def keep(self, understood: str) -> None:
        """Keep what was understood of the last reply, unless it is kept word for word."""
        if not self.raw and self.responses:
            self.responses[-1].text = understood


class Asker(Protocol):
    """Whoever answers the requests of the stages, and keeps the trace of one plan: each plan
    begins with a new one."""

    trace: Trace

    def has(self, stage: Stage) -> bool:
        """Return whether there is a model for a stage."""

    def model_of(self, stage: Stage) -> str:
        """Return the name of a stage's model, empty without one; no server is asked."""

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the reply to a prompt, or why there is none; nothing is raised."""

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Let a tool be used, which is given how many seconds it may take; nothing is raised."""


class LiveAsker:
    """Asks chat generators.

    :param generators: a Haystack chat generator by stage; a stage without one has no model.
    :param timeout: seconds for one reply.
    """

    def __init__(self, generators: Mapping[Stage, Any], timeout: float = 30.0) -> None:
        self._generators, self._timeout = dict(generators), timeout
        self.trace = Trace()

    def to_dict(self) -> dict[str, Any]:
        """Serialise the generators, without the trace."""
        generators = {
            stage: to_serialised(one) for stage, one in self._generators.items() if one is not None
        }
        return default_to_dict(self, generators=generators, timeout=self._timeout)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the asker from what `to_dict` gave."""
        given = data["init_parameters"]
        generators = {stage: from_serialised(one) for stage, one in given["generators"].items()}
        return default_from_dict(
            cls, {**data, "init_parameters": {**given, "generators": generators}}
        )

    def has(self, stage: Stage) -> bool:
        """Return whether there is a model for a stage."""
        return self._generators.get(stage) is not None

    def model_of(self, stage: Stage) -> str:
        """Return the name of a stage's model, empty without one."""
        return name_of(self._generators[stage]) if self.has(stage) else ""

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Ask the stage's model."""
        if not self.has(stage):
            return Asked("", "", "there is no model")
        asked = ask(self._generators[stage], prompt, schema, self._timeout)
        text = asked.reply if self.trace.raw else ""
        self.trace.responses.append(
            RawResponse(
                stage=stage,
                model=asked.model,
                text=text,
                failure=asked.failure,
                code=prompt.code if prompt.code in text else "",
            )
        )
        return asked

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Use a tool, within the time of a reply."""
        outcome = use(self._timeout)
        self.trace.tools.append(outcome.call)
        return outcome


class ReplayAsker:
    """Answers with the responses that a trace holds, stage by stage, in their order; no tool is
    used again."""

    def __init__(self, trace: Trace) -> None:
        self._left = list(trace.responses)
        self._calls = list(trace.tools)
        self._stages = {response.stage for response in trace.responses}
        self.trace = Trace()

    def has(self, stage: Stage) -> bool:
        """Return whether the stage's model was asked."""
        return stage in self._stages

    def model_of(self, stage: Stage) -> str:
        """Return the name of the model that was asked."""
        return next((one.model for one in self._left if one.stage == stage), "")

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the next response of the stage."""
        for at, response in enumerate(self._left):
            if response.stage == stage:
                del self._left[at]
                self.trace.responses.append(response.model_copy())
                text = response.text
                if response.code:  # each prompt has a code of its own
                    text = text.replace(response.code, prompt.code)
                return Asked(text, response.model, response.failure)
        missing = "the audit holds no further response"
        return Asked("", "", missing if self.has(stage) else "there is no model")

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Return the next use of a tool; what it told was for the model."""
        missing = ToolCall(tool="unknown", failure="the audit holds no further use of a tool")
        call = self._calls.pop(0) if self._calls else missing
        self.trace.tools.append(call)
        return Outcome("", call)
