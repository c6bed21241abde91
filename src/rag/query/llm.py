"""Calls of a model by Haystack's chat generators, and what is read of its replies."""

from __future__ import annotations

import contextvars
import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Literal, NamedTuple, TypeVar

from haystack.dataclasses import ChatMessage
from pydantic_core import from_json

from rag.config import AUTO
from rag.exceptions import RAGError
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
    """Return what a model is asked, in the language of the query.

    A template is a file of `templates` for each language: the rules, a line `=====`, and the
    message with the query in it. `$name` stands for what is filled in.

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
    """Return what a function returns, or raise what it raises.

    A function that takes longer is left to itself, in a thread that does not keep the program
    from ending.

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
    some, else the items of a list, or lines.

    :param without: the code of the prompt; a reply that holds it is an echo, and no reply.
    :param longest: characters of a text; longer ones are left out.
    """
    body = _body(reply, without)
    texts = next(filter(None, map(_strings, _json_values(body))), None) or _lines(body)
    lines = [line for text in texts if (line := line_in(text, longest))]
    return list({_key(line): line for line in lines[::-1]}.values())[::-1][: max(count, 0)]


def document_in(reply: str, *, without: str = "", longest: int = LONGEST_DOCUMENT) -> str:
    """Return the one text of a reply, on one line, cut at a sentence; empty when there is none,
    or when what there is has no end of a sentence where it would be cut.

    :param without: the code of the prompt; a reply that holds it is an echo, and no reply.
    :param longest: characters of the text.
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
    """Yield each piece of JSON in a text, and what is whole of one that is cut off.

    :param partial: whether the beginning of a text without its end is one.
    """
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
