"""A model plans a query, with tools, in a bounded loop.

    transformer = QueryTransformerFactory.create_from_config({"mode": "conservative"}, generator)
    result = transformer.transform("k8s roll backs", catalogue)

It works with any Haystack chat generator: a tool is asked for, and an answer given, as a JSON
object in the text of a reply. Whatever the model does, there is a result; the worst is the query
as it was, with confidence 0. Tools are Haystack tools; others may be given beside ours.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, NamedTuple, Self, get_args

from haystack.tools.tool import Tool
from pydantic import BaseModel, BeforeValidator, Field

from rag.config import PLANNER_MODES, PlannerConfig
from rag.query.llm import (
    NO_MODEL,
    TEXT,
    LiveAsker,
    Outcome,
    TimeoutExpired,
    ToolCall,
    build_prompt,
    line_in,
    object_in,
    schema_of,
    within,
)
from rag.query.models import QueryBundle, as_bundle
from rag.query.planner.names import SCORERS, Catalogue, StaticCatalogue, best_matches, names_by_kind
from rag.query.planner.plan import Kind, Named, TimeWindow, window_of
from rag.text.messages import brief, plural, without_halves
from rag.text.tokenizer import has_words

_log = logging.getLogger(__name__)
_MOST_UNITS = 5
_MOST_MATCHES = _MOST_OPEN = 20
_LONGEST_TEXT = 500  # characters
_LONGEST_NAME = 100
_LONGEST_COMPARED = 200  # characters of words that are compared


class _Label(StrEnum):
    """A label that a model wrote, in any spelling; what is none is `unknown`."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        wanted = "_".join(str(value)[:40].lower().replace("-", " ").replace("_", " ").split())
        return next((label for label in cls if label.value == wanted), cls["UNKNOWN"])


class QueryType(_Label):
    """What kind of answer a query wants; the prompt says what each means."""

    LOOKUP = "lookup"
    LISTING = "listing"
    HOW_TO = "how_to"
    OVERVIEW = "overview"
    COMPARISON = "comparison"
    TIMELINE = "timeline"
    SIMILAR = "similar"
    UNKNOWN = "unknown"


class QueryPurpose(_Label):
    """What the notes are wanted for; the prompt says what each means."""

    FIND = "find"
    ANSWER = "answer"
    EXPLORE = "explore"
    REVIEW = "review"
    UNKNOWN = "unknown"


def confidence_of(reply: Any) -> float:
    """Return a confidence from 0 to 1 out of what a model calls so: .8, "80 %", 80; 0 for anything
    else."""
    text = str(reply)[:20].strip()
    number = text.rstrip("%％ ")
    try:
        value = float(number)
    except ValueError:
        return 0.0
    value = value / 100 if number != text or value > 1 else value
    return value if 0 <= value <= 1 else 0.0


def _sentence(reply: Any) -> str:
    return brief(reply[:_LONGEST_TEXT], 300) if isinstance(reply, str) else ""


def _as_list(reply: Any) -> list[Any]:
    return reply if isinstance(reply, list) else [reply] if reply else []


def _units(reply: Any) -> list[Any]:
    items = [i if isinstance(i, dict | BaseModel) else {"query": i} for i in _as_list(reply)]
    units = [QueryTransformationUnit.model_validate(item) for item in items]
    return list({unit.query: unit for unit in units if unit.query}.values())[:_MOST_UNITS]


def _matches(reply: Any) -> list[Named]:
    matches = []
    for item in _as_list(reply):
        fields = vars(item) if isinstance(item, Named) else item
        if isinstance(fields, dict) and fields.get("kind") in get_args(Kind):
            words, name = (_sentence(fields.get(key))[:_LONGEST_NAME] for key in ("words", "name"))
            if words and name:
                matches.append(Named(kind=fields["kind"], words=words, name=name))
    return matches[:_MOST_MATCHES]


Line = Annotated[str, BeforeValidator(line_in)]
Confidence = Annotated[float, BeforeValidator(confidence_of), Field(ge=0, le=1)]


class QueryTransformationUnit(BaseModel):
    """One thing that a query asks for; confidence from 0 to 1."""

    query: Line = ""
    query_type: QueryType = QueryType.UNKNOWN
    intent: QueryPurpose = QueryPurpose.UNKNOWN
    confidence: Confidence = 0.0


class QueryTransformationResult(BaseModel):
    """What a model made of a query; the query itself where it made nothing, or was not sure. What
    of a reply cannot be understood counts as not said. `units` are the things that the query asks
    for, if several; `matches` says which of its words mean which names of the index.

    :ivar metadata: `raw_responses` and `tool_calls` (with redacted inputs, unless `raw_replies`),
        `final` (the answer as it was understood), `iterations` (uses of tools), `model`,
        `fallback`.
    """

    original_query: str
    transformed_query: str
    confidence: Confidence = 0.0
    units: Annotated[list[QueryTransformationUnit], BeforeValidator(_units)] = []
    query_type: QueryType = QueryType.UNKNOWN
    intent: QueryPurpose = QueryPurpose.UNKNOWN
    reasoning: Annotated[str, BeforeValidator(_sentence)] = ""
    event_keyword: Annotated[str, BeforeValidator(lambda v: line_in(v, _LONGEST_NAME))] = ""
    rerank_query: Line = ""
    matches: Annotated[list[Named], BeforeValidator(_matches)] = []
    time_window: TimeWindow | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def fallback(self) -> str:
        """Why the query stayed as it is; empty where a model transformed it."""
        return str(self.metadata.get("fallback", ""))


class ToolUse(NamedTuple):
    """A model wants to use a tool."""

    tool: str
    arguments: Any


def tool_use(reply: Mapping[str, Any], tools: Collection[str]) -> ToolUse | None:
    """Return the tool that a reply asks for, `None` where it asks for none.

    Small models leave out `action`, put the tool's name in its place, call it `name`, or write the
    arguments as a text.
    """
    names = [reply.get(key) for key in ("tool", "action", "name")]
    tool = next((name for name in names if isinstance(name, str) and name in tools), None)
    if reply.get("action") != "tool" and (tool is None or reply.get("action") == "final"):
        return None
    arguments = reply.get("arguments", reply.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = object_in(arguments) or arguments
    return ToolUse(tool or str(reply.get("tool", "")), arguments)


def result_of(
    query: str, reply: Mapping[str, Any], today: date
) -> QueryTransformationResult | None:
    """Return the answer in a reply as far as it can be understood; of the rest nothing counts. One
    without a query is none."""
    for key in ("final", "answer"):
        reply = reply[key] if isinstance(reply.get(key), dict) else reply
    wanted = reply.get("transformed_query", reply.get("query"))
    transformed = line_in(wanted, max(_LONGEST_TEXT, 2 * len(query)))
    if not transformed:
        return None
    window = window_of(reply.get("time_window"), today)
    own = {"original_query": query, "transformed_query": transformed, "time_window": window}
    return QueryTransformationResult.model_validate({**reply, **own, "metadata": {}})


def answer_schema(tools: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a reply; without tools it is an answer."""

    def items(of: dict[str, Any], most: int) -> dict[str, Any]:
        return {"type": "array", "items": of, "maxItems": most}

    labels = {
        "query_type": {**TEXT, "enum": list(QueryType)},
        "intent": {**TEXT, "enum": list(QueryPurpose)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }
    kind = {**TEXT, "enum": list(get_args(Kind))}
    match = schema_of("words", "kind", "name", words=TEXT, kind=kind, name=TEXT)
    use = {"tool": {**TEXT, "enum": list(tools)}, "arguments": {"type": "object"}} if tools else {}
    return schema_of(
        *(["action"] if tools else ["action", "transformed_query", "confidence"]),
        action={**TEXT, "enum": ["final", "tool"] if tools else ["final"]},
        **use,
        transformed_query=TEXT,
        **labels,
        units=items(schema_of("query", query=TEXT, **labels), _MOST_UNITS),
        matches=items(match, _MOST_MATCHES),
        time_window=schema_of(first=TEXT, last=TEXT),
        event_keyword=TEXT,
        rerank_query=TEXT,
        reasoning=TEXT,
    )


_LONGEST_RESULT = 4000  # characters that a model is told
_MOST_CHOICES = 1000

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "the words to compare"},
        "choices": {
            "type": "array",
            "items": {"type": "string"},
            "description": "what to compare them with; left out: all names of the index",
        },
        "limit": {"type": "integer", "description": "how many matches"},
        "scorer": {"type": "string", "enum": list(SCORERS)},
    },
    "required": ["query"],
}


def similarity_tool(catalogue: Catalogue, max_candidates: int = 8) -> Tool:
    """Return the tool `rapidfuzz_similarity(query, choices?, limit?, scorer?)`. It gives
    `{"engine", "matches": [{"value", "score"}]}`, scores from 0 to 100, the best first, at most
    `max_candidates`; without choices the names of the index, each with its `kind`: vault, tag,
    title (aliases and file names too) or field.
    """

    def rapidfuzz_similarity(
        query: str, choices: Any = None, limit: Any = None, scorer: Any = None
    ) -> dict[str, Any]:
        if not isinstance(query, str):
            raise TypeError("query must be a text")
        kinds: dict[str, str] = {}
        if not choices:
            for kind, names in reversed(names_by_kind(catalogue).items()):
                kinds |= {name[:_LONGEST_COMPARED]: kind for name in names}
        elif not isinstance(choices, list):
            raise TypeError("choices must be a list of texts")
        texts = list(kinds) or [
            str(choice)[:_LONGEST_COMPARED] for choice in choices[:_MOST_CHOICES]
        ]
        is_limit = isinstance(limit, int) and 0 < limit < max_candidates
        most = limit if is_limit else max_candidates
        similar = best_matches(query[:_LONGEST_COMPARED], texts, most, str(scorer or "WRatio"))
        matches = [
            {"value": value, "score": score} | ({"kind": kinds[value]} if value in kinds else {})
            for value, score in similar
        ]
        return {"engine": "rapidfuzz", "matches": matches}

    return Tool(
        "rapidfuzz_similarity",
        "Compares words with the names of the index, or with given choices, and tells the most "
        "alike: slips of the pen, other spellings, parts of names.",
        _PARAMETERS,
        rapidfuzz_similarity,
    )


class ToolBox:
    """Tools by name, of two of the same name the first; what fails is reported to the model, and
    nothing is raised."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in reversed([*tools])}
        self.names = list(self._tools)[::-1]

    def described(self) -> str:
        """Return the tools as a model is told of them, one a line."""
        tools = (self._tools[name] for name in self.names)
        return "\n".join(
            f"- {tool.name}: {tool.description} Arguments: "
            f"{json.dumps(tool.parameters.get('properties', {}), ensure_ascii=False)}"
            for tool in tools
        )

    def redacted(self, name: str, arguments: Any) -> ToolCall:
        """Return what a trace may keep of the use of a tool: how long texts are, how many a list
        holds. Names of arguments are the model's, so only those of the tool are kept."""
        tool = self._tools.get(name)
        if tool is None:
            return ToolCall(tool="unknown", failure="unknown tool")
        if not isinstance(arguments, dict):
            return ToolCall(tool=name, arguments={"arguments": _size(arguments)})
        own = tool.parameters.get("properties", {})
        kept = {key: _size(value) for key, value in arguments.items() if key in own}
        others = len(arguments) - len(kept)
        return ToolCall(tool=name, arguments=kept | ({"others": others} if others else {}))

    def use(self, name: str, arguments: Any, seconds: float = 30.0) -> Outcome:
        """Use a tool, for so many seconds at most."""
        tool, call = self._tools.get(name), self.redacted(name, arguments)
        result: Any = None
        why = ""
        if tool is None or tool.function is None:
            why = f"there is no such tool; there are: {', '.join(self.names)}"
        elif why := _misfit(tool, arguments):
            call.failure = "bad arguments"
        else:
            try:
                result = within(seconds, partial(tool.invoke, **arguments))
            except TimeoutExpired:
                call.failure, why = "timeout", f"it took longer than {seconds:g} s"
            except Exception as error:  # of somebody's tool, which may raise anything
                cause = error.__cause__ or error
                call.failure = type(cause).__name__
                why = brief(f"it failed: {cause or call.failure}")
        if isinstance(result, dict):
            call.engine = str(result.get("engine", ""))[:40]
            matches = result.get("matches")
            call.matches = len(matches) if isinstance(matches, Sequence) else 0
        outcome = {"error": why} if why else {"result": result}
        shown = json.dumps(arguments, ensure_ascii=False, default=str)[:_LONGEST_COMPARED]
        text = json.dumps({"tool": brief(name, 60), **outcome}, ensure_ascii=False, default=str)
        return Outcome(without_halves(f"{shown} -> {text[:_LONGEST_RESULT]}"), call)


def _size(value: Any) -> Any:
    if isinstance(value, str):
        return {"characters": len(value)}
    is_size = isinstance(value, dict) and [*value] in (["characters"], ["items"])
    if is_size and all(type(size) is int for size in value.values()):
        return value  # redacted before, as in a replay
    if isinstance(value, (list, dict)):
        return {"items": len(value)}
    return value if isinstance(value, int) else None


def _misfit(tool: Tool, arguments: Any) -> str:
    """Return why arguments are none for a tool, empty when they are some."""
    if not isinstance(arguments, dict):
        return "arguments must be a JSON object"
    assert tool.function is not None
    try:
        inspect.signature(tool.function).bind(**arguments)
    except TypeError as error:
        return brief(f"bad arguments: {error}")
    return ""


class Mode(NamedTuple):
    """How far a model is trusted: what it must be sure of, and how often it may use a tool."""

    confidence_threshold: float
    max_tool_iterations: int


MODES = dict(zip(PLANNER_MODES, (Mode(0.7, 2), Mode(0.9, 1), Mode(0.5, 3)), strict=True))


class QueryTransformer:
    """Let a model say what a query means; without a generator every query stays as it is.

    :param config: the settings `[planner]`; its mode stands for `confidence_threshold` and
        `max_tool_iterations` below 0.
    :param tools: beside `rapidfuzz_similarity`; `timeout`: seconds a reply.
    :raises ValueError: for an unknown mode, and numbers out of range.
    """

    def __init__(
        self,
        generator: Any | None = None,
        config: PlannerConfig | None = None,
        tools: Sequence[Tool] = (),
        timeout: float = 30.0,
    ) -> None:
        config = config or PlannerConfig()
        if config.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {config.mode!r}")
        if config.confidence_threshold > 1:
            raise ValueError(f"confidence_threshold above 1: {config.confidence_threshold}")
        if config.max_candidates < 1:
            raise ValueError(f"max_candidates must be at least 1, not {config.max_candidates}")
        threshold, uses = MODES[config.mode]
        if config.confidence_threshold >= 0:
            threshold = config.confidence_threshold
        if config.max_tool_iterations >= 0:
            uses = config.max_tool_iterations
        self.generator, self.tools, self.timeout = generator, list(tools), timeout
        self.confidence_threshold, self.max_tool_iterations = threshold, uses
        self.mode, self.max_candidates = config.mode, config.max_candidates
        self.raw_replies = config.raw_replies

    def transform(
        self,
        query: QueryBundle | str,
        catalogue: Catalogue | None = None,
        *,
        open_slots: Sequence[Named] = (),
        time_slot: str = "",
        today: date | None = None,
        asker: LiveAsker | None = None,
    ) -> QueryTransformationResult:
        """Return what the model makes of a query; nothing is raised because of the model.

        :param open_slots: words that ask for a filter which nobody could resolve.
        :param time_slot: words that speak of an unknown time.
        :param asker: asks the model of the stage `metadata`, and keeps the trace; else the
            generator is.
        """
        text = without_halves(as_bundle(query).query_str)
        catalogue, today = catalogue or StaticCatalogue(), today or date.today()
        asker = asker or LiveAsker({"metadata": self.generator}, self.timeout)
        record: dict[str, Any] = {"raw_responses": [], "final": None, "tool_calls": []}
        record |= {"iterations": 0, "model": "", "fallback": ""}
        result, why = None, NO_MODEL
        if not has_words(text):
            why = "the query holds no word"
        elif asker.has("metadata"):
            wanted = [slot.model_dump(include={"kind", "words"}) for slot in open_slots]
            wanted += [{"kind": "time", "words": time_slot}] if time_slot else []
            result, why = self._loop(text, catalogue, wanted[:_MOST_OPEN], today, asker, record)
        confidence = result.confidence if result else 0.0
        if result and confidence < self.confidence_threshold:
            sure = f"{confidence:g} sure, and {self.confidence_threshold:g} is wanted"
            result, why = None, f"{record['model']} is only {sure}"
        if result is None:
            record["fallback"] = why
            result = QueryTransformationResult(
                original_query=text, transformed_query=text, confidence=confidence
            )
        uses, outcome = record["iterations"], record["fallback"] or f"reasoning: {result.reasoning}"
        _log.debug("%d uses of tools, confidence %g, %s", uses, confidence, outcome)
        return result.model_copy(update={"metadata": record})

    def _loop(
        self,
        query: str,
        catalogue: Catalogue,
        wanted: list[dict[str, str]],
        today: date,
        asker: LiveAsker,
        record: dict[str, Any],
    ) -> tuple[QueryTransformationResult | None, str]:
        box = ToolBox([similarity_tool(catalogue, self.max_candidates), *self.tools])
        names = names_by_kind(catalogue)
        words = " ".join([query[:_LONGEST_COMPARED], *(slot["words"] for slot in wanted)])
        most = self.max_candidates
        best = {kind: best_matches(words, of, most, "WRatio") for kind, of in names.items()}
        shown = {f"{kind}s": [n[:_LONGEST_NAME] for n, _ in near] for kind, near in best.items()}
        as_json = partial(json.dumps, ensure_ascii=False)
        rules = {
            "threshold": f"{self.confidence_threshold:g}",
            "tools": box.described(),
            "today": today.isoformat(),
            "counts": ", ".join(plural(len(of_kind), kind) for kind, of_kind in names.items()),
        }
        data = {"names": without_halves(as_json(shown)), "open": without_halves(as_json(wanted))}
        history: list[str] = []
        for left in range(self.max_tool_iterations, -1, -1):
            rules["left"] = str(left)
            so_far = "\n".join(history) or "-"
            prompt = build_prompt("query_transformation", query, rules, **data, history=so_far)
            asked = asker.ask("metadata", prompt, answer_schema(box.names if left else ()))
            record["model"] = asked.model
            if asked.failure:
                return None, asked.failure
            reply = object_in(asked.reply, without=prompt.code)
            use, result, kept = tool_use(reply, box.names), None, dict[str, Any]()
            if use:
                call = box.redacted(*use)
                kept = {"action": "tool", "tool": call.tool, "arguments": call.arguments}
            elif result := result_of(query, reply, today):
                unsaid = {"original_query"}
                final = result.model_dump(mode="json", exclude_defaults=True, exclude=unsaid)
                record["final"], kept = final, {"action": "final", **final}
            understood = asker.trace.keep(kept)
            record["raw_responses"].append(asked.reply if self.raw_replies else understood)
            if not use:
                return result, f"{asked.model} gave no answer"
            if left:
                outcome = asker.call(partial(box.use, *use))
                history.append(outcome.told)
                record["tool_calls"].append(outcome.call.model_dump())
                record["iterations"] += 1
        return None, f"{record['model']} gave no answer, but asked for tools"


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
        """Make a transformer of the settings `[planner]`, of a mapping of some of them, or of none.

        :raises ValueError: for an unknown mode, and numbers out of range; `TypeError`: for an
            unknown setting.
        """
        if not isinstance(config, PlannerConfig):
            given = {key: value for key, value in (config or {}).items() if value is not None}
            config = PlannerConfig(**given)
        return QueryTransformer(generator, config, tools, timeout)
