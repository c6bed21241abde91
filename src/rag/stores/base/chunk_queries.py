"""What ranking asks of an index, beyond the protocol of Haystack's document stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import qdrant_edge as qe
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.stores.base.backend import Ask, Backend
from rag.stores.base.filters import convert_filters
from rag.stores.base.points import dense_vector, point_id, sparse_vector, to_document
from rag.stores.base.scored_chunk import CANDIDATE_FIELDS, Candidate, to_candidate
from rag.text.bm25 import SparseVector, subject_of

_PAGE = 1000
_MATCHES = 10_000  # points asked for where all are wanted; more when there are so many


class NoteQueries:
    """Queries of the points of a backend; the embedded engine and a server answer alike.

    :param backend: whose points are read.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def _where(self, filters: dict[str, Any] | None) -> Any:
        return convert_filters(filters, self.backend.conditions)

    def _search(self, *asks: Ask) -> list[list[Any]]:
        if any(ask.limit < 1 for ask in asks):
            raise ValueError(f"top_k must be at least 1, not {asks[0].limit}")
        return [_ordered(points) for points in self.backend.search(asks)]

    # -- ranking -----------------------------------------------------------------------

    def find_candidates(
        self, query: SparseEmbedding, filters: dict[str, Any] | None = None, top_k: int = 100
    ) -> list[Candidate]:
        """Do as `query_sparse`, but return no more of each chunk than ranking needs."""
        if not query.indices:
            return []
        asked = ask_for(query, top_k, self._where(filters), CANDIDATE_FIELDS)
        return [to_candidate(point) for point in self._search(asked)[0]]

    def find_both(
        self,
        query: SparseEmbedding,
        embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int = 100,
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Return the `top_k` chunks by words and the `top_k` nearest to an embedding, asked in
        one batch; those of the second list have their similarity as score."""
        nearest, lexical = self.find_lists([(embedding, top_k), (query, top_k)], filters)
        return lexical, nearest

    def find_lists(
        self,
        queries: Sequence[tuple[SparseEmbedding | list[float], int]],
        filters: dict[str, Any] | None = None,
    ) -> list[list[Candidate]]:
        """Return the best chunks of each query, sparse or dense, as many as stand beside it; all
        are asked in one batch. A sparse query without words finds none."""
        where = self._where(filters)
        asked = {
            at: ask_for(query, limit, where, CANDIDATE_FIELDS)
            for at, (query, limit) in enumerate(queries)
            if isinstance(query, list) or query.indices
        }
        found = dict(zip(asked, self._search(*asked.values()), strict=True)) if asked else {}
        return [[to_candidate(p) for p in found.get(at, [])] for at in range(len(queries))]

    def find_among(self, query: SparseEmbedding, ids: Sequence[str]) -> list[Candidate]:
        """Return those of some documents that share words with a query, best first."""
        if not query.indices or not ids:
            return []
        among = self.backend.conditions.has_id({point_id(identity) for identity in ids})
        asked = ask_for(query, len(ids), among, CANDIDATE_FIELDS)
        return [to_candidate(point) for point in self._search(asked)[0]]

    def score_dimensions(
        self, query: SparseEmbedding, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return, for each dimension of a query, what it adds to the score of which document.

        The engine computes each, so that they add up to what `find_candidates` says.
        """
        single = zip(query.indices, query.values, strict=True)
        return self.score_among([SparseEmbedding([i], [value]) for i, value in single], ids)

    def score_among(
        self, queries: Sequence[SparseEmbedding | list[float]], ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return, for each query, sparse or dense, what which of some documents scores."""
        wanted = {point_id(identity): identity for identity in ids}
        if not wanted:
            return [{} for _ in queries]
        among = self.backend.conditions.has_id(set(wanted))
        asked = [ask_for(query, len(wanted), among) for query in queries]
        return [
            {wanted[str(point.id)]: point.score for point in points}
            for points in self._search(*asked)
        ]

    # -- reading documents -------------------------------------------------------------

    def get_documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents of these ids, in their order, without vectors; unknown ones are
        passed over."""
        wanted = [point_id(identity) for identity in ids]
        found = {str(point.id): point for point in self.backend.retrieve(wanted)}
        return [to_document(found[key]) for key in wanted if key in found]

    def pages(
        self, filters: dict[str, Any] | None = None, size: int = _PAGE, offset: str | None = None
    ) -> Iterator[tuple[list[Document], str | None]]:
        """Yield the documents that a filter selects, with their vectors, in order of point id.

        They come `size` at a time, each time with the offset from which to go on later.

        :raises FilterError: when the filter is malformed.
        """
        where = self._where(filters)
        while True:
            points, following = self.backend.scroll(size, offset, where, vectors=True)
            offset = None if following is None else str(following)
            yield [to_document(point) for point in points], offset
            if offset is None:
                return

    def all_documents(self, most: int | None = None) -> list[Document]:
        """Return every document, without vectors: for what no index can find.

        :param most: return no more than these, the first by id.
        """
        found: list[Document] = []
        offset = None
        while most is None or len(found) < most:
            size = _PAGE if most is None else min(_PAGE, most - len(found))
            points, offset = self.backend.scroll(size, offset)
            found += map(to_document, points)
            if offset is None:
                break
        return found

    # -- words -------------------------------------------------------------------------

    def notes_with(self, dimensions: Sequence[int]) -> list[str]:
        """Return the ids of the notes that have a chunk with any of these dimensions."""
        points = self._matches(dimensions)
        return sorted({to_candidate(point).note for point in points})

    def points_with(self, dimensions: Sequence[int], most: int) -> dict[str, float] | None:
        """Return the scores, by id, of all points that have any of these dimensions; `None` when
        they are more than `most`.

        It is for many: a point's id alone is read in a tenth of the time of its fields.
        """
        points = self.backend.search([Ask(_any_of(dimensions), most + 1)])[0]
        return {str(point.id): point.score for point in points} if len(points) <= most else None

    def is_used(self, dimension: int, filters: dict[str, Any] | None = None) -> bool:
        """Tell whether any document that a filter selects has a dimension."""
        return bool(self._search(Ask(_any_of([dimension]), 1, self._where(filters)))[0])

    def expect(self, dimensions: Iterable[int]) -> None:
        """Make ready for queries with these dimensions.

        The embedded engine opens an index for those that a query has, and again for others: who
        is going to ask several queries says so, and it is opened once for all.
        """
        self.backend.expect(dimensions)

    def _matches(self, dimensions: Sequence[int]) -> list[Any]:
        """Return all points with any of these dimensions."""
        limit = _MATCHES
        while True:
            points = self._search(Ask(_any_of(dimensions), limit, None, CANDIDATE_FIELDS))[0]
            if len(points) < limit:
                return points
            limit *= 8

    # -- dates -------------------------------------------------------------------------

    def newest(self, filters: dict[str, Any] | None = None, top_k: int = 10) -> list[Candidate]:
        """Return chunks of the notes created last, those of a note beside each other, score 0.

        They are `top_k`, and whatever else was created when the last of these was.
        """
        if top_k < 1:
            return []
        limit, points = 4 * top_k, self._newest(filters, 4 * top_k)
        while limit == len(points) and _created(points[-1]) == _created(points[top_k - 1]):
            limit *= 4
            points = self._newest(filters, limit)
        # The engine returns those of one moment in no certain order.
        last = _created(points[top_k - 1]) if top_k < len(points) else ""
        found = [
            (_created(point), to_candidate(point))
            for at, point in enumerate(points)
            if at < top_k or _created(point) == last
        ]
        found.sort(key=lambda pair: (pair[1].note, pair[1].id))
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [candidate for _, candidate in found]

    def _newest(self, filters: dict[str, Any] | None, limit: int) -> list[Any]:
        fields = [*CANDIDATE_FIELDS, "meta.created"]
        return self.backend.newest(limit, self._where(filters), fields)


def _ordered(points: list[Any]) -> list[Any]:
    """The engine returns equal scores in no certain order."""
    return sorted(points, key=lambda point: (-point.score, str(point.id)))


def ask_for(
    query: SparseEmbedding | list[float], limit: int, where: Any, fields: bool | list[str] = False
) -> Ask:
    """Ask for the points nearest to a query; what shares no more than shingles is not found."""
    if isinstance(query, list):
        return Ask(dense_vector(query), limit, where, fields)
    subject = subject_of(SparseVector(query.indices, query.values))
    is_part = 0 < len(subject.indices) < len(query.indices)
    within = qe.SparseVector(subject.indices, subject.values) if is_part else None
    return Ask(sparse_vector(query), limit, where, fields, within)


def _any_of(dimensions: Sequence[int]) -> qe.SparseVector:
    return sparse_vector(SparseEmbedding(list(dimensions), [1.0] * len(dimensions)))


def _created(point: Any) -> str:
    return str((point.payload.get("meta") or {}).get("created", ""))
