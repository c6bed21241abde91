"""Calls of a model by Haystack's chat generators, what is read of its replies, and who answers the
prompts of a plan's stages."""

from __future__ import annotations

import contextvars
import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Literal, NamedTuple, TypeVar

from haystack.dataclasses import ChatMessage
from pydantic import BaseModel, Field
from pydantic_core import from_json

from rag.config import AUTO
from rag.exceptions import RAGError
from rag.query.planner.plan import FullTransformationResult, HyDEGeneration
from rag.query.syntax import plain_words
from rag.text.messages import brief, fenced, unused_code, without_controls, without_halves
from rag.text.scripts import is_japanese
from rag.text.tokenizer import has_words, name_key

T = TypeVar("T")


class Prompt(NamedTuple):
    """The rules, the message with the data in it, and the code around the data."""

    system: str
    user: str
    code: str


_LONGEST_SHOWN = 4000  # characters of a query that a model is shown


def build_prompt(name: str, query: str, rules: dict[str, str] | None = None, **data: str) -> Prompt:
    """Return what a model is asked, in the language of the query: a file of `templates` holds the
    rules, a line `=====`, and the message, in which `$name` stands for what is filled in.

    :param rules: what is filled in as it is.
    :param data: what comes from somebody else, as does the query: it stands between two lines with
        a code that none of it holds, so that "ignore the above" is something to search for.
    """
    shown = {"query": query[:_LONGEST_SHOWN], **data}
    code = unused_code(shown.values())
    values = {key: fenced(text, code) for key, text in shown.items()} | (rules or {})
    system, user = _template(name, "ja" if is_japanese(query) else "en")
    return Prompt(system.substitute(values).strip(), user.substitute(values).strip(), code)


@cache
def _template(name: str, language: str) -> tuple[Template, Template]:
    text = files(__package__).joinpath("templates", f"{name}.{language}.md").read_text("utf-8")
    system, _, user = text.partition("\n=====\n")
    return Template(system), Template(user)


TEXT: dict[str, Any] = {"type": "string"}


def schema_of(*required: str, **properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object."""
    return {"type": "object", "properties": properties, "required": [*required]}


class Asked(NamedTuple):
    """The reply of a model, or why there is none; and the model's name."""

    reply: str
    model: str
    failure: str = ""


def ask(generator: Any, prompt: Prompt, schema: dict[str, Any], seconds: float) -> Asked:
    """Return a generator's reply to a prompt; a failure of it is reported, not raised.

    :param generator: anything with the `run` of a Haystack chat generator.
    :param schema: of the reply; given to a `run` that takes a `response_format`.
    """
    messages = [ChatMessage.from_system(prompt.system), ChatMessage.from_user(prompt.user)]

    def run() -> Any:
        if hasattr(generator, "warm_up"):
            generator.warm_up()
        takes_schema = "response_format" in inspect.signature(generator.run).parameters
        more = {"response_format": schema} if takes_schema else {}
        return generator.run(messages=messages, **more)["replies"]

    name = name_of(generator)
    try:
        replies = within(seconds, run)
        if not replies:
            return Asked("", name, f"{name} gave no reply")
        text = without_halves(replies[0].text or "")
        return Asked(text, str(replies[0].meta.get("model") or name))
    except TimeoutExpired:
        return Asked("", name, f"{name} gave no reply within {seconds:g} s")
    except RAGError as error:
        return Asked("", name, brief(error.message))
    except Exception as error:
        return Asked("", name, brief(f"{name} failed: {error or type(error).__name__}"))


class TimeoutExpired(Exception):
    """The time is over, and what was to be done is not."""


def within(seconds: float, function: Callable[[], T]) -> T:
    """Return what a function returns, or raise what it raises. One that takes longer is left to
    itself, in a thread that does not keep the program from ending.

    :raises TimeoutExpired: when the time is over.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            results.append(context.run(function))
        except BaseException as error:  # Ctrl-C too is the caller's
            errors.append(error)

    thread = threading.Thread(target=run, name="rag-transform", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutExpired
    return results[0]


def name_of(generator: Any) -> str:
    """Return the name of a chat generator's model, as far as it says."""
    configured = getattr(getattr(generator, "config", None), "chat_model", "")
    name = getattr(generator, "model", "") or configured
    return str(name) if name and name != AUTO else "the model"


LONGEST_QUERY = 400  # characters
LONGEST_DOCUMENT = 1500
_LONGEST_REPLY = 20_000  # of which more is not read
_MOST_STARTS = 20  # places where JSON may begin
_DEEPEST = 4  # levels of JSON

_THOUGHTS = re.compile(
    r"\A.*</(?:think|thinking|reasoning)>|^[ \t]*<(?:think|thinking|reasoning)>.*",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_FENCE = re.compile(r"```[^\n`]*(?:\n|\Z)|```")
_MARKER = re.compile(r"\s*(?:[-*+–—]\s+|[•・]\s*|\(?\d{1,2}[.)]\s+)")
_EXCUSE = re.compile(
    r"(?:i['’]?m|i am) (?:sorry|unable)|sorry[,.]|as an ai\b|申し訳|すみません|お答えできません"
    r"|i can(?:no|['’])t (?:help|assist|do|answer|provide|comply|fulfil|create|generate|write)"
    r"|(?:null|none|n/a|なし)\W*$",
    re.IGNORECASE,
)
_PAIRS = ("「」", "『』", "“”", '""', "''", "``", "**")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")


def texts_in(
    reply: str, count: int, *, without: str = "", longest: int = LONGEST_QUERY
) -> list[str]:
    """Return at most `count` different texts of one line each: those of the first JSON that holds
    some, else the items of a list, or lines. Of a reply that holds `without`, the code of the
    prompt, which is an echo, there are none; nor any longer than `longest` characters.
    """
    body = _body(reply, without)
    texts = next(filter(None, map(_strings, _json_values(body))), None) or _lines(body)
    lines = [line for text in texts if (line := line_in(text, longest))]
    return list({_key(line): line for line in lines[::-1]}.values())[::-1][: max(count, 0)]


def document_in(reply: str, *, without: str = "", longest: int = LONGEST_DOCUMENT) -> str:
    """Return the one text of a reply, on one line, cut at the end of a sentence; empty when there
    is none, or none to cut it at. `without` and `longest` are those of `texts_in`.
    """
    body = _body(reply, without)
    values = _json_values(body, "trailing-strings")
    texts = next(filter(None, map(_strings, values)), None) or _lines(body)
    text = line_in("\n".join(texts), _LONGEST_REPLY)
    if len(text) <= longest:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text[:longest])]
    return text[: ends[-1]].rstrip() if ends else ""


def object_in(reply: str, *, without: str = "") -> dict[str, Any]:
    """Return the first JSON object of a reply that is no schema, empty when there is none.

    :param without: the code of the prompt; a reply that holds it is an echo, and no reply.
    """
    for value in _json_values(_body(reply, without), "trailing-strings"):
        items = value if isinstance(value, list) else [value]
        for item in items[:_MOST_STARTS]:
            if isinstance(item, dict) and item and not ("type" in item and "properties" in item):
                return item
    return {}


def line_in(value: Any, longest: int = LONGEST_QUERY) -> str:
    """Return a text of decoded JSON on one line, without what lists and quotations put around it;
    empty when it is none, too long, an excuse, or without a letter."""
    if not isinstance(value, str):
        return ""
    text, before = " ".join(without_controls(without_halves(value[: 4 * longest])).split()), ""
    while text != before:
        before, text = text, _MARKER.sub("", text, count=1) if _MARKER.match(text) else text
        text = text.strip().rstrip(",、;")
        for pair in _PAIRS:
            if text[:1] + text[-1:] == pair and pair[1] not in text[1:-1].strip("*"):
                text = text[1:-1].strip().strip("*" if pair == "**" else "")
    is_text = len(text) <= longest and any(map(str.isalpha, text)) and not _EXCUSE.match(text)
    return text if is_text and has_words(text) else ""


def same_text(first: str, second: str) -> bool:
    """Return whether two texts differ in nothing but case, width, spaces and a mark at the end."""
    return _key(first) == _key(second)


def _key(text: str) -> str:
    return name_key(text).rstrip("?!.。 ")


def _body(reply: str, without: str) -> str:
    """Return a reply without a model's thoughts; empty for an echo of the prompt."""
    text = _THOUGHTS.sub("", without_halves(reply[:_LONGEST_REPLY]))
    return "" if without and without in text else text


def _json_values(text: str, partial: Literal[True, "trailing-strings"] = True) -> Iterator[Any]:
    """Yield each piece of JSON in a text; if `partial`, what is whole of one that is cut off."""
    decoder, end = json.JSONDecoder(strict=False), 0
    for start in [match.start() for match in re.finditer(r"[{\[]", text)][:_MOST_STARTS]:
        if start < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            try:
                value = from_json(text[start:], allow_partial=partial)
            except ValueError:
                continue
        yield value


def _strings(value: Any, depth: int = _DEEPEST) -> list[str]:
    """Return the texts of decoded JSON: of an object those of a list in it, else the first."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and depth:
        return [text for item in value for text in _strings(item, depth - 1)[:1]]
    if isinstance(value, dict) and depth and not ("type" in value and "properties" in value):
        lists_first = sorted(value.values(), key=lambda inner: not isinstance(inner, list))
        return next(filter(None, (_strings(inner, depth - 1) for inner in lists_first)), [])
    return []


def _lines(text: str) -> list[str]:
    """Return the items of a list, else all lines; none of JSON."""
    lines = [line for line in _FENCE.sub("", text).splitlines() if line.strip()]
    if not lines or lines[0].lstrip().startswith(("{", "[")):
        return []
    marked = [line for line in lines if _MARKER.match(line)]
    return marked or [line for line in lines if not line.rstrip().endswith((":", "："))]


Stage = Literal["route", "metadata", "hyde"]
NO_MODEL = "there is no model"


class RawResponse(BaseModel):
    """What a model replied to one request, or why there is nothing.

    :ivar text: what was understood of it, without arguments of tools; word for word with
        `Trace.raw`.
    :ivar code: what stood around the query in the prompt, if it is in the text too.
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
        self._generators = {stage: g for stage, g in generators.items() if g is not None}
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


def hypothesis(plan: FullTransformationResult, asker: LiveAsker) -> FullTransformationResult:
    """Return the plan with the note and the query to order results by that the model of the stage
    `hyde` wrote; `fallbacks` says why there is nothing of it."""
    if not has_words(plan.query):
        return plan
    fields = ", ".join(plan.mapped_physical_columns) or "-"
    prompt = build_prompt("hyde", plan.query, text=plan.text, fields=fields)
    schema = schema_of("hyde_paragraph", "rerank_query", hyde_paragraph=TEXT, rerank_query=TEXT)
    asked = asker.ask("hyde", prompt, schema)
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
