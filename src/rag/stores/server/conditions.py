"""Conditions as filters of a Qdrant server, in JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

from rag.stores.base import conditions as own
from rag.stores.base.filters import filter_errors

Json = dict[str, Any]


def server_filter(where: own.Condition | None) -> Json | None:
    """Translate a condition; `None` is no filter.

    :raises FilterError: when it cannot be sent.
    """
    if where is None:
        return None
    with filter_errors():
        return _translate(where)


def _translate(where: own.Condition) -> Json:
    match where:
        case own.AllOf(conditions):
            return {"must": [_translate(condition) for condition in conditions]}
        case own.AnyOf(conditions):
            return {"should": [_translate(condition) for condition in conditions]}
        case own.NoneOf(conditions):
            return {"must_not": [_translate(condition) for condition in conditions]}
        case own.HasId(ids):
            return {"must": [{"has_id": sorted(ids)}]}
        case own.HasVector(name):
            return {"must": [{"has_vector": name}]}
        case own.IsEmpty(path):
            _check_text(path)
            return {"must": [{"is_empty": {"key": path}}]}
        case own.Matches(path, value):
            _check_text(str(value))
            return _field(path, match={"value": value})
        case own.MatchesAny(path, values):
            _check_text("".join(values))
            return _field(path, match={"any": values})
        case own.Counts(path, number):
            return _field(path, values_count={"gte": number, "lte": number})
        case own.InRange(path, bounds):
            return _range(path, bounds)
        case own.InPeriod(path, moments):
            return _field(path, range=dict(moments))


def _range(path: str, bounds: Mapping[str, float]) -> Json:
    if any(map(math.isnan, bounds.values())):
        return _translate(own.HasId(()))
    largest = sys.float_info.max  # JSON has no infinity
    finite = {name: min(max(value, -largest), largest) for name, value in bounds.items()}
    return _field(path, range=finite)


def _field(path: str, **condition: Json) -> Json:
    _check_text(path)
    return {"must": [{"key": path, **condition}]}


def _check_text(text: str) -> None:
    """The embedded engine refuses what is no Unicode itself; it cannot be sent either."""
    text.encode("utf-8")
