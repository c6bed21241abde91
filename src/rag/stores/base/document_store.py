"""A Haystack document store over any backend, with a manifest of notes beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any, Self

from haystack import default_from_dict
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy

from rag.exceptions import UsageError
from rag.index.manifest import Manifest
from rag.index.snapshots import IndexDirectory
from rag.stores.base.access import Access
from rag.stores.base.async_documents import AsyncDocuments
from rag.stores.base.backend import Backend, PointQuery
from rag.stores.base.batch import DocumentBatch
from rag.stores.base.chunk_counts import ChunkCounts
from rag.stores.base.document_embeddings import DocumentEmbeddings
from rag.stores.base.document_writes import documents_to_write, fit_dense_space
from rag.stores.base.embedded_sample import EmbeddedSample
from rag.stores.base.filters import convert_filters, has_id
from rag.stores.base.point_queries import Query, any_of, asks_anything, newest_chunks, scroll_pages
from rag.stores.base.points import (
    Point,
    point_id,
    to_document,
    to_point,
    weight,
)
from rag.stores.base.scored_chunk import CANDIDATE_FIELDS, Candidate, to_candidate

_PAGE = 1000
_MATCHES = 10_000  # points asked for where all are wanted; more when there are so many


def own_store(store: object) -> BaseDocumentStore:
    """Return a store that the pipelines can run with.

    :raises UsageError: for one of another package, such as `qdrant-haystack`.
    """
    if isinstance(store, BaseDocumentStore):
        return store
    kind = type(store)
    raise UsageError(
        f"{kind.__module__}.{kind.__qualname__} is no store that rag can index or search",
        hint="Make one with rag.stores.get_document_store(config).",
    )


class BaseDocumentStore(AsyncDocuments, DocumentEmbeddings, ABC):
    """The documents of an index, with one writer and any number of readers.

    The embedded engine and a server answer alike; they differ in `backend` and `access`.

    :param path: the folder of the index's files.
    :param similarity: how embeddings are compared.
    :param access: opens and closes those files, and knows who writes.
    :param backend: keeps the points.
    """

    collection_name: str

    def __init__(self, path: str, similarity: str, access: Access, backend: Backend) -> None:
        self.path, self.similarity = str(path), similarity
        self.access: Access = access
        self.backend = backend
        self.counts = ChunkCounts(access, backend)
        self.sample = EmbeddedSample(access, backend)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # It stands for files, locks and connections; Haystack copies component inputs.
        return self

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Serialise the store's address, not its content."""

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a store from what `to_dict` gave."""
        store: Self = default_from_dict(cls, data)
        return store

    # -- opening and closing -----------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def directory(self) -> IndexDirectory:
        """The folder of the index."""
        return self.access.directory

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: something published, or being written here."""
        return self.access.is_readable

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process of this machine is.
        :raises UsageError: when a server's collection holds what this index did not write.
        :raises ConnectionError: when a server does not answer.
        """
        self.access.begin_writing(wait)

    @abstractmethod
    def missing_points(self, expected: int) -> str:
        """Return what is wrong with an index that should hold so many points, or ""."""

    def publish(self, number: int | None = None) -> None:
        """Make what was written what readers see.

        :param number: the snapshot's number; by default the next one.
        :raises IndexingError: when the disk has no room, or a server holds less.
        """
        with self.access.mutex:
            self.access.begin_writing()
            if self.access.has_unknown_points():
                self.counts.distrust()
                self.access.remove_unknown_points()
            self.counts.write()
            self.access.publish(number)

    def release(self) -> None:
        """Release the staging index, which may then be removed; the lock is kept."""
        try:
            self.access.close_work()
        finally:
            self.counts.forget()

    def close(self) -> None:
        """Release files and connections; unpublished writes stay in the staging index."""
        with self.access.mutex:
            try:
                self.access.close_work()
                self.counts.keep()
            finally:
                self.counts.forget()
                self.access.close()

    def pinned(self) -> AbstractContextManager[None]:
        """Go on reading the snapshot that is current now, whatever is published meanwhile."""
        return self.access.pinned()

    def manifest(self) -> Manifest | None:
        """Return the manifest of the snapshot being read.

        `None` when there is none: the index was made without one, or is being written here.
        """
        return self.access.manifest()

    # -- the DocumentStore protocol ----------------------------------------------------

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self.count_documents_by_filter(None)

    def count_documents_by_filter(self, filters: dict[str, Any] | None) -> int:
        """Return how many documents a filter selects.

        :raises FilterError: when the filter is malformed.
        """
        return self.backend.count(convert_filters(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter selects, with their vectors, in order of point id.

        :raises FilterError: when the filter is malformed.
        """
        return [*chain.from_iterable(self.pages(filters))]

    def write_documents(
        self,
        documents: list[Document] | DocumentBatch,
        policy: DuplicatePolicy = DuplicatePolicy.NONE,
    ) -> int:
        """Write documents.

        :param policy: what to do about ids that are there already; `NONE` means `FAIL`.
        :returns: how many were written.
        :raises ValueError: when the input is no list of documents, or one cannot be stored.
        :raises DuplicateDocumentError: under `FAIL`, before anything is written.
        :raises LockedError: when another process is writing.
        """
        with self.access.mutex:
            wanted = documents_to_write(self.backend, documents, policy)
            points = [to_point(document) for document in wanted]
            if points:
                self.backend.reserve(sum(map(weight, points)))
                fit_dense_space(self.backend, (row for p in points for row in p.embeddings or ()))
                with self.counts.writing(points):
                    self.backend.upsert(points)
        return len(points)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; unknown ids are passed over."""
        if document_ids:
            ids = [point_id(document_id) for document_id in document_ids]
            with self.access.mutex, self.counts.deleting(ids):
                self.backend.delete(ids)

    # -- retrieval and ranking ---------------------------------------------------------

    def query_sparse(
        self, query: SparseEmbedding, filters: dict[str, Any] | None = None, top_k: int = 10
    ) -> list[Document]:
        """Return the `top_k` documents by sparse dot product, each with its score.

        Documents that share no dimension with the query are not returned.
        """
        if not query.indices:
            return []
        asked = self.counts.query_for(query, top_k, convert_filters(filters), True)
        return [to_document(point, point.score) for point in self._search(asked)[0]]

    def query_dense(
        self, query: list[float], filters: dict[str, Any] | None = None, top_k: int = 10
    ) -> list[Document]:
        """Return the `top_k` documents nearest to an embedding, each with its similarity.

        :raises ValueError: when the index holds no embeddings, or of another size.
        """
        asked = self.counts.query_for(query, top_k, convert_filters(filters), True)
        with self.access.mutex:
            size = self.embedding_dim
            if size != len(query):
                raise ValueError(f"the query has {len(query)} dimensions; the index holds {size}")
            return [to_document(point, point.score) for point in self._search(asked)[0]]

    def find_candidates(
        self, query: SparseEmbedding, filters: dict[str, Any] | None = None, top_k: int = 100
    ) -> list[Candidate]:
        """Do as `query_sparse`, but return no more of each chunk than ranking needs."""
        if not query.indices:
            return []
        return self.find_lists([(query, top_k)], filters)[0]

    def find_lists(
        self,
        queries: Sequence[tuple[Query, int]],
        filters: dict[str, Any] | None = None,
    ) -> list[list[Candidate]]:
        """Return the best chunks of each query, sparse or dense, as many as stand beside it; all
        are asked in one batch. A sparse query without words finds none."""
        where = convert_filters(filters)
        asked = {
            at: self.counts.query_for(query, limit, where, CANDIDATE_FIELDS)
            for at, (query, limit) in enumerate(queries)
            if asks_anything(query)
        }
        found = dict(zip(asked, self._search(*asked.values()), strict=True))
        return [[to_candidate(p) for p in found.get(at, [])] for at in range(len(queries))]

    def score_dimensions(
        self, query: SparseEmbedding, ids: Sequence[str]
    ) -> list[dict[str, float]]:
        """Return, for each dimension of a query, what it adds to the score of which document.

        The engine computes each, so that they add up to what `find_candidates` says.
        """
        single = zip(query.indices, query.values, strict=True)
        return self.score_among([SparseEmbedding([i], [value]) for i, value in single], ids)

    def score_among(self, queries: Sequence[Query], ids: Sequence[str]) -> list[dict[str, float]]:
        """Return, for each query, what which of some documents scores; see `score_each`."""
        return self.score_each([(one, ids) for one in queries])

    def score_each(self, queries: Sequence[tuple[Query, Sequence[str]]]) -> list[dict[str, float]]:
        """Return, for each query, sparse or dense, what which of its documents scores; all in one
        batch. What shares no dimension with it, or has no embedding, scores nothing."""
        wanted = [{point_id(identity): identity for identity in ids} for _, ids in queries]
        asked = {
            at: self.counts.query_for(query, len(ids), has_id(ids))
            for at, ((query, _), ids) in enumerate(zip(queries, wanted, strict=True))
            if ids and asks_anything(query)
        }
        found = dict(zip(asked, self._search(*asked.values()), strict=True))
        return [{ids[p.id]: p.score for p in found.get(at, ())} for at, ids in enumerate(wanted)]

    # -- reading documents -------------------------------------------------------------

    def get_documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents of these ids, in order, without vectors, as far as there are any."""
        wanted = [point_id(identity) for identity in ids]
        found = {point.id: point for point in self.backend.retrieve(wanted)}
        return [to_document(found[key]) for key in wanted if key in found]

    def pages(self, filters: dict[str, Any] | None = None) -> Iterator[list[Document]]:
        """Yield the documents that a filter selects, some at a time, with their vectors, in order
        of point id.

        :raises FilterError: when the filter is malformed.
        """
        where = convert_filters(filters)
        for points, _ in scroll_pages(self.backend, _PAGE, where=where, vectors=True):
            yield [to_document(point) for point in points]

    def all_documents(self, most: int | None = None) -> list[Document]:
        """Return every document, without vectors: for what no index can find.

        :param most: return no more than these, the first by id.
        """
        size = _PAGE if most is None else min(_PAGE, max(most, 1))
        points = chain.from_iterable(page for page, _ in scroll_pages(self.backend, size))
        return [to_document(point) for point in islice(points, most)]

    # -- words and dates ---------------------------------------------------------------

    def notes_with(self, dimensions: Sequence[int]) -> list[str]:
        """Return the ids of the notes that have a chunk with any of these dimensions."""
        limit = _MATCHES
        while True:
            points = self._search(PointQuery(any_of(dimensions), limit, None, CANDIDATE_FIELDS))[0]
            if len(points) < limit:
                return sorted({to_candidate(point).note for point in points})
            limit *= 8

    def points_with(self, dimensions: Sequence[int], most: int) -> dict[str, float] | None:
        """Return the scores, by id, of all points that have any of these dimensions; `None` when
        they are more than `most`.

        It is for many: a point's id alone is read in a tenth of the time of its fields.
        """
        points = self.backend.search([PointQuery(any_of(dimensions), most + 1)])[0]
        return {point.id: point.score for point in points} if len(points) <= most else None

    def is_used(self, dimension: int, filters: dict[str, Any] | None = None) -> bool:
        """Return whether any document that a filter selects has a dimension."""
        return bool(self._search(PointQuery(any_of([dimension]), 1, convert_filters(filters)))[0])

    def expect(self, dimensions: Iterable[int]) -> None:
        """Make ready for queries with these dimensions.

        The embedded engine opens an index for those that a query has, and again for others: who
        is going to ask several queries says so, and it is opened once for all.
        """
        self.backend.expect(dimensions)

    def newest(self, filters: dict[str, Any] | None = None, top_k: int = 10) -> list[Candidate]:
        """Return chunks of the notes created last, those of a note beside each other, score 0.

        They are `top_k`, and whatever else was created when the last of these was.
        """
        return newest_chunks(self.backend, convert_filters(filters), top_k)

    def _search(self, *queries: PointQuery) -> list[list[Point]]:
        """Return what each query finds; the engine returns equal scores in no certain order."""
        if any(query.limit < 1 for query in queries):
            raise ValueError(f"top_k must be at least 1, not {queries[0].limit}")
        found = self.backend.search(queries) if queries else []
        return [sorted(points, key=lambda point: (-point.score, point.id)) for points in found]
