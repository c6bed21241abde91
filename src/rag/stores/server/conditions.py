"""The conditions of a Qdrant server, as its client writes them."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Sequence
from typing import Any

from qdrant_client import models


class ServerConditions:
    """What `rag.stores.edge.conditions` describes, for a server."""

    def all_of(self, conditions: Sequence[Any]) -> models.Filter:
        return models.Filter(must=list(conditions))

    def any_of(self, conditions: Sequence[Any]) -> models.Filter:
        return models.Filter(should=list(conditions))

    def none_of(self, conditions: Sequence[Any]) -> models.Filter:
        return models.Filter(must_not=list(conditions))

    def has_id(self, ids: Collection[str]) -> models.Filter:
        return models.Filter(must=[models.HasIdCondition(has_id=sorted(ids))])

    def has_vector(self, name: str) -> models.Filter:
        return models.Filter(must=[models.HasVectorCondition(has_vector=name)])

    def is_empty(self, path: str) -> models.Filter:
        _check_text(path)
        field = models.PayloadField(key=path)
        return models.Filter(must=[models.IsEmptyCondition(is_empty=field)])

    def matches(self, path: str, value: str | int) -> models.Filter:
        _check_text(str(value))
        return _field(path, match=models.MatchValue(value=value))

    def matches_any(self, path: str, values: list[str]) -> models.Filter:
        _check_text("".join(values))
        return _field(path, match=models.MatchAny(any=values))

    def counts(self, path: str, number: int) -> models.Filter:
        return _field(path, values_count=models.ValuesCount(gte=number, lte=number))

    def numbers(self, path: str, **bounds: float) -> models.Filter:
        if any(map(math.isnan, bounds.values())):
            return self.has_id(())
        largest = sys.float_info.max  # JSON has no infinity
        finite = {name: min(max(value, -largest), largest) for name, value in bounds.items()}
        return _field(path, range=models.Range(**finite))

    def moments(self, path: str, **bounds: str) -> models.Filter:
        return _field(path, range=models.DatetimeRange.model_validate(bounds))


def _field(path: str, **condition: Any) -> models.Filter:
    _check_text(path)
    return models.Filter(must=[models.FieldCondition(key=path, **condition)])


def _check_text(text: str) -> None:
    """The embedded engine refuses what is no Unicode itself; the client fails as it sends it."""
    text.encode("utf-8")
