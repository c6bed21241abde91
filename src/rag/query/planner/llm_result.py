"""What a model makes of a query: what it means, in other words, in parts, and which names."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple, Self, get_args

from pydantic import BaseModel, Field

from rag.query.llm import line_in, object_in
from rag.query.planner.plan import Kind, Named, TimeWindow, window_of
from rag.text.messages import brief, without_halves


class _Label(StrEnum):
    """What a model may call something."""

    @classmethod
    def of(cls, said: Any) -> Self:
        """Return the label that a model wrote, in any spelling; `unknown` for what is none."""
        text = str(said)[:40].lower().replace("-", " ").replace("_", " ")
        wanted = "_".join(text.split())
        return next((label for label in cls if label.value == wanted), cls("unknown"))


class QueryType(_Label):
    """What kind of answer a query wants."""

    LOOKUP = "lookup"
    LISTING = "listing"
    HOW_TO = "how_to"
    OVERVIEW = "overview"
    COMPARISON = "comparison"
    TIMELINE = "timeline"
    SIMILAR = "similar"
    UNKNOWN = "unknown"


class QueryPurpose(_Label):
    """What the notes are wanted for: to open them, to answer from them, to look around in a
    subject, or to look back at a time."""

    FIND = "find"
    ANSWER = "answer"
    EXPLORE = "explore"
    REVIEW = "review"
    UNKNOWN = "unknown"


class QueryTransformationUnit(BaseModel):
    """One thing that a query asks for.

    :param confidence: from 0 to 1.
    """

    query: str
    query_type: QueryType = QueryType.UNKNOWN
    intent: QueryPurpose = QueryPurpose.UNKNOWN
    confidence: float = Field(default=0.0, ge=0, le=1)


class QueryTransformationResult(BaseModel):
    """What a model made of a query; the query itself where it made nothing, or was not sure.

    :param confidence: the model's, from 0 to 1; 0 without an answer.
    :param units: the things that the query asks for, if it asks for several.
    :param event_keyword: its subject in few words.
    :param matches: which of its words mean which names of the index.
    :param time_window: the days that it speaks of.
    :param metadata: `raw_responses` (what was understood of each reply, with redacted inputs of
        tools; word for word with `raw_replies`), `final` (the answer as it was understood),
        `tool_calls` (with redacted inputs), `iterations` (how often tools were used), `model`, and
        `fallback` (why the query stayed as it is; empty where it did not).
    """

    original_query: str
    transformed_query: str
    confidence: float = Field(default=0.0, ge=0, le=1)
    units: list[QueryTransformationUnit] = Field(default_factory=list)
    query_type: QueryType = QueryType.UNKNOWN
    intent: QueryPurpose = QueryPurpose.UNKNOWN
    reasoning: str = ""
    event_keyword: str = ""
    rerank_query: str = ""
    matches: list[Named] = Field(default_factory=list)
    time_window: TimeWindow | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def fallback(self) -> str:
        """Why the query stayed as it is; empty where a model transformed it."""
        return str(self.metadata.get("fallback", ""))


_MOST_UNITS = 5
_MOST_MATCHES = 20
_MOST_ITEMS = 50  # of a list or mapping that is kept
_LONGEST_TEXT = 500  # characters of a text that is kept
_LONGEST_NAME = 100
_DEEPEST = 5
_ANSWERS = {"transformed_query", "query", "units", "matches", "time_window", "event_keyword"}
# The keys of an answer, and of what is in it, that anything reads.
_KNOWN = _ANSWERS | {
    *("confidence", "query_type", "intent", "reasoning", "logical_reasoning", "rerank_query"),
    *("text", "words", "kind", "name", "first", "last"),
}
_LEVELS = {
    **dict.fromkeys(("certain", "very high", "確実", "とても高い"), 0.95),
    **dict.fromkeys(("high", "高い", "高"), 0.9),
    **dict.fromkeys(("medium", "moderate", "中", "中程度", "普通"), 0.6),
    **dict.fromkeys(("low", "低い", "低"), 0.3),
}
_NUMBER = re.compile(r"\d{1,3}(?:\.\d{1,6})?|\.\d{1,6}", re.ASCII)


class ToolUse(NamedTuple):
    """A model wants to use a tool."""

    tool: str
    arguments: Any


class Final(NamedTuple):
    """A model answers."""

    payload: dict[str, Any]


def action_in(reply: str, tools: Collection[str], without: str = "") -> ToolUse | Final | None:
    """Return what a reply wants, `None` where that cannot be made out.

    Small models leave out `action`, put the tool's name in its place, call it `name`, or write the
    arguments as a text: all of it is understood.

    :param without: the code of the prompt; a reply that holds it is an echo, and no reply.
    """
    said = object_in(reply, without=without)
    inner = next((v for v in said.values() if isinstance(v, dict) and "action" in v), None)
    said = inner if inner is not None and "action" not in said else said
    action = said.get("action")
    named = [said.get(key) for key in ("tool", "action", "name", "tool_name")]
    known = next((name for name in named if isinstance(name, str) and name in tools), None)
    if action == "tool" or (known and action != "final"):
        first = next((name for name in named if isinstance(name, str) and name != "tool"), "")
        return ToolUse(known or first, _arguments(said))
    for key in ("final", "answer", "result"):
        if isinstance(said.get(key), dict):
            said = said[key]
    return Final(_kept(said)) if _ANSWERS & said.keys() else None


def answer_of(value: Any) -> Any:
    """Return an answer with the keys alone that are read of it, at any depth."""
    if isinstance(value, dict):
        return {key: answer_of(inner) for key, inner in value.items() if key in _KNOWN}
    return [answer_of(inner) for inner in value] if isinstance(value, list) else value


def _arguments(said: dict[str, Any]) -> Any:
    given: Any = next(
        (said[k] for k in ("arguments", "args", "parameters", "input") if k in said), {}
    )
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given


def _kept(value: Any, depth: int = _DEEPEST) -> Any:
    """Return decoded JSON without what would make its record endless or no JSON."""
    if isinstance(value, str):
        return without_halves(value[:_LONGEST_TEXT])
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else None
    if not depth:
        return None
    if isinstance(value, list):
        return [_kept(item, depth - 1) for item in value[:_MOST_ITEMS]]
    if isinstance(value, dict):
        items = list(value.items())[:_MOST_ITEMS]
        return {_kept(key): _kept(item, depth - 1) for key, item in items}
    return None


def result_of(query: str, payload: dict[str, Any], today: date) -> QueryTransformationResult | None:
    """Return an answer as far as it can be understood; of the rest nothing counts. One without a
    query is none.
    """
    given = payload.get("transformed_query", payload.get("query"))
    transformed = line_in(given, max(_LONGEST_TEXT, 2 * len(query)))
    if not transformed:
        return None
    return QueryTransformationResult(
        original_query=query,
        transformed_query=transformed,
        confidence=confidence_of(payload.get("confidence")),
        units=_units(payload.get("units")),
        query_type=QueryType.of(payload.get("query_type")),
        intent=QueryPurpose.of(payload.get("intent")),
        reasoning=_sentence(payload.get("reasoning", payload.get("logical_reasoning"))),
        event_keyword=line_in(payload.get("event_keyword"), _LONGEST_NAME),
        rerank_query=line_in(payload.get("rerank_query")),
        matches=_matches(payload.get("matches")),
        time_window=window_of(payload.get("time_window"), today),
    )


def confidence_of(given: Any) -> float:
    """Return a confidence from 0 to 1 out of what a model calls so: .8, "80 %", 80, "high"; 0 for
    anything else."""
    if isinstance(given, bool):
        return 0.0
    if isinstance(given, str):
        text = given.strip().lower()
        if text in _LEVELS:
            return _LEVELS[text]
        number = text.removesuffix("%").removesuffix("％").strip()
        if not _NUMBER.fullmatch(number):
            return 0.0
        value = float(number)
        return confidence_of(value / 100 if text != number and value <= 1 else value)
    if not isinstance(given, (int, float)) or not 0 <= given <= 100:
        return 0.0
    return float(given if given <= 1 else given / 100)


def _sentence(given: Any) -> str:
    return brief(given[:_LONGEST_TEXT], 300) if isinstance(given, str) else ""


def _listed(given: Any) -> list[Any]:
    if isinstance(given, list):
        return given
    return [given] if isinstance(given, (dict, str)) else []


def _units(given: Any) -> list[QueryTransformationUnit]:
    units = []
    for item in _listed(given):
        unit = item if isinstance(item, dict) else {"query": item}
        if text := line_in(unit.get("query", unit.get("text"))):
            units.append(
                QueryTransformationUnit(
                    query=text,
                    query_type=QueryType.of(unit.get("query_type")),
                    intent=QueryPurpose.of(unit.get("intent")),
                    confidence=confidence_of(unit.get("confidence")),
                )
            )
    return list({unit.query: unit for unit in units}.values())[:_MOST_UNITS]


def _matches(given: Any) -> list[Named]:
    matches = []
    for item in _listed(given):
        if isinstance(item, dict) and item.get("kind") in get_args(Kind):
            words, name = (_sentence(item.get(key))[:_LONGEST_NAME] for key in ("words", "name"))
            if words and name:
                matches.append(Named(kind=item["kind"], words=words, name=name))
    return matches[:_MOST_MATCHES]
