"""Readers of notes, by the suffix of their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, Protocol

from rag.vault.frontmatter import load_yaml
from rag.vault.limits import LONGEST_FRONT_MATTER
from rag.vault.markdown import BASE, CANVAS, MARKDOWN
from rag.vault.note import FileTimes, Note, decode, make_note, read_note, split_lines


class NoteReader(Protocol):
    """What a file type needs: a note of its bytes, and the lines that are shown of it."""

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds; see `rag.vault.note.read_note`."""

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines of a file, as the lines of its chunks are counted."""


class MarkdownReader:
    """Notes in Markdown, with YAML front matter."""

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds."""
        return read_note(raw, vault, path, mtime, birthtime)

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines of a file."""
        return split_lines(decode(raw, []))


class RenderedReader:
    """Files that are no text to read: their notes hold what is to be read of them.

    :param render: returns the lines of a file's text, and adds what is wrong with it to a list.
    """

    def __init__(self, render: Callable[[str, list[str]], list[str]]) -> None:
        self._render = render

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds; it is called as the file is."""
        problems: list[str] = []
        lines = self._render(decode(raw, problems), problems)
        return make_note(lines, vault, path, FileTimes(mtime, birthtime), problems)

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines that there are to read of a file."""
        return self._render(decode(raw, []), [])


def _canvas(text: str, problems: list[str]) -> list[str]:

    return canvas_lines(text, problems)


def _base(text: str, problems: list[str]) -> list[str]:

    return base_lines(text, problems)


# A further file type is an entry here, and its suffix in `suffixes`.
READERS: dict[str, NoteReader] = {
    **dict.fromkeys(MARKDOWN, MarkdownReader()),
    CANVAS: RenderedReader(_canvas),
    BASE: RenderedReader(_base),
}


def reader_of(path: str) -> NoteReader:
    """Return the reader of a file that `is_note`; that of Markdown for any other.

    >>> type(reader_of("work/Rollback.MD")).__name__
    'MarkdownReader'
    """
    return READERS.get(PurePosixPath(path).suffix.lower(), READERS[".md"])


def is_note(name: str) -> bool:
    """Return whether a file of that name is a note.

    >>> is_note("Rollback.md"), is_note(".md"), is_note("Rollback.txt")
    (True, True, False)
    """
    return name.lower().endswith(tuple(READERS))


def plain_text(value: Any) -> str:
    """Return a text with `\\n` as its only line end and nothing that no file could hold; empty for
    what is no text."""
    if not isinstance(value, str):
        return ""
    text = value.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def one_line(value: Any) -> str:
    """Return a text as one line; empty for what is no text."""
    return " ".join(plain_text(value).split())


_BROKEN_BASE = "not a base: "
_LONGEST_REASON = 200


def base_lines(raw: str, problems: list[str]) -> list[str]:
    """Return the names of a base's views, properties and formulas, a line for each kind.

    :param problems: receives why the file is no base; it then has no lines.
    """
    if len(raw) > LONGEST_FRONT_MATTER:
        problems.append(f"{_BROKEN_BASE}longer than {LONGEST_FRONT_MATTER:,} characters")
        return []
    try:
        held = load_yaml(raw) or {}
    except Exception as error:  # YAMLError, ValueError, RecursionError, …
        why = str(getattr(error, "problem", None) or error).split("\n")[0]
        problems.append(f"{_BROKEN_BASE}{why[:_LONGEST_REASON]}")
        return []
    if not isinstance(held, dict):
        problems.append(f"{_BROKEN_BASE}a {type(held).__name__}")
        return []
    kinds = {
        "views": _views(held.get("views")),
        "properties": _properties(held),
        "formulas": iter(_table(held.get("formulas"))),
    }
    lines = []
    for kind, names in kinds.items():
        if found := dict.fromkeys(text for name in names if (text := one_line(name))):
            lines += ["", f"{kind}: {', '.join(found)}"]
    return lines[1:]


def _views(value: Any) -> Iterator[Any]:
    yield from (_table(view).get("name") for view in _list(value))


def _properties(held: dict[Any, Any]) -> Iterator[Any]:
    """Yield the properties that are described, what they are called, and those that views show."""
    for name, about in _table(held.get("properties")).items():
        yield from (name, _table(about).get("displayName"))
    for view in _list(held.get("views")):
        yield from _list(_table(view).get("order"))


def _table(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_BROKEN_CANVAS = "not a canvas: "
_KINDS = {float: "a number", str: "a text", type(None): "nothing", bool: "true or false"}


def canvas_lines(raw: str, problems: list[str]) -> list[str]:
    """Return a canvas as the lines of a note in Markdown, each card behind an empty line, from top
    to bottom and from left to right; then the labels of its arrows.

    :param problems: receives why the file is no canvas; it then has no lines.
    """
    held: Any = {}
    try:
        # Python refuses to read a whole number of thousands of digits.
        held = json.loads(raw, parse_int=float) if raw.strip() else {}
        if not isinstance(held, dict):
            kind = _KINDS.get(type(held), f"a {type(held).__name__}")
            problems.append(f"{_BROKEN_CANVAS}{kind}")
    except RecursionError:
        problems.append(f"{_BROKEN_CANVAS}nested too deep")
    except ValueError as error:
        problems.append(f"{_BROKEN_CANVAS}{str(error)[:_LONGEST_REASON]}")
    if not isinstance(held, dict):
        return []
    lines: list[str] = []
    for node in sorted(_dicts(held.get("nodes")), key=_place):
        if text := _card(node):
            lines += ["", *text.split("\n")] if lines else text.split("\n")
    labels = [label for edge in _dicts(held.get("edges")) if (label := one_line(edge.get("label")))]
    return [*lines, "", *labels] if labels and lines else [*lines, *labels]


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else ()) if type(item) is dict)


def _place(node: dict[str, Any]) -> tuple[float, float]:
    return _number(node.get("y")), _number(node.get("x"))


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or value != value:
        return 0
    return max(-1e9, min(1e9, value))


def _card(node: dict[str, Any]) -> str:
    """Return what a card says, or a link to what it shows."""
    kind = node.get("type")
    if kind == "text":
        return plain_text(node.get("text")).strip("\n")
    if kind == "file" and (file := one_line(node.get("file"))):
        return f"[[{file}{one_line(node.get('subpath'))}]]"
    if kind == "link":
        return one_line(node.get("url"))
    return one_line(node.get("label")) if kind == "group" else ""
