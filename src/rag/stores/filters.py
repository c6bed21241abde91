"""Haystack filters as Qdrant Edge filters.

| Haystack | here |
|---|---|
| `==`, `!=` | text, number, boolean, `None` (missing, null or empty), list (same members) |
| `>`, `>=`, `<`, `<=` | numbers, ISO dates and date-times; `None` matches nothing |
| `in`, `not in` | lists of what `==` takes; `in []` matches nothing, `not in []` everything |
| `AND`, `OR`, `NOT` | any depth; `NOT` is true when not all of its conditions hold |

On a field that holds a list, `==` and `in` hold when one member matches, as in Qdrant.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import qdrant_edge as qe
from haystack.errors import FilterError

# Qdrant Edge cannot match booleans (it takes True for 1), so a point lists, under these two
# keys, which of its fields are true and which are false.
TRUE_FIELDS = "_true"
FALSE_FIELDS = "_false"

_TOP_LEVEL = ("id", "content", "blob", "score")
_BARE_NAME = re.compile(r"[\w-]+(\[\d*\])*$")
_EXACT_INTEGER = 1 << 53
_RANGES = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}

NOTHING = qe.Filter(must=[qe.HasIdCondition(set())])


def convert_filters(filters: dict[str, Any] | None) -> qe.Filter | None:
    """Convert a Haystack filter; `None` and `{}` mean no filter.

    :raises FilterError: when the filter is malformed or compares what cannot be compared.
    """
    try:
        return _convert(filters) if filters else None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FilterError(f"a filter that cannot be understood: {error}") from error


def _convert(node: Any) -> qe.Filter:
    if not isinstance(node, dict) or "operator" not in node:
        raise FilterError(f"a filter needs an 'operator': {node!r}")
    if "field" in node:
        return _comparison(node)
    operator, conditions = node["operator"], node.get("conditions")
    if not isinstance(conditions, list):
        raise FilterError(f"a filter needs a 'field' or a list of 'conditions': {node!r}")
    nested: list[Any] = [_convert(condition) for condition in conditions]
    match operator:
        case "AND":
            return qe.Filter(must=nested)
        case "OR":
            return qe.Filter(should=nested) if nested else NOTHING
        case "NOT":
            return _negated(qe.Filter(must=nested))
    raise FilterError(f"unknown logical operator {operator!r}: use AND, OR or NOT")


def _comparison(node: dict[str, Any]) -> qe.Filter:
    if "value" not in node:
        raise FilterError(f"a comparison needs a 'value': {node!r}")
    operator, value = node["operator"], node["value"]
    key = field_key(node["field"])
    if operator in ("==", "!="):
        equal = _equal(key, value)
        return equal if operator == "==" else _negated(equal)
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"'{operator}' needs a list, not {value!r}")
        found = _any_of(key, value)
        return found if operator == "in" else _negated(found)
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
    return ".".join(
        part if _BARE_NAME.match(part) else f'"{part}"' if part else part for part in key.split(".")
    )


def _field(key: str, **condition: Any) -> qe.Filter:
    return qe.Filter(must=[qe.FieldCondition(_path(key), **condition)])


def _negated(condition: qe.Filter) -> qe.Filter:
    return qe.Filter(must_not=[condition])


def _equal(key: str, value: Any) -> qe.Filter:
    if value is None:
        return qe.Filter(must=[qe.IsEmptyCondition(_path(key))])
    if isinstance(value, bool):
        return _field(TRUE_FIELDS if value else FALSE_FIELDS, match=qe.MatchValue(key))
    if isinstance(value, str):
        return _field(key, match=qe.MatchValue(value))
    if isinstance(value, int) and abs(value) >= _EXACT_INTEGER:
        return _field(key, match=qe.MatchValue(value))
    if isinstance(value, (int, float)):
        return _field(key, range=qe.RangeFloat(gte=float(value), lte=float(value)))
    if isinstance(value, list):
        size = _field(key, values_count=qe.ValuesCount(gte=len(value), lte=len(value)))
        return qe.Filter(must=[size, *(_equal(key, item) for item in value)])
    raise FilterError(f"cannot compare {key} with a {type(value).__name__}")


def _any_of(key: str, values: list[Any]) -> qe.Filter:
    if not values:
        return NOTHING
    if all(isinstance(value, str) for value in values):
        return _field(key, match=qe.MatchAny(values))
    return qe.Filter(should=[_equal(key, value) for value in values])


def _range(key: str, operator: str, value: Any) -> qe.Filter:
    bound = _RANGES[operator]
    if value is None:
        return NOTHING
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _field(key, range=qe.RangeFloat(**{bound: float(value)}))
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise FilterError(
                f"'{operator}' needs a number or an ISO date, not {value!r}"
            ) from None
    if isinstance(value, datetime):
        return _field(key, range=qe.RangeDateTime(**{bound: value.isoformat()}))
    raise FilterError(f"'{operator}' needs a number or an ISO date, not {value!r}")
