"""What front matter says of a note besides its title, aliases and tags, as texts to look for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from typing import Any, NamedTuple

from rag.vault.frontmatter import as_text, as_timestamp
from rag.vault.markdown import plain

MOST_VALUES = 30  # of a note
_LONGEST = 100  # characters of a value, and of a field's name
_KEY = re.compile(r"[\"']?(\w[^\"':]*?)[\"']?\s*:(?:\s|$)")
_NAMED = ("title", "tags", "tag", "aliases", "alias")  # fields that notes are known by anyway


def searchable_fields(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what each field of a front matter holds, by its name in lower case.

    Dates are ISO, and booleans `true` or `false`; of a list each member counts. Longer texts
    than a value has, tables, and what comes after the first 30 values are left out.
    """
    values: dict[str, list[str]] = {}
    for name, value in islice(dict.fromkeys(_pairs(fields)), MOST_VALUES):
        values.setdefault(name, []).append(value)
    return values


class Property(NamedTuple):
    """What a line of front matter says: the number of the `line` in the file, from 1, the name in
    lower case, and the values as a reader sees them, parted by commas."""

    line: int
    name: str
    value: str

    @property
    def text(self) -> str:
        """It in one line."""
        return f"{self.name}: {self.value}"


def property_meta(
    fields: Mapping[str, Any], lines: Sequence[str], but: Collection[str] = ()
) -> dict[str, Any]:
    """Return what a chunk's meta holds of a front matter: in `properties` each as
    `name: value, value`, and in `property_lines` the line that each begins in.

    :param lines: of the file, as far as the front matter reaches.
    :param but: names of fields to leave out.
    """
    kept = {name: v for name, v in searchable_fields(fields).items() if name not in but}
    if not kept:
        return {}
    keys = ((n, _KEY.match(line)) for n, line in enumerate(lines, 1))
    begun = {_text(key[1]).lower(): n for n, key in keys if key}
    return {
        "properties": [f"{name}: {', '.join(values)}" for name, values in kept.items()],
        "property_lines": [begun.get(name, 1) for name in kept],
    }


def properties_of(meta: Mapping[str, Any]) -> list[Property]:
    """Return what the front matter of a note says, of its first chunk's meta; else nothing."""
    parts = (text.partition(": ") for text in meta.get("properties") or ())
    return [
        Property(int(line), name, plain(value))
        for line, (name, _, value) in zip(meta.get("property_lines") or (), parts, strict=False)
    ]


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
