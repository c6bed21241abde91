"""Drawings of the Excalidraw plugin: Markdown with the user's text, and the drawing as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from rag.vault.markdown import MARKDOWN

_MARK = ".excalidraw"
_FIELD = "excalidraw-plugin"
_SUFFIXES = tuple(_MARK + suffix for suffix in MARKDOWN)
_DRAWING = "Drawing"
# The plugin's own headings; no note is called so.
_ABOVE_TEXT = frozenset({"Excalidraw Data", "Text Elements"})
OWN_HEADINGS = _ABOVE_TEXT | {_DRAWING}
_TABLES = frozenset({"element links", "embedded files"})  # sections of ids, each with a link
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)$")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(compressed-json|json)[ \t]*$")
_NOTICE = re.compile(r"==\s*\u26a0.*EXCALIDRAW VIEW")
_COMMENT = "%%"


def is_drawing(path: str, fields: Mapping[str, Any]) -> bool:
    """Return whether a note is a drawing, by its name or its front matter."""
    return _FIELD in fields or path.lower().endswith(_SUFFIXES)


def name_without_suffix(path: str) -> str:
    """Return the name of a file without its suffix, and without the mark of a drawing.

    >>> name_without_suffix("art/Sketch.excalidraw.md"), name_without_suffix("Plan.md")
    ('Sketch', 'Plan')
    """
    stem = PurePosixPath(path).stem
    return stem[: -len(_MARK)] or stem if path.lower().endswith(_SUFFIXES) else stem


def blank_drawing(lines: list[str], first: int) -> None:
    """Empty the lines of a drawing that its user did not write: the data and the heading above it,
    the plugin's notice, headings and tables, and the marks that make a comment of these. No line
    gets another number.

    :param first: the first line of the body.
    """
    heading, number = first, first  # `heading` is the line of the last one
    while number < len(lines):
        line = lines[number]
        if _HEADING.match(line):
            heading = number
        elif _NOTICE.match(line):
            lines[number] = ""
        elif fence := _FENCE.match(line):
            is_below = _text_of(lines[heading]) == _DRAWING
            if is_below or fence[2] != "json":
                end = _end_of(lines, number, fence[1])
                lines[number:end] = [""] * (end - number)
                if is_below and not any(map(str.strip, lines[heading + 1 : number])):
                    lines[heading] = ""
                number = end - 1
        number += 1
    _blank_comment_marks(lines, first)
    _blank_sections(lines, first)


def _blank_sections(lines: list[str], first: int) -> None:
    """Empty the plugin's headings above the user's text, and its tables."""
    is_own = is_table = False
    for number in range(first, len(lines)):
        if heading := _text_of(lines[number]):
            is_own = is_own or heading in OWN_HEADINGS
            is_table = is_own and heading.lower() in _TABLES
        if is_table or heading in _ABOVE_TEXT:
            lines[number] = ""


def _end_of(lines: list[str], number: int, mark: str) -> int:
    """Return the line behind the fence that begins on a line; where nothing closes it, as in a
    file that was cut short, the last."""
    closing = (at + 1 for at in range(number + 1, len(lines)) if lines[at].strip() == mark)
    return next(closing, len(lines))


def _blank_comment_marks(lines: list[str], first: int) -> None:
    """Empty the `%%` above the plugin's headings, and those with nothing below them."""
    below = ""
    for number in range(len(lines) - 1, first - 1, -1):
        text = lines[number].strip()
        if text == _COMMENT and (not below or _text_of(below) in OWN_HEADINGS):
            lines[number] = ""
        elif text:
            below = text


def _text_of(line: str) -> str:
    heading = _HEADING.match(line)
    return heading[1].rstrip("# \t") if heading else ""
