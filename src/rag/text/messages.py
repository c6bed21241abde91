"""Words for messages: what they count, and what they quote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

# Marks, embeddings, overrides and isolates, which turn the direction of what follows.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Whole ANSI sequences, so that no `[31m` is left of one; other controls but tab and line feed.
_STEERING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b.?"
    f"|[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]",
    re.DOTALL,
)
# What any of that begins with; most texts hold none of it, and are looked through much faster.
_BEGINNING = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
# C0, DEL and C1; what ends a line or a paragraph; surrogates, as of bytes that are no UTF-8.
_UNSEEN = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")
# The same without what ends lines and sets columns.
_UNSEEN_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")


def without_controls(text: str) -> str:
    """Return a text that is safe on a terminal: a note, a model or a server may say anything."""
    return _STEERING.sub("", text) if _BEGINNING.search(text) else text


def visible(text: str) -> str:
    r"""Return a name as one line in which every character is seen: `\x1b`, `\n`, `\u202e`."""
    return _UNSEEN.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """Return the same of several lines, which stay lines, as do tabs."""
    return _UNSEEN_IN_LINES.sub(_escaped, text)


def escaped_json(text: str) -> str:
    r"""Return JSON in which the same characters are `\u009b`, and all others as they were."""
    return _UNSEEN_IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


_PAGE = re.compile(r"[\s\ufeff]*<(!--|(!doctype|html|head|body|title|center|h1)\b)", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]*>([^<]*)", re.IGNORECASE)
_LONGEST = 160  # characters of what a message quotes


def plural(count: int, noun: str) -> str:
    """`1 note`, `1,204 notes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def time_left(items: int, rate: float) -> str:
    """`about 20 minutes`, for what is left at so many items a second."""
    minutes = items / rate / 60
    if minutes < 1.5:
        return "about a minute"
    if minutes < 90:
        return f"about {minutes:.0f} minutes"
    return f"about {minutes / 60:.0f} hours"


def minute(time: str) -> str:
    """`2026-11-25 09:30`, for a time in ISO 8601."""
    return time[:16].replace("T", " ")


def brief(text: str, longest: int = _LONGEST) -> str:
    """Return a text, such as that of an error, as one line that is not too long for a message."""
    line = " ".join(without_controls(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def shortened(text: str, width: int = 80) -> str:
    """Return the beginning of a text that may be long."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def brief_reply(text: str) -> str:
    """Return what a server says, fit for one line of a terminal; of a page of HTML, such as that of
    a proxy, only the title, which may be empty."""
    if _PAGE.match(text):
        from html import unescape

        title = _TITLE.search(text)
        text = unescape(title[1]) if title else ""
    return shortened(" ".join("".join(c if c.isprintable() else " " for c in text).split()), 200)


def without_halves(text: str) -> str:
    """Return a text with a question mark for each lone half of a surrogate pair: a shell passes
    any bytes, and a model may write anything."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unused_code(texts: Iterable[str], secret: str = "") -> str:
    """Return a code that no text holds, so that none of them can end where it does not.

    :param secret: makes it another code; without one it is the same for the same texts, so that
        a model that is asked the same again can say the same again.
    """
    texts = list(texts)
    code = ""
    while not code or any(code in text for text in texts):
        seed = "\0".join((code, secret, *texts)).encode("utf-8", "replace")
        code = sha256(seed).hexdigest()[:8]
    return code


def fenced(text: str, code: str) -> str:
    """Return a text between its two lines."""
    return f"<<< {code}\n{text}\n{code} >>>"


# What a value must be, by the first word of an error of pydantic's, and by the whole of one.
_KINDS = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    **dict.fromkeys(("tuple", "list"), "a list"),
    **dict.fromkeys(("dict", "mapping", "model", "dataclass"), "an object"),
}
_BOUNDS = {
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have at most {max_length:,} characters",
    "too_short": "must have {min_length} or more members",
    "too_long": "must have at most {max_length:,} members",
    "literal_error": "must be {expected}",
    "missing": "is missing",
}


def refusal(error: Mapping[str, Any]) -> str:
    """Return in a sentence what pydantic says is wrong with a value: `top_k must be at least 1`."""
    name, kind = ".".join(map(str, error["loc"]))[:100], error["type"]
    if kind in _BOUNDS:
        why = _BOUNDS[kind].format(**error.get("ctx") or {}).replace("'', ", "")
    elif (first := kind.partition("_")[0]) in _KINDS:
        why = f"must be {_KINDS[first]}"
    else:  # a check of our own
        return ": ".join(filter(None, (name, error["msg"].removeprefix("Value error, "))))
    return f"{name or 'it'} {why}"
