"""Filters as Haystack writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from rag.pipelines.models import QueryFilters
from rag.vault import normalize_tags

Filter = dict[str, Any]


def build_qdrant_filters(filters: QueryFilters | None) -> Filter | None:
    """Return the Haystack filter for vaults (any of), tags (all of) and dates (inclusive).

    `paths` are not part of it: they need the index's list of notes (`understand`).
    """
    if filters is None:
        return None
    conditions: list[Filter | None] = []
    if filters.vaults:
        conditions.append(one_of("vault", filters.vaults))
    conditions += [
        _condition("tags", "==", normalize_tags([tag])[0])
        for tag in filters.tags or []
        if normalize_tags([tag])
    ]
    if filters.date_from:
        conditions.append(_condition("created", ">=", _day(filters.date_from)))
    if filters.date_to:
        last = f"{_day(filters.date_to)}T23:59:59.999999"
        conditions.append(_condition("created", "<=", last))
    return all_of(conditions)


def all_of(conditions: Iterable[Filter | None]) -> Filter | None:
    """Return the filter that holds where all of `conditions` do; `None` holds everywhere."""
    held = [condition for condition in conditions if condition]
    if len(held) > 1:
        return {"operator": "AND", "conditions": held}
    return held[0] if held else None


def one_of(field: str, values: Sequence[str]) -> Filter:
    """Return the filter for documents whose `meta.field` is one of `values`."""
    if len(values) == 1:
        return _condition(field, "==", values[0])
    return _condition(field, "in", list(values))


def none_of(condition: Filter | None) -> Filter | None:
    """Return the filter that holds where `condition` does not."""
    return {"operator": "NOT", "conditions": [condition]} if condition else None


def _condition(field: str, operator: str, value: Any) -> Filter:
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def _day(value: date) -> str:
    return (value.date() if isinstance(value, datetime) else value).isoformat()
