"""Conditions as filters of a Qdrant server, as its client writes them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

from qdrant_client import models

from rag.stores.base import conditions as own
from rag.stores.base.filters import filter_errors


def server_filter(where: own.Condition | None) -> models.Filter | None:
    """Translate a condition; `None` is no filter.

    :raises FilterError: when it cannot be sent.
    """
    if where is None:
        return None
    with filter_errors():
        return _translate(where)


def _translate(where: own.Condition) -> models.Filter:
    match where:
        case own.AllOf(conditions):
            return models.Filter(must=[_translate(condition) for condition in conditions])
        case own.AnyOf(conditions):
            return models.Filter(should=[_translate(condition) for condition in conditions])
        case own.NoneOf(conditions):
            return models.Filter(must_not=[_translate(condition) for condition in conditions])
        case own.HasId(ids):
            return models.Filter(must=[models.HasIdCondition(has_id=sorted(ids))])
        case own.HasVector(name):
            return models.Filter(must=[models.HasVectorCondition(has_vector=name)])
        case own.IsEmpty(path):
            _check_text(path)
            field = models.PayloadField(key=path)
            return models.Filter(must=[models.IsEmptyCondition(is_empty=field)])
        case own.Matches(path, value):
            _check_text(str(value))
            return _field(path, match=models.MatchValue(value=value))
        case own.MatchesAny(path, values):
            _check_text("".join(values))
            return _field(path, match=models.MatchAny(any=values))
        case own.Counts(path, number):
            return _field(path, values_count=models.ValuesCount(gte=number, lte=number))
        case own.InRange(path, bounds):
            return _range(path, bounds)
        case own.InPeriod(path, moments):
            return _field(path, range=models.DatetimeRange.model_validate(moments))


def _range(path: str, bounds: Mapping[str, float]) -> models.Filter:
    if any(map(math.isnan, bounds.values())):
        return _translate(own.HasId(()))
    largest = sys.float_info.max  # JSON has no infinity
    finite = {name: min(max(value, -largest), largest) for name, value in bounds.items()}
    return _field(path, range=models.Range(**finite))


def _field(path: str, **condition: Any) -> models.Filter:
    _check_text(path)
    return models.Filter(must=[models.FieldCondition(key=path, **condition)])


def _check_text(text: str) -> None:
    """The embedded engine refuses what is no Unicode itself; the client fails as it sends it."""
    text.encode("utf-8")
