"""What a filter is made of, in the words of the engine that reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import qdrant_edge as qe


class Conditions(Protocol):
    """Makes the conditions of one engine; each is a filter of its own, and may be part of others.

    A path names a field of the payload, quoted where it must be.
    """

    def all_of(self, conditions: Sequence[Any]) -> Any:
        """Hold when every condition holds; of none, always."""

    def any_of(self, conditions: Sequence[Any]) -> Any:
        """Hold when one of some conditions holds."""

    def none_of(self, conditions: Sequence[Any]) -> Any:
        """Hold when no condition holds."""

    def has_id(self, ids: Collection[str]) -> Any:
        """Hold for these points; of none, never."""

    def has_vector(self, name: str) -> Any:
        """Hold for points with that vector."""

    def is_empty(self, path: str) -> Any:
        """Hold when there is no value, or null, or an empty list."""

    def matches(self, path: str, value: str | int) -> Any:
        """Hold when a value is that text or whole number."""

    def matches_any(self, path: str, values: list[str]) -> Any:
        """Hold when a value is one of these texts."""

    def counts(self, path: str, number: int) -> Any:
        """Hold when there are so many values."""

    def numbers(self, path: str, **bounds: float) -> Any:
        """Hold when a number lies within `gt`, `gte`, `lt` and `lte`."""

    def moments(self, path: str, **bounds: str) -> Any:
        """Hold when a date lies within bounds, ISO dates or date-times."""


class EdgeConditions:
    """The conditions of Qdrant Edge."""

    def all_of(self, conditions: Sequence[Any]) -> qe.Filter:
        return qe.Filter(must=list(conditions))

    def any_of(self, conditions: Sequence[Any]) -> qe.Filter:
        return qe.Filter(should=list(conditions))

    def none_of(self, conditions: Sequence[Any]) -> qe.Filter:
        return qe.Filter(must_not=list(conditions))

    def has_id(self, ids: Collection[str]) -> qe.Filter:
        wanted: set[Any] = set(ids)
        return qe.Filter(must=[qe.HasIdCondition(wanted)])

    def has_vector(self, name: str) -> qe.Filter:
        return qe.Filter(must=[qe.HasVectorCondition(name)])

    def is_empty(self, path: str) -> qe.Filter:
        return qe.Filter(must=[qe.IsEmptyCondition(path)])

    def matches(self, path: str, value: str | int) -> qe.Filter:
        return _field(path, match=qe.MatchValue(value))

    def matches_any(self, path: str, values: list[str]) -> qe.Filter:
        return _field(path, match=qe.MatchAny(values))

    def counts(self, path: str, number: int) -> qe.Filter:
        return _field(path, values_count=qe.ValuesCount(gte=number, lte=number))

    def numbers(self, path: str, **bounds: float) -> qe.Filter:
        return _field(path, range=qe.RangeFloat(**bounds))

    def moments(self, path: str, **bounds: str) -> qe.Filter:
        return _field(path, range=qe.RangeDateTime(**bounds))


def _field(path: str, **condition: Any) -> qe.Filter:
    return qe.Filter(must=[qe.FieldCondition(path, **condition)])
