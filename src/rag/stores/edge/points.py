"""Points as Qdrant Edge takes them, and back."""

from __future__ import annotations

from typing import Any

import qdrant_edge as qe

from rag.stores.base.points import DENSE, SPARSE, Point, checked_json
from rag.text.bm25 import SparseVector


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


def own_point(record: qe.Record) -> Point:
    """Convert what the engine returned, with its vectors where they were asked for."""
    vectors: Any = record.vector or {}
    sparse = vectors.get(SPARSE)
    own = None if sparse is None else SparseVector(sparse.indices, sparse.values)
    return Point(str(record.id), record.payload or {}, vectors.get(DENSE), own)


def scored_point(found: qe.ScoredPoint) -> Point:
    """Convert what the engine found, without vectors."""
    return Point(str(found.id), found.payload or {}, score=found.score)
