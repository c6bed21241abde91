"""What front matter says of a note besides its title, aliases and tags, as texts to look for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import Any

from rag.vault.frontmatter import as_text, as_timestamp

MOST_VALUES = 30  # of a note
_LONGEST = 100  # characters of a value, and of a field's name
_NAMED = ("title", "tags", "tag", "aliases", "alias")  # fields that notes are known by anyway


def searchable_fields(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what each field of a front matter holds, by its name in lower case.

    Dates are ISO, and booleans `true` or `false`; of a list each member counts. Longer texts
    than a value has, tables, and what comes after the first 30 values are left out.
    """
    found: dict[str, list[str]] = {}
    count = 0
    for name, value in _pairs(fields):
        known = found.get(name, [])
        if value in known:
            continue
        if count == MOST_VALUES:
            break
        found[name] = [*known, value]
        count += 1
    return found


def property_lines(fields: Mapping[str, list[str]], but: Collection[str] = ()) -> list[str]:
    """Return what `searchable_fields` gave as a reader knows it: `name: value, value`.

    :param but: names of fields to leave out.
    """
    return [f"{name}: {', '.join(values)}" for name, values in fields.items() if name not in but]


def _pairs(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in fields.items():
        name = _text(key).lower()
        if not name or name in _NAMED or len(name) > _LONGEST:
            continue
        for item in value if isinstance(value, (list, tuple, set)) else [value]:
            text = _text(item)
            if text and len(text) <= _LONGEST:
                yield name, text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = as_timestamp(value) if isinstance(value, date) else as_text(value)
    return text.encode("utf-8", "replace").decode("utf-8")  # escapes may stand for surrogates
