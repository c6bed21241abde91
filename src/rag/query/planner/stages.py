"""The models of a plan's stages: who answers their prompts, and what is kept of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from rag.query.llm import (
    Asked,
    Prompt,
    ask,
    build_prompt,
    document_in,
    line_in,
    object_in,
    same_text,
)
from rag.query.planner.plan import FullTransformationResult, HyDEGeneration
from rag.query.syntax import plain_words
from rag.text.tokenizer import has_words

Stage = Literal["route", "metadata", "hyde"]
NO_MODEL = "there is no model"


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
    """What the use of a tool tells the model, as JSON, and what the trace keeps."""

    told: str
    call: ToolCall


class Trace(BaseModel):
    """All replies and uses of tools while a plan was made, in order; replies word for word if
    `raw`."""

    responses: list[RawResponse] = Field(default_factory=list)
    tools: list[ToolCall] = Field(default_factory=list)
    raw: bool = False

    def keep(self, understood: dict[str, Any]) -> str:
        """Keep what was understood of the last reply, unless it is kept word for word; return it
        as JSON."""
        text = json.dumps(understood, ensure_ascii=False) if understood else ""
        if not self.raw and self.responses:
            self.responses[-1].text = text
        return text


class LiveAsker:
    """Asks chat generators, and keeps the trace of one plan: each plan begins with a new one.

    :param generators: a Haystack chat generator by stage; a stage without one has no model.
    :param timeout: seconds for one reply, or one use of a tool.
    """

    def __init__(self, generators: Mapping[Stage, Any], timeout: float = 30.0) -> None:
        self._generators = {stage: one for stage, one in generators.items() if one is not None}
        self._timeout = timeout
        self.trace = Trace()

    def has(self, stage: Stage) -> bool:
        """Return whether there is a model for a stage."""
        return stage in self._generators

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the reply to a prompt, or why there is none; nothing is raised."""
        if not self.has(stage):
            return Asked("", "", NO_MODEL)
        asked = ask(self._generators[stage], prompt, schema, self._timeout)
        text = asked.reply if self.trace.raw else ""
        response = RawResponse(stage=stage, model=asked.model, text=text, failure=asked.failure)
        response.code = prompt.code if prompt.code in text else ""
        self.trace.responses.append(response)
        return asked

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Let a tool be used, which is given how many seconds it may take; nothing is raised."""
        outcome = use(self._timeout)
        self.trace.tools.append(outcome.call)
        return outcome


class ReplayAsker(LiveAsker):
    """Answers with the responses that a trace holds, stage by stage, in their order; no tool is
    used again."""

    def __init__(self, trace: Trace) -> None:
        super().__init__({})
        self._responses, self._calls = list(trace.responses), list(trace.tools)
        self._stages = {response.stage for response in trace.responses}

    def has(self, stage: Stage) -> bool:
        """Return whether the stage's model was asked."""
        return stage in self._stages

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the next response of the stage."""
        response = next((r for r in self._responses if r.stage == stage), None)
        if response is None:
            missing = "the audit holds no further response"
            return Asked("", "", missing if self.has(stage) else NO_MODEL)
        self._responses.remove(response)
        self.trace.responses.append(response.model_copy())
        code = response.code or prompt.code  # each prompt has a code of its own
        text = response.text.replace(code, prompt.code)
        return Asked(text, response.model, response.failure)

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Return the next use of a tool; what it told was for the model."""
        missing = ToolCall(tool="unknown", failure="the audit holds no further use of a tool")
        call = self._calls.pop(0) if self._calls else missing
        self.trace.tools.append(call)
        return Outcome("", call)


_HYDE: dict[str, Any] = {
    "type": "object",
    "properties": {"hyde_paragraph": {"type": "string"}, "rerank_query": {"type": "string"}},
    "required": ["hyde_paragraph", "rerank_query"],
}


def hypothesis(plan: FullTransformationResult, asker: LiveAsker) -> FullTransformationResult:
    """Return the plan with the note and the query to order results by that the model of the stage
    `hyde` wrote; `fallbacks` says why there is nothing of it."""
    if not has_words(plan.query):
        return plan
    fields = ", ".join(plan.mapped_physical_columns) or "-"
    prompt = build_prompt("hyde", plan.query, text=plan.text, fields=fields)
    asked = asker.ask("hyde", prompt, _HYDE)
    reason, text, line = asked.failure, "", ""
    if not reason:
        reply = object_in(asked.reply, without=prompt.code)
        paragraph = reply.get("hyde_paragraph", asked.reply)
        paragraph = paragraph if isinstance(paragraph, str) else ""
        text = document_in(paragraph, without=prompt.code)
        line = line_in(reply.get("rerank_query"))
        asker.trace.keep({"hyde_paragraph": text, "rerank_query": line} if text else {})
        if not text or same_text(text, plan.query) or same_text(text, plan.text):
            reason = f"{asked.model} wrote no passage"
    if reason:
        return plan.model_copy(update={"fallbacks": [*plan.fallbacks, f"hyde: {reason}"]})
    rerank = plain_words(line) or plan.hyde.rerank_query
    hyde = HyDEGeneration(hyde_paragraph=text, rerank_query=rerank, by=asked.model)
    return plan.model_copy(update={"hyde": hyde, "models": {**plan.models, "hyde": asked.model}})
