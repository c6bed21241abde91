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
    above, mark = first, ""  # the line of the last heading; what closes the fence of data
    is_own = is_table = False
    own: list[int] = []  # headings and tables of the plugin
    for number in range(first, len(lines)):
        line = lines[number]
        if mark:
            mark = "" if line.strip() == mark else mark
            lines[number] = ""
        elif heading := _text_of(line):
            above = number
            is_own = is_own or heading in OWN_HEADINGS
            is_table = is_own and heading.lower() in _TABLES
        elif _NOTICE.match(line):
            lines[number] = ""
        elif fence := _FENCE.match(line):
            is_below = _text_of(lines[above]) == _DRAWING
            if is_below or fence[2] != "json":
                mark, lines[number] = fence[1], ""
                if is_below and not any(map(str.strip, lines[above + 1 : number])):
                    lines[above] = ""
        if is_table or _text_of(line) in _ABOVE_TEXT:
            own.append(number)
    _blank_comment_marks(lines, first)  # which stand above the headings
    for number in own:
        lines[number] = ""


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
