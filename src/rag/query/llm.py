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
from typing import Any, NamedTuple, TypeVar

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
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_KEYS = (
    *("queries", "variations", "questions", "sub_questions", "items", "results"),
    *("query", "question", "document", "passage", "text", "content", "answer", "value"),
)
_DOCUMENT_JSON = re.compile(r'\{\s*"(?:document|passage|text|content|answer)"\s*:')
_MARKER = re.compile(
    r"\s*(?:[-*+–—]\s+|[•・‣▪○●◦]\s*|[(（]?\d{1,2}(?:[.)]\s+|[．）]\s*)|[①-⑳]\s*|[a-z][.)]\s+)",
)
_LABEL = re.compile(
    r"(?:(?:search |rewritten |sub-?|step-?back |alternative )?(?:query|question|variation)"
    r"|document|passage|検索文|質問|クエリ|言い換え|文書)\s*\d{0,2}(?::\s+|：\s*)",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"(?:sure|certainly|of course|okay|here (?:are|is))\b|以下|はい[、。]", re.IGNORECASE
)
_EXCUSE = re.compile(
    r"(?:i['’]?m|i am) (?:sorry|unable)|sorry[,.]|as an ai\b|申し訳|すみません|お答えできません"
    r"|i can(?:no|['’])t (?:help|assist|do|answer|provide|comply|fulfil|create|generate|write)"
    r"|(?:null|none|n/a|なし)\W*$",
    re.IGNORECASE,
)
_PAIRS = ("「」", "『』", "“”", "‘’", "«»", '""', "''", "``", "**", "__")
_BOLD = re.compile(r"\*\*(\S(?:[^*]*\S)?)\*\*")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_ENDLESS_WORD = re.compile(r"[a-z0-9\u00c0-\u024f]{101}", re.IGNORECASE)
_FEW_LETTERS, _LONG = 5, 100  # different letters in a text of so many characters are no language


def texts_in(
    reply: str, count: int, *, without: str = "", longest: int = LONGEST_QUERY
) -> list[str]:
    """Return at most `count` different texts of one line each: those of JSON in any shape, else
    of a list or of lines.

    :param without: the code of the prompt; a reply that holds it is an echo, and no reply.
    :param longest: characters of a text; longer ones are left out.
    """
    body = _body(reply, without)
    found = next(_json_texts(body), []) or _lines(_unfenced(body))
    if len(found) == 1 and "\n" in found[0].strip():  # a list within a string
        found = _lines(found[0])
    lines = (line for text in found if (line := line_in(text, longest)))
    return list({_key(line): line for line in reversed([*lines])}.values())[::-1][: max(count, 0)]


def document_in(reply: str, *, without: str = "", longest: int = LONGEST_DOCUMENT) -> str:
    """Return the one text of a reply, on one line, cut at a sentence; empty when there is none,
    or when what there is has no end of a sentence where it would be cut.

    :param without: the code of the prompt; a reply that holds it is an echo, and no reply.
    :param longest: characters of the text.
    """
    body = _body(reply, without)
    lines = _unfenced(body).strip().splitlines()
    if lines and (lines[0].startswith(("{", "[")) or _DOCUMENT_JSON.search(body)):
        lines = next(_json_texts(body, unfinished=True), [])
    elif len(lines) > 1 and _is_preface(lines[0]):
        lines = lines[1:]
    text = line_in("\n".join(lines), _LONGEST_REPLY)
    if len(text) <= longest:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text[:longest])]
    return text[: ends[-1]].rstrip() if ends else ""


def object_in(reply: str, *, without: str = "") -> dict[str, Any]:
    """Return the first JSON object of a reply that is no schema, empty when there is none.

    :param without: the code of the prompt; a reply that holds it is an echo, and no reply.
    """
    for value in _json_values(_body(reply, without), unfinished=True):
        items = value if isinstance(value, list) else [value]
        for item in items[:_MOST_STARTS]:
            if isinstance(item, dict) and item and not _is_schema(item):
                return item
    return {}


def line_in(value: Any, longest: int = LONGEST_QUERY) -> str:
    """Return a text of decoded JSON on one line, empty when it is none, too long, an excuse, or
    what no model means: without a letter, with an endless word, or of the same few letters."""
    text = _cleaned(value[: 4 * longest]) if isinstance(value, str) else ""
    letters = {char for char in text if char.isalpha()}
    is_junk = not letters or (len(text) >= _LONG and len(letters) <= _FEW_LETTERS)
    if is_junk or len(text) > longest or _EXCUSE.match(text) or _ENDLESS_WORD.search(text):
        return ""
    return text if has_words(text) else ""


def same_text(first: str, second: str) -> bool:
    """Return whether two texts differ in nothing but case, width, spaces and a mark at the end."""
    return _key(first) == _key(second)


def _key(text: str) -> str:
    return name_key(text).rstrip("?!.。 ")


def _body(reply: str, without: str) -> str:
    """Return a reply without a model's thoughts; empty for an echo of the prompt."""
    text = _THOUGHTS.sub("", without_halves(reply[:_LONGEST_REPLY]))
    return "" if without and without in text else text


def _unfenced(text: str) -> str:
    fenced = _FENCED.search(text)
    return fenced[1] if fenced and fenced[1].strip() else text.replace("```", " ")


def _json_texts(text: str, unfinished: bool = False) -> Iterator[list[str]]:
    """Yield the texts of each piece of JSON that holds some."""
    return filter(None, (_strings(value, _DEEPEST) for value in _json_values(text, unfinished)))


def _json_values(text: str, unfinished: bool) -> Iterator[Any]:
    """Yield each piece of JSON in a text, and what is whole of one that is cut off.

    :param unfinished: whether the beginning of a text without its end is one.
    """
    decoder = json.JSONDecoder(strict=False)
    mode: Any = "trailing-strings" if unfinished else True
    end = 0
    for start in [match.start() for match in re.finditer(r"[{\[]", text)][:_MOST_STARTS]:
        if start < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            try:
                value = from_json(text[start:], allow_partial=mode)
            except ValueError:
                continue
        yield value


def _is_schema(value: dict[str, Any]) -> bool:
    return "type" in value and ("properties" in value or "items" in value)


def _strings(value: Any, depth: int) -> list[str]:
    """Return the texts of decoded JSON; of an object in a list one, and of a schema none."""
    if isinstance(value, str):
        return [value]
    if not depth or not isinstance(value, (dict, list)):
        return []
    if isinstance(value, list):
        found = [_strings(item, depth - 1) for item in value]
        return [text for texts in found for text in texts[: 1 if len(value) > 1 else None]]
    if _is_schema(value):
        return []
    keyed = [value[key] for key in _KEYS if key in value]
    lists = [inner for inner in value.values() if isinstance(inner, list)]
    for inner in (*keyed, *lists):
        if texts := _strings(inner, depth - 1):
            return texts
    return [text for inner in value.values() for text in _strings(inner, depth - 1)]


def _lines(text: str) -> list[str]:
    """Return the items of a list, else the lines that are not about the others; none of JSON."""
    if text.lstrip().startswith(("{", "[")):
        return []
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [line for line in lines if _MARKER.match(line)]
    return marked or [line for line in lines if not _is_preface(line)]


def _is_preface(line: str) -> bool:
    line = line.strip()
    return line.endswith((":", "：")) or line.startswith("# ") or bool(_CHATTER.match(line))


def _cleaned(text: str) -> str:
    """Return a text on one line, without what lists and quotations put around it."""
    text = without_controls(without_halves(text))
    text = _BOLD.sub(r"\1", " ".join(text.split()))
    before = None
    while text != before:
        before = text
        for prefix in (_MARKER, _LABEL):
            if match := prefix.match(text):
                text = text[match.end() :]
        text = text.strip().rstrip(",、;")
        for pair in _PAIRS:
            inner = text[1:-1]
            if text[:1] + text[-1:] == pair and pair[1] not in inner.strip("*_"):
                text = inner.strip()
    return text
