"""What takes more than one question to a backend: all its points, the newest ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.stores.base.backend import Backend, Fields
from rag.stores.base.points import Filter, Point, sparse_vector
from rag.stores.base.scored_chunk import CANDIDATE_FIELDS, Candidate, to_candidate
from rag.text.bm25 import SparseVector

Query = SparseEmbedding | list[float]

_DATED_FIELDS = [*CANDIDATE_FIELDS, "meta.created"]


def asks_anything(query: Query) -> bool:
    """Return whether a query can find anything: one by words has some."""
    return not isinstance(query, SparseEmbedding) or bool(query.indices)


def any_of(dimensions: Sequence[int]) -> SparseVector:
    """Return the vector that finds each point with one of these dimensions."""
    return sparse_vector(SparseEmbedding(list(dimensions), [1.0] * len(dimensions)))


def scroll_pages(
    backend: Backend,
    size: int,
    offset: str | None = None,
    where: Filter | None = None,
    *,
    fields: Fields = True,
    vectors: bool = False,
) -> Iterator[tuple[list[Point], str | None]]:
    """Yield points in order of id, `size` at a time, each time with the offset to go on from."""
    while True:
        points, offset = backend.scroll(size, offset, where, fields=fields, vectors=vectors)
        yield points, offset
        if offset is None:
            return


def newest_chunks(backend: Backend, where: Filter | None, top_k: int) -> list[Candidate]:
    """Return chunks of the notes created last, as `BaseDocumentStore.newest` says; then those of
    notes without a date."""
    if top_k < 1:
        return []
    limit, points = 4 * top_k, backend.newest(4 * top_k, where, _DATED_FIELDS)
    while limit == len(points) and _created(points[-1]) == _created(points[top_k - 1]):
        limit *= 4
        points = backend.newest(limit, where, _DATED_FIELDS)
    if len(points) < limit:
        points += _undated(backend, where, limit)
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


def _undated(backend: Backend, where: Filter | None, limit: int) -> list[Point]:
    """Return chunks of notes without a date, of which the engine knows no order; at most as many.

    :param limit: more than the chunks there are of notes with a date.
    """
    points, _ = backend.scroll(2 * limit, None, where, fields=_DATED_FIELDS)
    return [point for point in points if not _created(point)][:limit]


def _created(point: Point) -> str:
    return str((point.payload.get("meta") or {}).get("created", ""))
