"""What ranking asks of an index, beyond the protocol of Haystack's document stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import qdrant_edge as qe
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.stores.access import ShardAccess
from rag.stores.candidates import CANDIDATE_FIELDS, Candidate, to_candidate
from rag.stores.engine import guard
from rag.stores.filters import convert_filters
from rag.stores.points import (
    DENSE,
    SPARSE,
    dense_vector,
    point_id,
    sparse_vector,
    to_document,
)


class ShardQueries:
    """Queries of the shard that `access` opens.

    :param access: whose shard is read.
    """

    def __init__(self, access: ShardAccess) -> None:
        self.access = access

    @contextmanager
    def _reading(self, what: str) -> Iterator[qe.EdgeShard | None]:
        with self.access.mutex, guard(what):
            yield self.access.shard()

    def _query_points(
        self, query: qe.Query, filters: dict[str, Any] | None, top_k: int, payload: bool | list[str]
    ) -> list[Any]:
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {top_k}")
        request = qe.QueryRequest(
            limit=top_k, query=query, filter=convert_filters(filters), with_payload=payload
        )
        with self._reading("search") as shard:
            points = shard.query(request) if shard else []
        return _ordered(points)

    def find_candidates(
        self, query: SparseEmbedding, filters: dict[str, Any] | None = None, top_k: int = 100
    ) -> list[Candidate]:
        """Do as `query_sparse`, but return no more of each chunk than ranking needs."""
        if not query.indices:
            return []
        asked = qe.Query.Nearest(sparse_vector(query), using=SPARSE)
        return [
            to_candidate(p) for p in self._query_points(asked, filters, top_k, CANDIDATE_FIELDS)
        ]

    def find_both(
        self,
        query: SparseEmbedding,
        embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 100,
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Return the `top_k` chunks by words and the `top_k` nearest to an embedding, asked in
        one batch; those of the second list have their similarity as score."""
        lexical = qe.Query.Nearest(sparse_vector(query), using=SPARSE)
        dense = qe.Query.Nearest(dense_vector(embedding), using=DENSE)
        condition = convert_filters(filters)
        asked = [dense, lexical] if query.indices else [dense]
        requests = [
            qe.QueryRequest(
                limit=top_k, query=one, filter=condition, with_payload=[*CANDIDATE_FIELDS]
            )
            for one in asked
        ]
        with self._reading("search") as shard:
            found = shard.query_batch(qe.QueryBatchRequest(requests)) if shard else [[]]
        nearest, *rest = ([to_candidate(p) for p in _ordered(points)] for points in found)
        return rest[0] if rest else [], nearest

    def find_among(self, query: SparseEmbedding, ids: Sequence[str]) -> list[Candidate]:
        """Return those of some documents that share words with a query, best first."""
        if not query.indices or not ids:
            return []
        among = qe.Filter(must=[qe.HasIdCondition({point_id(identity) for identity in ids})])
        request = qe.QueryRequest(
            limit=len(ids),
            query=qe.Query.Nearest(sparse_vector(query), using=SPARSE),
            filter=among,
            with_payload=[*CANDIDATE_FIELDS],
        )
        with self._reading("search") as shard:
            return [to_candidate(p) for p in _ordered(shard.query(request))] if shard else []

    def get_documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents of these ids, in their order, without vectors; unknown ones are
        passed over."""
        wanted: list[Any] = [point_id(identity) for identity in ids]
        with self._reading("read documents") as shard:
            points = shard.retrieve(wanted, True, False) if shard and wanted else []
        found = {str(point.id): point for point in points}
        return [to_document(found[key]) for key in wanted if key in found]

    def holding(self, dimension: int) -> list[Document]:
        """Return all documents whose sparse vector has a dimension."""
        points = self._query_points(_any_of([dimension]), None, self._size(), True)
        return [to_document(point) for point in points]

    def notes_with(self, dimensions: Sequence[int]) -> list[str]:
        """Return the ids of the notes that have a chunk with any of these dimensions."""
        points = self._query_points(_any_of(dimensions), None, self._size(), CANDIDATE_FIELDS)
        return sorted({to_candidate(point).note for point in points})

    def is_used(self, dimension: int) -> bool:
        """Tell whether any document has a dimension."""
        return bool(self._query_points(_any_of([dimension]), None, 1, False))

    def all_documents(self) -> list[Document]:
        """Return every document, without vectors: for what no index can find."""
        request = qe.ScrollRequest(limit=self._size(), with_payload=True)
        with self._reading("read documents") as shard:
            points = shard.scroll(request)[0] if shard else []
        return [to_document(point) for point in points]

    def _size(self) -> int:
        with self._reading("count") as shard:
            return max(1, shard.count(qe.CountRequest())) if shard else 1

    def score_dimensions(
        self, query: SparseEmbedding, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return, for each dimension of a query, what it adds to the score of which document.

        The engine computes each, so that they add up to what `find_candidates` says.
        """
        wanted = {point_id(identity): identity for identity in ids}
        if not wanted:
            return [{} for _ in query.indices]
        among = qe.Filter(must=[qe.HasIdCondition(set(wanted))])
        requests = [
            qe.QueryRequest(
                limit=len(wanted),
                query=qe.Query.Nearest(
                    sparse_vector(SparseEmbedding([index], [value])), using=SPARSE
                ),
                filter=among,
            )
            for index, value in zip(query.indices, query.values, strict=True)
        ]
        with self._reading("explain") as shard:
            found = [shard.query(request) if shard else [] for request in requests]
        return [{wanted[str(point.id)]: point.score for point in points} for points in found]

    def newest(self, filters: dict[str, Any] | None = None, top_k: int = 10) -> list[Candidate]:
        """Return chunks of the notes created last, those of a note beside each other, score 0.

        They are `top_k`, and whatever else was created when the last of these was.
        """
        limit, points = 4 * top_k, self._scroll_newest(filters, 4 * top_k)
        while 0 < limit == len(points) and _created(points[-1]) == _created(points[top_k - 1]):
            limit *= 4
            points = self._scroll_newest(filters, limit)
        # The engine returns those of one moment in no certain order.
        last = _created(points[top_k - 1]) if 0 < top_k < len(points) else ""
        found = [
            (_created(point), to_candidate(point))
            for at, point in enumerate(points)
            if at < top_k or _created(point) == last
        ]
        found.sort(key=lambda pair: (pair[1].note, pair[1].id))
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [candidate for _, candidate in found]

    def _scroll_newest(self, filters: dict[str, Any] | None, limit: int) -> list[Any]:
        request = qe.ScrollRequest(
            limit=limit,
            filter=convert_filters(filters),
            with_payload=[*CANDIDATE_FIELDS, "meta.created"],
            order_by=qe.OrderBy("meta.created", qe.Direction.Desc),
        )
        with self._reading("list documents") as shard:
            return shard.scroll(request)[0] if shard and limit else []


def _ordered(points: list[Any]) -> list[Any]:
    """The engine returns equal scores in no certain order."""
    return sorted(points, key=lambda point: (-point.score, str(point.id)))


def _any_of(dimensions: Sequence[int]) -> qe.Query:
    embedding = SparseEmbedding(list(dimensions), [1.0] * len(dimensions))
    return qe.Query.Nearest(sparse_vector(embedding), using=SPARSE)


def _created(point: Any) -> str:
    return str((point.payload.get("meta") or {}).get("created", ""))
