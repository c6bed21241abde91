"""Points as Qdrant Edge takes and gives them."""

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
    if point.embeddings:
        vectors[DENSE] = point.embeddings
    if point.sparse is not None:
        vectors[SPARSE] = qe.SparseVector(point.sparse.indices, point.sparse.values)
    try:
        return qe.Point(point.id, vectors, point.payload)
    except TypeError:
        checked_json(point.id, point.payload)  # says it in fewer words
        raise


def from_record(record: Any) -> Point:
    """Convert a record of the engine, with its vectors where they were asked for."""
    vectors = record.vector or {}
    sparse = vectors.get(SPARSE)
    own = None if sparse is None else SparseVector(sparse.indices, sparse.values)
    identity, payload = str(record.id), record.payload or {}
    return Point(identity, payload, vectors.get(DENSE), own)


def from_scored(found: Any) -> Point:
    """Convert a point that the engine found, without vectors."""
    return Point(str(found.id), found.payload or {}, score=found.score)
