"""Conditions as filters of Qdrant Edge."""

from __future__ import annotations

from typing import Any

import qdrant_edge as qe

from rag.stores.base import conditions as own
from rag.stores.base.filters import filter_errors


def edge_filter(where: own.Condition | None) -> qe.Filter | None:
    """Translate a condition; `None` is no filter.

    :raises FilterError: when the engine does not take it.
    """
    if where is None:
        return None
    with filter_errors():
        return _translate(where)


def _translate(where: own.Condition) -> qe.Filter:
    match where:
        case own.AllOf(conditions):
            return qe.Filter(must=[_translate(condition) for condition in conditions])
        case own.AnyOf(conditions):
            return qe.Filter(should=[_translate(condition) for condition in conditions])
        case own.NoneOf(conditions):
            return qe.Filter(must_not=[_translate(condition) for condition in conditions])
        case own.HasId(ids):
            wanted: set[Any] = set(ids)
            return qe.Filter(must=[qe.HasIdCondition(wanted)])
        case own.HasVector(name):
            return qe.Filter(must=[qe.HasVectorCondition(name)])
        case own.IsEmpty(path):
            return qe.Filter(must=[qe.IsEmptyCondition(path)])
        case own.Matches(path, value):
            return _field(path, match=qe.MatchValue(value))
        case own.MatchesAny(path, values):
            return _field(path, match=qe.MatchAny(values))
        case own.Counts(path, number):
            return _field(path, values_count=qe.ValuesCount(gte=number, lte=number))
        case own.InRange(path, bounds):
            return _field(path, range=qe.RangeFloat(**bounds))
        case own.InPeriod(path, moments):
            return _field(path, range=qe.RangeDateTime(**moments))


def _field(path: str, **condition: Any) -> qe.Filter:
    return qe.Filter(must=[qe.FieldCondition(path, **condition)])
