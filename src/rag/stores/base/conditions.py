"""What a filter is made of, in words that no engine knows; each backend translates them.

A path names a field of the payload, quoted where it must be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple


class AllOf(NamedTuple):
    """Holds when every condition holds; of none, always."""

    conditions: Sequence[Condition]


class AnyOf(NamedTuple):
    """Holds when one of some conditions holds."""

    conditions: Sequence[Condition]


class NoneOf(NamedTuple):
    """Holds when no condition holds."""

    conditions: Sequence[Condition]


class HasId(NamedTuple):
    """Holds for these points; of none, never."""

    ids: Collection[str]


class HasVector(NamedTuple):
    """Holds for points with that vector."""

    name: str


class IsEmpty(NamedTuple):
    """Holds when there is no value, or null, or an empty list."""

    path: str


class Matches(NamedTuple):
    """Holds when a value is that text or whole number."""

    path: str
    value: str | int


class MatchesAny(NamedTuple):
    """Holds when a value is one of these texts."""

    path: str
    values: list[str]


class Counts(NamedTuple):
    """Holds when there are so many values."""

    path: str
    number: int


class InRange(NamedTuple):
    """Holds when a number lies within `gt`, `gte`, `lt` and `lte`."""

    path: str
    bounds: Mapping[str, float]


class InPeriod(NamedTuple):
    """Holds when a date lies within such bounds, ISO dates or date-times."""

    path: str
    bounds: Mapping[str, str]


Condition = (
    AllOf
    | AnyOf
    | NoneOf
    | HasId
    | HasVector
    | IsEmpty
    | Matches
    | MatchesAny
    | Counts
    | InRange
    | InPeriod
)
