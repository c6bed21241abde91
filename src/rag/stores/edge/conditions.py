"""Filters in JSON as the embedded engine takes them."""

from __future__ import annotations

from typing import Any

import qdrant_edge as qe
from haystack.errors import FilterError

from rag.stores.base.points import Filter


def edge_filter(where: Filter | None) -> qe.Filter | None:
    """Translate a filter; `None` is no filter.

    :raises FilterError: when the engine does not take it.
    """
    if where is None:
        return None
    try:
        return _filter(where)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FilterError(f"a filter that cannot be understood: {error}") from error


def _filter(where: Filter) -> qe.Filter:
    lists: dict[str, Any] = {how: [_condition(one) for one in some] for how, some in where.items()}
    return qe.Filter(**lists)


def _condition(one: dict[str, Any]) -> Any:
    match one:
        case {"has_id": ids}:
            return qe.HasIdCondition({*ids})
        case {"has_vector": name}:
            return qe.HasVectorCondition(name)
        case {"is_empty": {"key": path}}:
            return qe.IsEmptyCondition(path)
        case {"key": path, "match": {"value": value}}:
            return qe.FieldCondition(path, match=qe.MatchValue(value))
        case {"key": path, "match": {"any": values}}:
            return qe.FieldCondition(path, match=qe.MatchAny(values))
        case {"key": path, "values_count": bounds}:
            return qe.FieldCondition(path, values_count=qe.ValuesCount(**bounds))
        case {"key": path, "range": bounds}:
            is_of_dates = any(isinstance(bound, str) for bound in bounds.values())
            kind = qe.RangeDateTime if is_of_dates else qe.RangeFloat
            return qe.FieldCondition(path, range=kind(**bounds))
    return _filter(one)
