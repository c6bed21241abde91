"""Which numbers are a vector, and the one vector of a text that was embedded in windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, isfinite
from operator import mul
from typing import Any

from rag.clients.servers.trouble import BadVectors

Vector = list[float]


def usable(given: Sequence[Any], count: int, dimension: int = 0) -> list[Vector | None]:
    """Return the vectors that a server gave, `None` for each that is no vector.

    A vector has finite numbers, not all of them zero.

    :param count: how many there must be.
    :param dimension: the length each must have; 0 for any, but all the same.
    :raises BadVectors: when there are more or fewer, when a length is wrong, and when none of
        them is a vector.
    """
    if len(given) != count:
        raise BadVectors(f"gave {len(given)} vectors for {count} texts")
    vectors = [_vector(numbers) for numbers in given]
    lengths = {len(vector) for vector in vectors if vector}
    if not lengths:
        raise BadVectors("gave vectors that are zero or no numbers")
    wrong = lengths - {dimension or max(lengths)}
    if wrong:
        raise BadVectors(
            f"gave vectors of {min(wrong)} numbers where {dimension or max(lengths)} are due"
        )
    return vectors


def _vector(numbers: Any) -> Vector | None:
    try:
        vector = [*map(float, numbers)]  # JSON of Go writes 1.0 as 1
    except (TypeError, ValueError):
        return None
    length = hypot(*vector)
    return vector if length and isfinite(length) else None


def mean(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector | None:
    """Return the weighted mean of unit vectors, again of length 1; `None` if it is zero."""
    scales = [weight / hypot(*vector) for vector, weight in zip(vectors, weights, strict=True)]
    middle = [sum(map(mul, column, scales)) for column in zip(*vectors, strict=True)]
    norm = hypot(*middle)
    return [number / norm for number in middle] if norm else None
