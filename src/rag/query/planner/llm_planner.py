"""A model plans a query, with tools, in a bounded loop.

    transformer = QueryTransformerFactory.create_from_config({"mode": "conservative"}, generator)
    result = transformer.transform("k8s roll backs", catalogue)

It works with any Haystack chat generator: a tool is asked for, and an answer given, as a JSON
object in the text of a reply (`rag.query.planner.llm_result`). Whatever the model does, there is
a result; the worst is the query as it was, with confidence 0.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.tools import deserialize_tools_or_toolset_inplace, serialize_tools_or_toolset
from haystack.tools.tool import Tool

from rag.config import PLANNER_MODES, PlannerConfig
from rag.query.models import QueryBundle, as_bundle
from rag.query.planner.audit_log import Asker, LiveAsker
from rag.query.planner.catalog import Catalogue, StaticCatalogue
from rag.query.planner.llm_prompt import Known, answer_schema, planning_prompt
from rag.query.planner.llm_result import (
    Final,
    QueryTransformationResult,
    ToolUse,
    action_in,
    answer_of,
    result_of,
)
from rag.query.planner.plan import Named
from rag.query.planner.tools import ToolBox, plugin_tools, similarity_tool
from rag.query.serialization import QueryComponent, to_serialised, with_callables
from rag.query.transforms.prompts import Prompt
from rag.support.settings_repr import with_settings_repr
from rag.text.messages import without_halves
from rag.text.tokenizer import has_words

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mode:
    """How far a model is trusted: what it must be sure of, and how often it may use a tool."""

    confidence_threshold: float
    max_tool_iterations: int


MODES = dict(zip(PLANNER_MODES, (Mode(0.7, 2), Mode(0.9, 1), Mode(0.5, 3)), strict=True))


@with_settings_repr
@component
class QueryTransformer(QueryComponent):
    """Let a model say what a query means. (The protocol of transformers in a pipeline of system 1
    has the same name, in `rag.query.protocols`.)

    :param generator: a Haystack chat generator; without one every query stays as it is.
    :param mode: one of `MODES`.
    :param confidence_threshold: how sure an answer must be to count; `None`: as the mode says.
    :param max_tool_iterations: how often a tool may be used; below 0: as the mode says.
    :param max_candidates: the most matches of a tool, and names of a kind in a prompt.
    :param tools: further tools, beside `rapidfuzz_similarity` and those of plug-ins.
    :param timeout: seconds for one reply.
    :param raw_replies: keep replies word for word in the result's `raw_responses`; otherwise what
        was understood of them, with redacted arguments of tools.
    :raises ValueError: for an unknown mode, and numbers out of range.
    """

    _callables = ("generator",)

    def __init__(
        self,
        generator: Any | None = None,
        mode: str = "default",
        confidence_threshold: float | None = None,
        max_tool_iterations: int = -1,
        max_candidates: int = 8,
        tools: Sequence[Tool] = (),
        timeout: float = 30.0,
        raw_replies: bool = False,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        if confidence_threshold is None:
            confidence_threshold = MODES[mode].confidence_threshold
        if not 0 <= confidence_threshold <= 1:
            raise ValueError(f"confidence_threshold must be within 0 and 1: {confidence_threshold}")
        if max_candidates < 1:
            raise ValueError(f"max_candidates must be at least 1, not {max_candidates}")
        self.generator, self.mode, self.timeout = generator, mode, timeout
        self.confidence_threshold = confidence_threshold
        spent = max_tool_iterations < 0
        self.max_tool_iterations = MODES[mode].max_tool_iterations if spent else max_tool_iterations
        self.max_candidates, self.tools = max_candidates, list(tools)
        self.raw_replies = raw_replies
        self._made: tuple[Catalogue, ToolBox, list[str]] | None = None

    def transform(
        self,
        query: QueryBundle | str,
        catalogue: Catalogue | None = None,
        *,
        open_slots: Sequence[Named] = (),
        time_slot: str = "",
        today: date | None = None,
        asker: Asker | None = None,
    ) -> QueryTransformationResult:
        """Return what the model makes of a query; nothing is raised because of the model.

        :param catalogue: the names that the query may mean; without it there are none.
        :param open_slots: words of the query that ask for a filter which nobody could resolve.
        :param time_slot: words of the query that speak of an unknown time.
        :param asker: asks the model of the stage `metadata`, and keeps the trace; without it the
            generator is asked.
        """
        text = without_halves(as_bundle(query).query_str)
        catalogue = catalogue or StaticCatalogue()
        loop = _Loop(self, text, catalogue, today or date.today())
        asker = asker or LiveAsker({"metadata": self.generator}, self.timeout)
        result = loop.run(asker, [*open_slots], time_slot)
        _log.debug(
            "planned by %s in the mode %s: %d uses of tools, confidence %g, %s",
            result.metadata["model"] or "no model",
            self.mode,
            result.metadata["iterations"],
            result.confidence,
            result.fallback or f"reasoning: {result.reasoning or 'none'}",
        )
        return result

    def tools_for(self, catalogue: Catalogue) -> tuple[ToolBox, list[str]]:
        """Return all tools for a catalogue, and why there are not more of them; those for the same
        one as before are not made again."""
        if not self._made or self._made[0] is not catalogue:
            brought, failures = plugin_tools(catalogue)
            mine = similarity_tool(catalogue, self.max_candidates)
            self._made = catalogue, ToolBox([mine, *self.tools, *brought]), failures
        _, box, failures = self._made
        return box, failures

    @component.output_types(result=QueryTransformationResult, queries=list[QueryBundle])
    def run(
        self, query: QueryBundle | str, catalogue: Catalogue | None = None
    ) -> dict[str, QueryTransformationResult | list[QueryBundle]]:
        """Return the `result`, and as `queries` the transformed query and its units."""
        result = self.transform(query, catalogue)
        texts = dict.fromkeys([result.transformed_query, *(unit.query for unit in result.units)])
        origin = {"original_query": result.original_query, "transform": "plan"}
        queries = [QueryBundle(query_str=text, metadata=origin) for text in texts]
        return {"result": result, "queries": queries}

    def to_dict(self) -> dict[str, Any]:
        """Serialise the transformer with its generator and tools."""
        return default_to_dict(
            self,
            generator=self.generator and to_serialised(self.generator),
            mode=self.mode,
            confidence_threshold=self.confidence_threshold,
            max_tool_iterations=self.max_tool_iterations,
            max_candidates=self.max_candidates,
            tools=serialize_tools_or_toolset(self.tools),
            timeout=self.timeout,
            raw_replies=self.raw_replies,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the transformer from what `to_dict` gave."""
        data = with_callables(data, *cls._callables)
        deserialize_tools_or_toolset_inplace(data["init_parameters"], key="tools")
        return default_from_dict(cls, data)


class QueryTransformerFactory:
    """Makes transformers of settings."""

    @staticmethod
    def create_from_config(
        config: PlannerConfig | Mapping[str, Any] | None = None,
        generator: Any | None = None,
        *,
        tools: Sequence[Tool] = (),
        timeout: float = 30.0,
    ) -> QueryTransformer:
        """Make a transformer.

        :param config: the settings `[planner]`, a mapping with any of `mode`,
            `confidence_threshold`, `max_tool_iterations` and `max_candidates`, or nothing.
        :raises ValueError: for an unknown mode or name, and for what is no number or out of range.
        """
        default = PlannerConfig()
        given = config if isinstance(config, Mapping) else vars(config or default)
        if unknown := sorted(map(str, given.keys() - vars(default).keys())):
            raise ValueError(f"unknown: {', '.join(unknown)}")
        threshold = _number(given, "confidence_threshold", default.confidence_threshold)
        return QueryTransformer(
            generator,
            mode=str(given.get("mode") or default.mode),
            confidence_threshold=None if threshold == default.confidence_threshold else threshold,
            max_tool_iterations=_whole(given, "max_tool_iterations", -1),
            max_candidates=_whole(given, "max_candidates", default.max_candidates),
            tools=tools,
            timeout=timeout,
            raw_replies=bool(given.get("raw_replies")),
        )


def _number(given: Mapping[str, Any], name: str, default: float) -> float:
    value = given.get(name)
    if value is None:
        return float(default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number, not {value!r}")
    return float(value)


def _whole(given: Mapping[str, Any], name: str, default: int) -> int:
    value = _number(given, name, default)
    if not value.is_integer():
        raise ValueError(f"{name} must be a whole number, not {value:g}")
    return int(value)


@dataclass
class _Loop:
    """One query on its way: prompt, reply, tool, prompt with what the tool said, ..."""

    settings: QueryTransformer
    query: str
    catalogue: Catalogue
    today: date
    told: list[str] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)

    def run(self, asker: Asker, slots: list[Named], time_slot: str) -> QueryTransformationResult:
        self.record = {"raw_responses": [], "final": None, "tool_calls": [], "iterations": 0}
        self.record |= {"model": "", "fallback": ""}
        if not has_words(self.query):
            return self._unchanged("the query holds no word")
        if not asker.has("metadata"):
            return self._unchanged("there is no model")
        box, failures = self.settings.tools_for(self.catalogue)
        if failures:
            self.record["unusable_tools"] = failures
        known = Known.of(self.query, slots, self.catalogue, self.settings.max_candidates)
        for left in range(self.settings.max_tool_iterations, -1, -1):
            prompt = self._prompt(box, known, slots, time_slot, left)
            asked = asker.ask("metadata", prompt, answer_schema(box.names if left else ()))
            self.record["model"] = asked.model
            if asked.failure:
                return self._unchanged(asked.failure)
            action = action_in(asked.reply, box.names, prompt.code)
            self._keep(asker, box, action, asked.reply)
            if not isinstance(action, ToolUse):
                return self._answered(action)
            if left:
                self._use(box, action, asker)
        return self._unchanged(f"{self.record['model']} gave no answer, but asked for tools")

    def _prompt(
        self, box: ToolBox, known: Known, slots: list[Named], time_slot: str, left: int
    ) -> Prompt:
        return planning_prompt(
            self.query,
            known,
            slots,
            time_slot,
            today=self.today,
            tools=box.described(),
            told=self.told,
            left=left,
            threshold=self.settings.confidence_threshold,
        )

    def _keep(self, asker: Asker, box: ToolBox, action: ToolUse | Final | None, reply: str) -> None:
        """Keep a reply in the record and in the trace, as far as the settings let them."""
        kept: dict[str, Any] = {}
        if isinstance(action, ToolUse):
            call = box.redacted(action.tool, action.arguments)
            kept = {"action": "tool", "tool": call.tool, "arguments": call.arguments}
        elif action:
            kept = {"action": "final", **answer_of(action.payload)}
        understood = json.dumps(kept, ensure_ascii=False) if kept else ""
        asker.trace.keep(understood)
        self.record["raw_responses"].append(reply if self.settings.raw_replies else understood)

    def _use(self, box: ToolBox, action: ToolUse, asker: Asker) -> None:
        outcome = asker.call(partial(box.use, action.tool, action.arguments))
        self.told.append(outcome.told)
        self.record["tool_calls"].append(outcome.call.model_dump())
        self.record["iterations"] += 1

    def _answered(self, action: Final | None) -> QueryTransformationResult:
        if action is None:
            return self._unchanged(f"{self.record['model']} gave no answer")
        self.record["final"] = answer_of(action.payload)
        result = result_of(self.query, action.payload, self.today)
        if result is None:
            return self._unchanged(f"{self.record['model']} gave no query in its answer")
        threshold = self.settings.confidence_threshold
        if result.confidence < threshold:
            sure = f"{result.confidence:g} sure, and {threshold:g} is wanted"
            return self._unchanged(f"{self.record['model']} is only {sure}", result.confidence)
        return result.model_copy(update={"metadata": self.record})

    def _unchanged(self, why: str, confidence: float = 0.0) -> QueryTransformationResult:
        self.record["fallback"] = why
        return QueryTransformationResult(
            original_query=self.query,
            transformed_query=self.query,
            confidence=confidence,
            metadata=self.record,
        )
