"""Haystack filters as Qdrant's, in JSON: what a server is sent, and the embedded engine is given.

| Haystack | here |
|---|---|
| `==`, `!=` | text, number, boolean, `None` (missing, null or empty) |
| `>`, `>=`, `<`, `<=` | numbers, ISO dates and date-times; `None` matches nothing |
| `in`, `not in` | lists of what `==` takes; `in []` matches nothing, `not in []` all |
| `AND`, `OR`, `NOT` | any depth; `NOT` is true when not all of its conditions hold |

On a field that holds a list, `==` and `in` hold when one member matches, as in Qdrant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from rag.stores.base.points import DENSE, FALSE_FIELDS, TRUE_FIELDS, Filter

_TOP_LEVEL = ("id", "content", "blob", "score")
_BARE_NAME = re.compile(r"[\w-]+(\[\d*\])*$")
_EXACT_INTEGER = 1 << 53
_INTEGERS = 1 << 63
_RANGES = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}

WITH_EMBEDDING: Filter = {"must": [{"has_vector": DENSE}]}
WITHOUT_EMBEDDING: Filter = {"must_not": [{"has_vector": DENSE}]}


def has_id(ids: Iterable[str]) -> Filter:
    """Return the filter that selects these points; of none, nothing."""
    return {"must": [{"has_id": sorted(ids)}]}


def convert_filters(filters: dict[str, Any] | None) -> Filter | None:
    """Convert a Haystack filter; `None` and `{}` mean no filter, which is `None`.

    :raises FilterError: when the filter is malformed or compares what cannot be compared.
    """
    if not filters:
        return None
    try:
        return _convert(filters)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        from haystack.errors import FilterError

        raise FilterError(f"a filter that cannot be understood: {error}") from error


def _convert(node: Any) -> Filter:
    if not isinstance(node, dict) or "operator" not in node:
        raise ValueError(f"it needs an 'operator': {node!r}")
    if "field" in node:
        return _comparison(node)
    operator, conditions = node["operator"], node.get("conditions")
    if not isinstance(conditions, list):
        raise ValueError(f"it needs a 'field' or a list of 'conditions': {node!r}")
    nested = [_convert(condition) for condition in conditions]
    match operator:
        case "AND":
            return {"must": nested}
        case "OR":
            return {"should": nested} if nested else has_id(())
        case "NOT":
            return {"must_not": nested if len(nested) == 1 else [{"must": nested}]}
    raise ValueError(f"unknown logical operator {operator!r}: use AND, OR or NOT")


def _comparison(node: dict[str, Any]) -> Filter:
    if "value" not in node:
        raise ValueError(f"a comparison needs a 'value': {node!r}")
    operator, value, field = node["operator"], node["value"], node["field"]
    if not isinstance(field, str):
        raise TypeError(f"a field is a name, not {field!r}")
    # A bare name means a meta field.
    key = field if field.startswith("meta.") or field in _TOP_LEVEL else f"meta.{field}"
    if operator == "==":
        return _equal(key, value)
    if operator == "!=":
        return {"must_not": [_equal(key, value)]}
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise TypeError(f"'{operator}' needs a list, not {value!r}")
        member = _any_of(key, value)
        return member if operator == "in" else {"must_not": [member]}
    if operator in _RANGES:
        return _range(key, operator, value)
    raise ValueError(f"unknown operator {operator!r}: use ==, !=, >, >=, <, <=, in or not in")


def _path(key: str) -> str:
    """Quote what the engine's paths cannot name bare, such as `date created`."""
    parts = _text(key).split(".")
    if '"' in key or not all(parts):
        raise ValueError(f"a field of no possible name: {key}")
    return ".".join(part if _BARE_NAME.match(part) else f'"{part}"' for part in parts)


def _equal(key: str, value: Any) -> Filter:
    path = _path(key)
    if value is None:
        return {"must": [{"is_empty": {"key": path}}]}
    if isinstance(value, bool):
        return _field(TRUE_FIELDS if value else FALSE_FIELDS, match={"value": key})
    if isinstance(value, str):
        return _field(path, match={"value": _text(value)})
    if isinstance(value, int) and abs(value) >= _EXACT_INTEGER:
        if abs(value) >= _INTEGERS:
            raise OverflowError(f"{value} has more than 64 bits")
        return _field(path, match={"value": value})
    if isinstance(value, (int, float)):
        return _numbers(path, gte=float(value), lte=float(value))
    raise TypeError(f"cannot compare {key} with a {type(value).__name__}")


def _any_of(key: str, values: list[Any]) -> Filter:
    if not values:
        return has_id(())
    if all(isinstance(value, str) for value in values):
        return _field(_path(key), match={"any": [*map(_text, values)]})
    return {"should": [_equal(key, value) for value in values]}


def _range(key: str, operator: str, value: Any) -> Filter:
    bound = _RANGES[operator]
    if value is None:
        return has_id(())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _numbers(_path(key), **{bound: float(value)})
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return _field(_path(key), range={bound: value.isoformat()})
    raise TypeError(f"'{operator}' needs a number or an ISO date, not {value!r}")


def _numbers(path: str, **bounds: float) -> Filter:
    if not all(map(math.isfinite, bounds.values())):  # JSON has no others
        raise ValueError("a number must be finite")
    return _field(path, range=bounds)


def _field(path: str, **condition: Any) -> Filter:
    return {"must": [{"key": path, **condition}]}


def _text(value: str) -> str:
    """:raises ValueError: for what is no Unicode: it cannot be sent, nor matched."""
    value.encode("utf-8")
    return value
