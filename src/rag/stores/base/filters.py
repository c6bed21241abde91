"""Haystack filters as conditions, which each backend translates for its engine.

| Haystack | here |
|---|---|
| `==`, `!=` | text, number, boolean, `None` (missing, null or empty), list (same members) |
| `>`, `>=`, `<`, `<=` | numbers, ISO dates and date-times; `None` matches nothing |
| `in`, `not in` | lists or batches of what `==` takes; `in []` matches nothing, `not in []` all |
| `AND`, `OR`, `NOT` | any depth; `NOT` is true when not all of its conditions hold |

On a field that holds a list, `==` and `in` hold when one member matches, as in Qdrant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from haystack.errors import FilterError

from rag.stores.base.batch import Batch
from rag.stores.base.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Counts,
    HasId,
    InPeriod,
    InRange,
    IsEmpty,
    Matches,
    MatchesAny,
    NoneOf,
)
from rag.stores.base.points import FALSE_FIELDS, TRUE_FIELDS

_TOP_LEVEL = ("id", "content", "blob", "score")
_BARE_NAME = re.compile(r"[\w-]+(\[\d*\])*$")
_EXACT_INTEGER = 1 << 53
_INTEGERS = 1 << 63
_RANGES = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


@contextmanager
def filter_errors() -> Iterator[None]:
    """Turn what goes wrong with a filter into a `FilterError`."""
    try:
        yield
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FilterError(f"a filter that cannot be understood: {error}") from error


def convert_filters(filters: dict[str, Any] | None) -> Condition | None:
    """Convert a Haystack filter; `None` and `{}` mean no filter, which is `None`.

    :raises FilterError: when the filter is malformed or compares what cannot be compared.
    """
    if not filters:
        return None
    with filter_errors():
        return _convert(filters)


def _convert(node: Any) -> Condition:
    if not isinstance(node, dict) or "operator" not in node:
        raise FilterError(f"a filter needs an 'operator': {node!r}")
    if "field" in node:
        return _comparison(node)
    operator, conditions = node["operator"], node.get("conditions")
    if not isinstance(conditions, list):
        raise FilterError(f"a filter needs a 'field' or a list of 'conditions': {node!r}")
    nested = [_convert(condition) for condition in conditions]
    match operator:
        case "AND":
            return AllOf(nested)
        case "OR":
            return AnyOf(nested) if nested else HasId(())
        case "NOT":
            return NoneOf(nested if len(nested) == 1 else [AllOf(nested)])
    raise FilterError(f"unknown logical operator {operator!r}: use AND, OR or NOT")


def _comparison(node: dict[str, Any]) -> Condition:
    if "value" not in node:
        raise FilterError(f"a comparison needs a 'value': {node!r}")
    operator, value = node["operator"], node["value"]
    key = field_key(node["field"])
    if operator in ("==", "!="):
        equal = _equal(key, value)
        return equal if operator == "==" else NoneOf([equal])
    if operator in ("in", "not in"):
        if not isinstance(value, (list, Batch)):
            raise FilterError(f"'{operator}' needs a list, not {value!r}")
        found = _any_of(key, list(value))
        return found if operator == "in" else NoneOf([found])
    if operator in _RANGES:
        return _range(key, operator, value)
    raise FilterError(f"unknown operator {operator!r}: use ==, !=, >, >=, <, <=, in or not in")


def field_key(field: Any) -> str:
    """Return the payload path of a Haystack field; a bare name means a meta field."""
    if not isinstance(field, str):
        raise FilterError(f"a field is a name, not {field!r}")
    if field.startswith("meta.") or field in _TOP_LEVEL:
        return field
    return f"meta.{field}"


def _path(key: str) -> str:
    """Quote what the engine's paths cannot name bare, such as `date created`."""
    parts = key.split(".")
    if '"' in key or not all(parts):
        raise FilterError(f"a field of no possible name: {key}")
    return ".".join(part if _BARE_NAME.match(part) else f'"{part}"' for part in parts)


def _equal(key: str, value: Any) -> Condition:
    path = _path(key)
    if value is None:
        return IsEmpty(path)
    if isinstance(value, bool):
        return Matches(TRUE_FIELDS if value else FALSE_FIELDS, key)
    if isinstance(value, str):
        return Matches(path, value)
    if isinstance(value, int) and abs(value) >= _EXACT_INTEGER:
        if abs(value) >= _INTEGERS:
            raise OverflowError(f"{value} has more than 64 bits")
        return Matches(path, value)
    if isinstance(value, (int, float)):
        return InRange(path, {"gte": float(value), "lte": float(value)})
    if isinstance(value, list):
        return AllOf([Counts(path, len(value)), *(_equal(key, item) for item in value)])
    raise FilterError(f"cannot compare {key} with a {type(value).__name__}")


def _any_of(key: str, values: list[Any]) -> Condition:
    if not values:
        return HasId(())
    if all(isinstance(value, str) for value in values):
        return MatchesAny(_path(key), values)
    return AnyOf([_equal(key, value) for value in values])


def _range(key: str, operator: str, value: Any) -> Condition:
    bound = _RANGES[operator]
    if value is None:
        return HasId(())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return InRange(_path(key), {bound: float(value)})
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise FilterError(
                f"'{operator}' needs a number or an ISO date, not {value!r}"
            ) from None
    if isinstance(value, datetime):
        return InPeriod(_path(key), {bound: value.isoformat()})
    raise FilterError(f"'{operator}' needs a number or an ISO date, not {value!r}")
