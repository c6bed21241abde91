"""Bases of Obsidian: YAML that says how notes are listed. What it names is found, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rag.vault.formats.plain_text import one_line
from rag.vault.limits import LONGEST_FRONT_MATTER
from rag.vault.yaml_reader import load_yaml

_BROKEN = "not a base: "
_LONGEST_REASON = 200


def base_lines(raw: str, problems: list[str]) -> list[str]:
    """Return the names of a base's views, properties and formulas, a line for each kind.

    :param problems: receives why the file is no base; it then has no lines.
    """
    if len(raw) > LONGEST_FRONT_MATTER:
        problems.append(f"{_BROKEN}longer than {LONGEST_FRONT_MATTER:,} characters")
        return []
    try:
        held = load_yaml(raw) or {}
    except Exception as error:  # YAMLError, ValueError, RecursionError, …
        why = str(getattr(error, "problem", None) or error).split("\n")[0]
        problems.append(f"{_BROKEN}{why[:_LONGEST_REASON]}")
        return []
    if not isinstance(held, dict):
        problems.append(f"{_BROKEN}a {type(held).__name__}")
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
