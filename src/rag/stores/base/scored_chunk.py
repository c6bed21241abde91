"""Queries, and candidates: what ranking needs to know of a chunk, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Union

from rag.stores.base.points import Point

if TYPE_CHECKING:
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

Query = Union["SparseEmbedding", list[float]]  # by words, or by meaning
CANDIDATE_FIELDS = ["id", "meta.file_id", "meta.section"]


class Candidate(NamedTuple):
    """A chunk that a query found: its document's id, the id of its note, which section of the
    note it is part of, and its score.

    `meaning` is what of the score is due to its embedding, `cosine` how near that is to the
    query's: 0 where there is none. `gains` is what of the score is due to variants of the query,
    by their words and by their meaning; `forms` what is due to the very words of the query.
    """

    id: str
    note: str
    section: int
    score: float
    meaning: float = 0.0
    cosine: float = 0.0
    gains: tuple[float, float] = (0.0, 0.0)
    forms: float = 0.0


def to_candidate(point: Point) -> Candidate:
    """Convert a point whose payload holds `CANDIDATE_FIELDS`; a chunk without a note is one."""
    payload = point.payload
    meta = payload.get("meta") or {}
    identity = str(payload.get("id", point.id))
    return Candidate(
        identity, meta.get("file_id") or identity, meta.get("section") or 0, point.score
    )


def cosines_of(
    vectors: Mapping[str, Sequence[Sequence[float]]], embedding: Sequence[float]
) -> dict[str, list[float]]:
    """Return how near sentences are to an embedding, by the id of their document.

    :param vectors: of the sentences of each, of length 1, from `BaseDocumentStore.embeddings_of`.
    """
    import numpy as np

    wanted = np.asarray(embedding, np.float32)
    return {key: (np.asarray(rows, np.float32) @ wanted).tolist() for key, rows in vectors.items()}
