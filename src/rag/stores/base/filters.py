"""Haystack filters as Qdrant filters, those of the embedded engine or those of a server.

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
from datetime import datetime
from typing import Any

from haystack.errors import FilterError

from rag.stores.base.batch import Batch
from rag.stores.base.points import FALSE_FIELDS, TRUE_FIELDS
from rag.stores.edge.conditions import Conditions, EdgeConditions

_TOP_LEVEL = ("id", "content", "blob", "score")
_BARE_NAME = re.compile(r"[\w-]+(\[\d*\])*$")
_EXACT_INTEGER = 1 << 53
_INTEGERS = 1 << 63
_RANGES = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}

_EDGE = EdgeConditions()


def convert_filters(filters: dict[str, Any] | None, to: Conditions = _EDGE) -> Any:
    """Convert a Haystack filter; `None` and `{}` mean no filter, which is `None`.

    :param to: makes the conditions of the engine that is to read it.
    :raises FilterError: when the filter is malformed or compares what cannot be compared.
    """
    try:
        return _convert(filters, to) if filters else None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FilterError(f"a filter that cannot be understood: {error}") from error


def _convert(node: Any, to: Conditions) -> Any:
    if not isinstance(node, dict) or "operator" not in node:
        raise FilterError(f"a filter needs an 'operator': {node!r}")
    if "field" in node:
        return _comparison(node, to)
    operator, conditions = node["operator"], node.get("conditions")
    if not isinstance(conditions, list):
        raise FilterError(f"a filter needs a 'field' or a list of 'conditions': {node!r}")
    nested = [_convert(condition, to) for condition in conditions]
    match operator:
        case "AND":
            return to.all_of(nested)
        case "OR":
            return to.any_of(nested) if nested else to.has_id(())
        case "NOT":
            return to.none_of(nested if len(nested) == 1 else [to.all_of(nested)])
    raise FilterError(f"unknown logical operator {operator!r}: use AND, OR or NOT")


def _comparison(node: dict[str, Any], to: Conditions) -> Any:
    if "value" not in node:
        raise FilterError(f"a comparison needs a 'value': {node!r}")
    operator, value = node["operator"], node["value"]
    key = field_key(node["field"])
    if operator in ("==", "!="):
        equal = _equal(key, value, to)
        return equal if operator == "==" else to.none_of([equal])
    if operator in ("in", "not in"):
        if not isinstance(value, (list, Batch)):
            raise FilterError(f"'{operator}' needs a list, not {value!r}")
        found = _any_of(key, list(value), to)
        return found if operator == "in" else to.none_of([found])
    if operator in _RANGES:
        return _range(key, operator, value, to)
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


def _equal(key: str, value: Any, to: Conditions) -> Any:
    path = _path(key)
    if value is None:
        return to.is_empty(path)
    if isinstance(value, bool):
        return to.matches(TRUE_FIELDS if value else FALSE_FIELDS, key)
    if isinstance(value, str):
        return to.matches(path, value)
    if isinstance(value, int) and abs(value) >= _EXACT_INTEGER:
        if abs(value) >= _INTEGERS:
            raise OverflowError(f"{value} has more than 64 bits")
        return to.matches(path, value)
    if isinstance(value, (int, float)):
        return to.numbers(path, gte=float(value), lte=float(value))
    if isinstance(value, list):
        return to.all_of([to.counts(path, len(value)), *(_equal(key, item, to) for item in value)])
    raise FilterError(f"cannot compare {key} with a {type(value).__name__}")


def _any_of(key: str, values: list[Any], to: Conditions) -> Any:
    if not values:
        return to.has_id(())
    if all(isinstance(value, str) for value in values):
        return to.matches_any(_path(key), values)
    return to.any_of([_equal(key, value, to) for value in values])


def _range(key: str, operator: str, value: Any, to: Conditions) -> Any:
    bound = _RANGES[operator]
    if value is None:
        return to.has_id(())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return to.numbers(_path(key), **{bound: float(value)})
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise FilterError(
                f"'{operator}' needs a number or an ISO date, not {value!r}"
            ) from None
    if isinstance(value, datetime):
        return to.moments(_path(key), **{bound: value.isoformat()})
    raise FilterError(f"'{operator}' needs a number or an ISO date, not {value!r}")
