"""A model plans a query, with tools, in a bounded loop.

    transformer = QueryTransformerFactory.create_from_config({"mode": "conservative"}, generator)
    result = transformer.transform("k8s roll backs", catalogue)

It works with any Haystack chat generator: a tool is asked for, and an answer given, as a JSON
object in the text of a reply. Whatever the model does, there is a result; the worst is the query
as it was, with confidence 0.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, NamedTuple, Self, get_args

from haystack.tools.tool import Tool
from pydantic import BaseModel, BeforeValidator, Field

from rag.config import PLANNER_MODES, PlannerConfig
from rag.query.llm import build_prompt, line_in, object_in
from rag.query.models import QueryBundle, as_bundle
from rag.query.planner.names import Catalogue, StaticCatalogue, best_matches, names_by_kind
from rag.query.planner.plan import Kind, Named, TimeWindow, window_of
from rag.query.planner.stages import NO_MODEL, LiveAsker
from rag.query.planner.tools import ToolBox, plugin_tools, similarity_tool
from rag.text.messages import brief, plural, without_halves
from rag.text.scripts import is_japanese
from rag.text.tokenizer import has_words

_log = logging.getLogger(__name__)
_MOST_UNITS = 5
_MOST_MATCHES = _MOST_OPEN = 20
_LONGEST_TEXT = 500  # characters
_LONGEST_NAME = 100
_LONGEST_COMPARED = 200  # characters of a query that names are compared with


class _Label(StrEnum):
    """What a model may call something; each has a meaning in English and Japanese."""

    english: str
    japanese: str

    def __new__(cls, value: str, english: str, japanese: str) -> Self:
        label = str.__new__(cls, value)
        label._value_, label.english, label.japanese = value, english, japanese
        return label

    @classmethod
    def of(cls, reply: Any) -> Self:
        """Return the label that a model wrote, in any spelling; `unknown` for what is none."""
        wanted = "_".join(str(reply)[:40].lower().replace("-", " ").replace("_", " ").split())
        return next((label for label in cls if label.value == wanted), cls["UNKNOWN"])


class QueryType(_Label):
    """What kind of answer a query wants."""

    LOOKUP = "lookup", "one fact or one note", "一つの事実、または一つのノート"
    LISTING = "listing", "all notes of a kind", "ある種類のノートすべて"
    HOW_TO = "how_to", "how something is done", "やり方"
    OVERVIEW = "overview", "a subject as a whole", "ある主題の全体"
    COMPARISON = "comparison", "things set against each other", "比べること"
    TIMELINE = "timeline", "what happened when", "いつ何が起きたか"
    SIMILAR = "similar", "notes like something", "何かに似たノート"
    UNKNOWN = "unknown", "anything else", "それ以外"


class QueryPurpose(_Label):
    """What the notes are wanted for."""

    FIND = "find", "the notes are to be opened", "ノートを開きたい"
    ANSWER = "answer", "a question is to be answered from them", "質問の答えがほしい"
    EXPLORE = "explore", "a look around in a subject", "ある主題を見て回りたい"
    REVIEW = "review", "a look back at a time", "ある時期を振り返りたい"
    UNKNOWN = "unknown", "anything else", "それ以外"


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
Type = Annotated[QueryType, BeforeValidator(QueryType.of)]
Purpose = Annotated[QueryPurpose, BeforeValidator(QueryPurpose.of)]


class QueryTransformationUnit(BaseModel):
    """One thing that a query asks for; confidence from 0 to 1."""

    query: Line = ""
    query_type: Type = QueryType.UNKNOWN
    intent: Purpose = QueryPurpose.UNKNOWN
    confidence: Confidence = 0.0


class QueryTransformationResult(BaseModel):
    """What a model made of a query; the query itself where it made nothing, or was not sure. What
    of a reply cannot be understood counts as not said.

    :param confidence: the model's, from 0 to 1; 0 without an answer.
    :param units: the things that the query asks for, if it asks for several.
    :param matches: which of its words mean which names of the index.
    :param metadata: `raw_responses` (what was understood of each reply, with redacted inputs of
        tools; word for word with `raw_replies`), `final` (the answer as it was understood),
        `tool_calls` (with redacted inputs), `iterations` (how often tools were used), `model`, and
        `fallback` (why the query stayed as it is; empty where it did not).
    """

    original_query: str
    transformed_query: str
    confidence: Confidence = 0.0
    units: Annotated[list[QueryTransformationUnit], BeforeValidator(_units)] = []
    query_type: Type = QueryType.UNKNOWN
    intent: Purpose = QueryPurpose.UNKNOWN
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
    known = next((name for name in names if isinstance(name, str) and name in tools), None)
    if reply.get("action") != "tool" and (known is None or reply.get("action") == "final"):
        return None
    arguments = reply.get("arguments", reply.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = object_in(arguments) or arguments
    return ToolUse(known or str(reply.get("tool", "")), arguments)


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
    text = {"type": "string"}

    def record(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "required": list(required)}

    def items(of: dict[str, Any], most: int) -> dict[str, Any]:
        return {"type": "array", "items": of, "maxItems": most}

    labels = {
        "query_type": {**text, "enum": list(QueryType)},
        "intent": {**text, "enum": list(QueryPurpose)},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }
    kind = {**text, "enum": list(get_args(Kind))}
    match = record(["words", "kind", "name"], words=text, kind=kind, name=text)
    use = {"tool": {**text, "enum": list(tools)}, "arguments": {"type": "object"}} if tools else {}
    return record(
        ["action"] if tools else ["action", "transformed_query", "confidence"],
        action={**text, "enum": ["final", "tool"] if tools else ["final"]},
        **use,
        transformed_query=text,
        **labels,
        units=items(record(["query"], query=text, **labels), _MOST_UNITS),
        matches=items(match, _MOST_MATCHES),
        time_window=record(first=text, last=text),
        event_keyword=text,
        rerank_query=text,
        reasoning=text,
    )


class Mode(NamedTuple):
    """How far a model is trusted: what it must be sure of, and how often it may use a tool."""

    confidence_threshold: float
    max_tool_iterations: int


MODES = dict(zip(PLANNER_MODES, (Mode(0.7, 2), Mode(0.9, 1), Mode(0.5, 3)), strict=True))


class QueryTransformer:
    """Let a model say what a query means; without a generator every query stays as it is.

    :param mode: one of `MODES`, which says how sure an answer must be to count, and how often a
        tool may be used, where `confidence_threshold` is `None` and `max_tool_iterations` below 0.
    :param max_candidates: the most matches of a tool, and names of a kind in a prompt.
    :param tools: further tools, beside `rapidfuzz_similarity` and those of plug-ins.
    :param timeout: seconds for one reply.
    :param raw_replies: keep replies word for word in the result's `raw_responses`; otherwise what
        was understood of them, with redacted arguments of tools.
    :raises ValueError: for an unknown mode, and numbers out of range.
    """

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
        threshold, uses = MODES[mode]
        threshold = threshold if confidence_threshold is None else confidence_threshold
        if not 0 <= threshold <= 1:
            raise ValueError(f"confidence_threshold must be within 0 and 1: {threshold}")
        if max_candidates < 1:
            raise ValueError(f"max_candidates must be at least 1, not {max_candidates}")
        self.generator, self.mode, self.timeout = generator, mode, timeout
        self.confidence_threshold = threshold
        self.max_tool_iterations = uses if max_tool_iterations < 0 else max_tool_iterations
        self.max_candidates, self.tools, self.raw_replies = max_candidates, list(tools), raw_replies

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

        :param catalogue: the names that the query may mean; without it there are none.
        :param open_slots: words of the query that ask for a filter which nobody could resolve.
        :param time_slot: words of the query that speak of an unknown time.
        :param asker: asks the model of the stage `metadata`, and keeps the trace; without it the
            generator is asked.
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
        uses, said = record["iterations"], record["fallback"] or f"reasoning: {result.reasoning}"
        _log.debug("%d uses of tools, confidence %g, %s", uses, confidence, said)
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
        """Return the model's answer, or why there is none: prompt, reply, tool, prompt with what
        the tool said, ..."""
        plugged, failures = plugin_tools(catalogue)
        box = ToolBox([similarity_tool(catalogue, self.max_candidates), *self.tools, *plugged])
        if failures:
            record["unusable_tools"] = failures
        names, japanese = names_by_kind(catalogue), is_japanese(query)
        words = " ".join([query[:_LONGEST_COMPARED], *(slot["words"] for slot in wanted)])
        most = self.max_candidates
        best = {kind: best_matches(words, of, most, "WRatio") for kind, of in names.items()}
        shown = {f"{kind}s": [n[:_LONGEST_NAME] for n, _ in near] for kind, near in best.items()}
        as_json = partial(json.dumps, ensure_ascii=False)
        rules = {
            "threshold": f"{self.confidence_threshold:g}",
            "types": _listed(QueryType, japanese),
            "intents": _listed(QueryPurpose, japanese),
            "tools": box.described(),
            "today": today.isoformat(),
            "counts": ", ".join(plural(len(of_kind), kind) for kind, of_kind in names.items()),
        }
        data = {"names": without_halves(as_json(shown)), "open": without_halves(as_json(wanted))}
        history: list[str] = []
        for left in range(self.max_tool_iterations, -1, -1):
            rules["left"] = _uses_left(left, japanese)
            told = "\n".join(history) or "-"
            prompt = build_prompt("query_transformation", query, rules, **data, history=told)
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


def _listed(labels: type[_Label], japanese: bool) -> str:
    lines = ((label, label.japanese if japanese else label.english) for label in labels)
    return "\n".join(f"- {label.value}: {meaning}" for label, meaning in lines)


def _uses_left(left: int, japanese: bool) -> str:
    if japanese:
        more = f"道具はあと {left} 回使えます。そのあとは最終の答えだけが有効です。"
        return more if left else "道具はもう使えません。最終の答えだけが有効です。"
    more = f"Uses of tools left: {left}. After that only a final answer counts."
    return more if left else "You have used up your tools: only a final answer counts now."


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

        :param config: the settings `[planner]`, a mapping of some of them, or nothing.
        :raises ValueError: for an unknown mode, and for numbers out of range.
        :raises TypeError: for an unknown setting.
        """
        if not isinstance(config, PlannerConfig):
            given = {key: value for key, value in (config or {}).items() if value is not None}
            config = PlannerConfig(**given)
        threshold = config.confidence_threshold
        names = ("mode", "max_tool_iterations", "max_candidates", "raw_replies")
        return QueryTransformer(
            generator,
            confidence_threshold=None if threshold < 0 else threshold,
            tools=tools,
            timeout=timeout,
            **{name: getattr(config, name) for name in names},
        )
