"""Readers of notes, by the suffix of their files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rag.support.file_kinds import IMAGES, READ
from rag.vault.frontmatter import load_yaml
from rag.vault.limits import LONGEST_FRONT_MATTER
from rag.vault.markdown import BASE, CANVAS, MARKDOWN
from rag.vault.note import Note, decode, make_note, read_note, split_lines


@dataclass(frozen=True)
class NoteReader:
    """What a file type needs: a note of its bytes, and the lines that are shown of it.

    :param render: for files that are no text to read, returns the lines that are to be read of
        their text; a `ValueError` says why there are none.
    :param is_document: whether it is read from the disk, by a process of its own.
    """

    render: Callable[[str], list[str]] | None = None
    is_document: bool = False

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds; see `rag.vault.note.read_note`."""
        if self.render is None:
            return read_note(raw, vault, path, mtime, birthtime)
        problems: list[str] = []
        return make_note(self.lines(raw, problems), vault, path, mtime, birthtime, problems)

    def lines(self, raw: bytes, problems: list[str] | None = None) -> list[str]:
        """Return the lines of a file, as the lines of its chunks are counted; what is wrong with it
        is added to `problems`."""
        problems = [] if problems is None else problems
        text = decode(raw, problems)
        try:
            return self.render(text) if self.render else split_lines(text)
        except ValueError as error:
            problems.append(str(error)[:_LONGEST_REASON])
            return []


_LONGEST_REASON = 212  # characters


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


def _table(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def base_lines(text: str) -> list[str]:
    """Return the names of a base's views, properties and formulas, a line for each kind; a
    `ValueError` for what is no base."""
    if len(text) > LONGEST_FRONT_MATTER:
        raise ValueError(f"not a base: longer than {LONGEST_FRONT_MATTER:,} characters")
    try:
        base = load_yaml(text) or {}
    except Exception as error:  # YAMLError, ValueError, RecursionError, …
        why = str(getattr(error, "problem", None) or error).split("\n")[0]
        raise ValueError(f"not a base: {why}") from error
    if not isinstance(base, dict):
        raise ValueError(f"not a base: a {type(base).__name__}")
    kinds = {
        "views": (_table(view).get("name") for view in _list(base.get("views"))),
        "properties": _properties(base),
        "formulas": iter(_table(base.get("formulas"))),
    }
    lines = []
    for kind, names in kinds.items():
        if shown := dict.fromkeys(text for name in names if (text := one_line(name))):
            lines += ["", f"{kind}: {', '.join(shown)}"]
    return lines[1:]


def _properties(base: dict[Any, Any]) -> Iterator[Any]:
    """Yield the properties that are described, what they are called, and those that views show."""
    for name, about in _table(base.get("properties")).items():
        yield from (name, _table(about).get("displayName"))
    for view in _list(base.get("views")):
        yield from _list(_table(view).get("order"))


def canvas_lines(text: str) -> list[str]:
    """Return a canvas as the lines of a note in Markdown, each card behind an empty line, from top
    to bottom and from left to right; then the labels of its arrows. A `ValueError` for what is no
    canvas."""
    try:
        # Python refuses to read a whole number of thousands of digits.
        canvas = json.loads(text, parse_int=float) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a canvas: {error}") from error
    if not isinstance(canvas, dict):
        raise ValueError("not a canvas: no table of nodes and edges")
    nodes = [node for node in _list(canvas.get("nodes")) if isinstance(node, dict)]
    nodes.sort(key=lambda node: (_number(node.get("y")), _number(node.get("x"))))
    lines: list[str] = []
    for card in filter(None, map(_card, nodes)):
        lines += ["", *card.split("\n")]
    labels = (one_line(_table(edge).get("label")) for edge in _list(canvas.get("edges")))
    if shown := [*filter(None, labels)]:
        lines += ["", *shown]
    return lines[1:]


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


# A further file type is an entry here, and its suffix in `suffixes`.
READERS = {
    **dict.fromkeys(MARKDOWN, NoteReader()),
    CANVAS: NoteReader(canvas_lines),
    BASE: NoteReader(base_lines),
    **dict.fromkeys(READ, NoteReader(is_document=True)),
}


def reader_of(path: str) -> NoteReader:
    """Return the reader of a file that `is_note`; that of Markdown for any other."""
    return READERS.get(path[path.rfind(".") :].lower(), READERS[".md"])


def is_note(name: str, images: bool = False) -> bool:
    """Return whether a file of that name is a note; pictures are, where they are to be read.

    >>> is_note("Rollback.md"), is_note(".md"), is_note("Rollback.pdf"), is_note("Rollback.png")
    (True, True, True, False)
    """
    name = name.lower()
    return name.endswith(tuple(READERS)) and (images or not name.endswith(tuple(IMAGES)))
