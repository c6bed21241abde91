"""Canvases of Obsidian (JSON Canvas 1.0): their cards as text, and links to what they show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rag.vault.formats.plain_text import one_line, plain_text

_BROKEN = "not a canvas: "
_LONGEST_REASON = 200  # characters
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
            problems.append(f"{_BROKEN}{kind}")
    except RecursionError:
        problems.append(f"{_BROKEN}nested too deep")
    except ValueError as error:
        problems.append(f"{_BROKEN}{str(error)[:_LONGEST_REASON]}")
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
