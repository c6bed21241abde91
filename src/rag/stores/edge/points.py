"""Points as Qdrant Edge takes them."""

from __future__ import annotations

from typing import Any

import qdrant_edge as qe

from rag.stores.base.points import DENSE, SPARSE, Point, checked_json


def edge_point(point: Point) -> qe.Point:
    """Convert a point for the engine.

    :raises ValueError: for text that is no Unicode.
    """
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense
    if point.sparse is not None:
        vectors[SPARSE] = qe.SparseVector(point.sparse.indices, point.sparse.values)
    try:
        return qe.Point(point.id, vectors, point.payload)
    except TypeError:
        checked_json(point.id, point.payload)  # says it in fewer words
        raise
