"""The JSON of reports, schema 1: dataclasses whose fields are named and ordered as it has them.

pydantic would write the same, but takes 70 ms to import and 50 to read the types, longer than most
commands that print JSON run. `docs/json.md` lists the fields, from the types and their docstrings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from datetime import date
from functools import cache, partial
from os import PathLike, fspath
from typing import Any

from rag.exceptions import RAGError

_MARK = "json"
OPTIONAL, NULLABLE, HIDDEN, INLINE = "optional", "nullable", "hidden", "inline"
_DIGITS = 6  # of fractions


def _marked(mark: str, default: Any = MISSING, factory: Any = MISSING, compare: bool = True) -> Any:
    given = {"default": default, "default_factory": factory}
    return field(metadata={_MARK: mark}, compare=compare, **given)


# Make a field that is left out of the JSON where it has its default;
optional = partial(_marked, OPTIONAL)
# that is `null` in the JSON where it is empty;
nullable = partial(_marked, NULLABLE)
# that is for front-ends, and not in the JSON;
hidden = partial(_marked, HIDDEN)
# whose own fields stand in its place, none where it is `None`.
inline = partial(_marked, INLINE)


def mark_of(item: Field[Any]) -> str:
    """Return how a field is written; "" where it is written as it is."""
    return str(item.metadata.get(_MARK, ""))


def to_json(report: object) -> dict[str, Any]:
    """Return a report, or the error that ended a request, as schema 1 has it."""
    if isinstance(report, RAGError):
        near = getattr(report, "suggestions", None)
        return {"error": {**_error(report), **({"suggestions": near} if near else {})}}
    written: dict[str, Any] = _plain(report)
    return written


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return round(value, _DIGITS)
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        return dict(_members(value))
    if hasattr(value, "_asdict"):  # a named tuple
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not hasattr(value, "model_dump"):
        return [_plain(item) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, RAGError):
        return _error(value)
    return value.model_dump(mode="json")  # of pydantic, which the planner's types are made with


@cache
def written_fields(kind: Any) -> list[tuple[str, Field[Any], str]]:
    """Return the fields of a type of reports that are in its JSON: the name there, the field, and
    its mark. `json_order`, if the type has one, lists them: `path=file_path` is another name."""
    by_name = {item.name: item for item in fields(kind) if mark_of(item) != HIDDEN}
    order: str = getattr(kind, "json_order", " ".join(by_name))
    names = (name.partition("=") for name in order.split())
    written = ((name, by_name[other or name]) for name, _, other in names)
    return [(name, item, mark_of(item)) for name, item in written]


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    for name, item, mark in written_fields(value.__class__):
        held = getattr(value, item.name)
        default = item.default if item.default_factory is MISSING else item.default_factory()
        if mark == OPTIONAL and held == default:
            continue
        if mark == INLINE:
            yield from () if held is None else _plain(held).items()
        else:
            yield name, None if mark == NULLABLE and not held else _plain(held)


def _error(error: RAGError) -> dict[str, str]:
    return {"kind": error.kind, "message": str(error), "hint": error.hint}
