"""A Haystack document store over the points of an index, with the manifest and the document
frequencies beside them: one writer, any number of readers.

Haystack, which takes half a second to import, is imported when documents are made.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakValueDictionary

from rag.exceptions import UsageError
from rag.index.manifest import Frequencies, Manifest, dimension_counts, telling_damage
from rag.index.snapshots import MANIFEST, IndexDirectory, IndexSnapshot
from rag.stores.base.points import (
    CANDIDATE_FIELDS,
    DENSE,
    SPARSE,
    WITH_EMBEDDING,
    WITHOUT_EMBEDDING,
    Batch,
    Candidate,
    Fields,
    Filter,
    Page,
    Point,
    Query,
    Search,
    convert_filters,
    dense_vector,
    document_id,
    has_id,
    point_id,
    sparse_vector,
    to_candidate,
    to_document,
    to_point,
)
from rag.support.closing import Closing
from rag.support.pipeline_parts import NotCopied
from rag.text.bm25 import SparseVector

if TYPE_CHECKING:
    from haystack.dataclasses import Document
    from haystack.dataclasses.sparse_embedding import SparseEmbedding
    from haystack.document_stores.types import DuplicatePolicy

_PAGE = 1000
_IDS = 10_000  # ids read together
# Chunks of the sample that stands for all with an embedding; 100, 500 or all rank alike
# (docs/ranking.md).
_SAMPLE_SIZE = 200
_CREATED = "meta.created"


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


# The components of a pipeline that were written with one store are read with one store.
_stores: WeakValueDictionary[str, BaseDocumentStore] = WeakValueDictionary()


def with_store(data: dict[str, Any]) -> dict[str, Any]:
    """Make the store in a component's serialised form, so that only the component's own module
    need be trusted by Haystack."""
    from rag.stores import QdrantEdgeDocumentStore, QdrantServerDocumentStore

    parameters = data["init_parameters"]
    saved = parameters["document_store"]
    is_on_server = saved["type"].endswith(".QdrantServerDocumentStore")
    kind = QdrantServerDocumentStore if is_on_server else QdrantEdgeDocumentStore
    store: BaseDocumentStore = kind.from_dict(saved)
    store = _stores.setdefault(store.path, store)
    return {**data, "init_parameters": {**parameters, "document_store": store}}


class BaseDocumentStore(NotCopied, Closing, ABC):
    """The documents of an index in a folder: of the current snapshot or, once writing has begun, of
    what is written; none where nothing was ever written. The embedded engine and a server answer
    alike: both are asked for points."""

    collection_name: str
    similarity = "cosine"  # how embeddings are compared

    def __init__(self, directory: IndexDirectory) -> None:
        self.directory = directory
        self.path = str(directory.path)
        self.mutex = threading.RLock()  # held over steps that must not mix with another thread's
        self._writing: ExitStack | None = None
        self._staged: Manifest | None = None  # of what is written
        self._changes = Counter[int]()  # of the frequencies, by what was written
        self._had_points = False  # whether some that nobody counted were there before
        self._pins = 0
        self._snapshot: IndexSnapshot | None = None
        self._manifest: Manifest | None = None  # of the snapshot, as the rest is
        self._sample: list[str] | None = None

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Serialise the store's address, not its content and not its key."""

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a store from what `to_dict` gave."""
        from haystack import default_from_dict

        return default_from_dict(cls, data)

    # -- opening and closing -----------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process of this machine is.
        :raises UsageError: when a server's collection holds what this index did not write.
        :raises ConnectionError: when a server does not answer.
        """
        with self.mutex:
            if self._writing is not None:
                return
            self._close_reader()  # a writer reads what it writes
            with ExitStack() as stack:
                stack.enter_context(self.directory.writing(wait))
                self._prepare_writing()
                self._writing = stack.pop_all()

    def _prepare_writing(self) -> None:
        """Make ready what is written to; the lock is held."""

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: a snapshot, or what this writer writes."""
        return self.reads_work or self._hold() is not None

    @property
    def is_shared(self) -> bool:
        """Whether all who read the index can see the current snapshot."""
        return True

    @property
    def is_unfinished(self) -> bool:
        """Whether points were written, by a run that did not end, of which no manifest tells."""
        return False

    @property
    def reads_work(self) -> bool:
        """Whether what is read is what this writer writes."""
        return self._writing is not None

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Keep to the snapshot that is current now, and tell as damage what cannot be read."""
        with self.mutex:
            if not self._pins and self._writing is None:
                self._hold()
            self._pins += 1
        try:
            with telling_damage(self.directory.path):
                yield
        finally:
            with self.mutex:
                self._pins -= 1

    def _hold(self) -> IndexSnapshot | None:
        """Return the snapshot to read: the current one, or that which is pinned."""
        if not (self._pins and self._snapshot):
            current = self.directory.current()
            if current is None:
                return None
            if self._snapshot is None or self._snapshot.path.name != current:
                self._close_reader()
                self._snapshot = self.directory.open_current()
        return self._snapshot

    def _published(self) -> IndexSnapshot | None:
        return self._hold() if self._writing is None else None

    def manifest(self) -> Manifest | None:
        """Return the manifest of the snapshot being read; `None` when there is none: the index was
        made without one, or is being written here."""
        with self.mutex:
            snapshot = self._published()
            manifest = self._manifest_of(snapshot) if snapshot else None
            return manifest if manifest and manifest.get("fingerprint") else None

    def _manifest_of(self, snapshot: IndexSnapshot) -> Manifest:
        """Return the manifest of the snapshot that is held."""
        if self._manifest is None:
            self._manifest = Manifest.open_snapshot(snapshot.path / MANIFEST)
        return self._manifest

    def snapshot_name(self) -> str | None:
        """Return the name of the snapshot being read; `None` when there is none."""
        with self.mutex:
            snapshot = self._published()
            return snapshot.path.name if snapshot else None

    def frequencies(self) -> Frequencies:
        """Return the document frequencies of what is read."""
        with self.mutex:
            if self.reads_work:
                return self._counted().frequencies
            snapshot = self._hold()
            return (self._manifest_of(snapshot) if snapshot else Manifest.empty()).frequencies

    def _counted(self) -> Manifest:
        """Return the manifest of what is being written, whose frequencies are those of the former
        snapshot, changed, or where there are none those of all points."""
        if self._staged is None:
            self._staged = Manifest.open_work(self.directory.begin_work() / MANIFEST)
            if self._had_points and not self._staged.frequencies.chunks:
                self._changes.clear()
                for points in self.point_pages(Page(_PAGE, fields=False, vectors=True)):
                    dimension_counts((point.sparse for point in points), self._changes)
        if self._changes:
            self._staged.frequencies.change(self._changes)
            self._changes.clear()
        return self._staged

    def _count(self, ids: Sequence[str], written: Sequence[Point] = ()) -> None:
        """Count no more the points of some ids, which are to be deleted or written over, but those
        that are `written` in their places."""
        self.begin_writing()
        self.directory.begin_work()
        former = self.retrieve([*dict.fromkeys(ids)], fields=False, vectors=[SPARSE])
        last = {point.id: point for point in written}.values()
        self._changes.subtract(dimension_counts(point.sparse for point in former))
        dimension_counts((point.sparse for point in last), self._changes)

    def publish(self) -> None:
        """Make what was written what readers see, the next snapshot.

        :raises IndexingError: when the disk has no room, or a server holds less.
        """
        with self.mutex:
            self.begin_writing()
            points = self._complete_points()
            self._counted().set(points=str(points))
            self._close_staged()
            self._publish(self.directory.newest() + 1, points)

    @abstractmethod
    def _complete_points(self) -> int:
        """Make the points ready to be published; return how many there are."""

    @abstractmethod
    def _publish(self, number: int, points: int) -> None:
        """Make the staging index, of so many points, the current snapshot of that number."""

    def release(self) -> None:
        """Release the staging index, which may then be removed; the lock is kept."""
        self._close_staged()

    def _close_staged(self) -> None:
        if self._staged is not None:
            self._staged.close()
        self._staged = None
        self._changes.clear()

    def close(self) -> None:
        """Release files and connections; unpublished writes are lost, save those on a server."""
        with self.mutex, ExitStack() as stack:
            stack.callback(self._close_reader)
            if self._writing is not None:
                stack.enter_context(self._writing)
                self._writing = None
                self.release()

    def _close_reader(self) -> None:
        for opened in (self._manifest, self._snapshot):
            if opened is not None:
                opened.close()
        self._manifest = self._snapshot = self._sample = None

    # -- reading points ----------------------------------------------------------------

    @abstractmethod
    def search_points(self, searches: Sequence[Search]) -> list[list[Point]]:
        """Return the hits of each search, the order of equal scores left open."""

    @abstractmethod
    def read_page(self, page: Page) -> tuple[list[Point], str | None]:
        """Return the points of a page, and the offset of the next, `None` at the end."""

    def point_pages(self, page: Page) -> Iterator[list[Point]]:
        """Yield the points of a page, and of those that follow it."""
        while True:
            points, offset = self.read_page(page)
            yield points
            if offset is None:
                return
            page = page._replace(offset=offset)

    @abstractmethod
    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        """Return those of some points that there are, with their vectors of some spaces."""

    @abstractmethod
    def count_points(self, where: Filter | None = None) -> int:
        """Return how many points a filter selects."""

    @property
    @abstractmethod
    def embedding_dim(self) -> int | None:
        """The size of the embeddings, or `None` when the index holds none."""

    def expect(self, dimensions: Iterable[int]) -> None:
        """Make ready for queries with these dimensions of the lexical space: the embedded engine
        opens its index for those of a query alone, and again where others are asked for."""

    # -- writing points ----------------------------------------------------------------

    @abstractmethod
    def upsert(self, points: Sequence[Point]) -> None:
        """Write points, over those of the same id."""

    @abstractmethod
    def delete_points(self, ids: Sequence[str]) -> None:
        """Delete points; unknown ids are passed over."""

    @abstractmethod
    def update_vectors(self, vectors: Mapping[str, list[list[float]]]) -> None:
        """Give points, by id, the embeddings of their sentences; all else of them stays."""

    @abstractmethod
    def add_dense_space(self, size: int) -> None:
        """Make room for embeddings of that size, any number a point."""

    @abstractmethod
    def drop_dense_space(self) -> None:
        """Forget all embeddings, and their size."""

    def _fit_dense_space(self, embeddings: Iterable[Sequence[float]]) -> None:
        """Make room for embeddings, or check their size: a wrong one would leave half written."""
        sizes = {len(embedding) for embedding in embeddings}
        size = self.embedding_dim if sizes else None
        if size is None and len(sizes) == 1:
            self.add_dense_space(sizes.pop())
        elif sizes - {size}:
            raise ValueError(f"embeddings of {sorted(sizes)} dimensions; the index holds {size}")

    # -- the DocumentStore protocol ----------------------------------------------------

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self.count_points()

    def count_documents_by_filter(self, filters: dict[str, Any] | None) -> int:
        """Return how many documents a filter selects; errors are those of `convert_filters`."""
        return self.count_points(convert_filters(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter selects, with their vectors, in order of point id;
        errors are those of `convert_filters`."""
        pages = self.point_pages(Page(_PAGE, convert_filters(filters), vectors=True))
        return [*map(to_document, chain.from_iterable(pages))]

    def write_documents(
        self, documents: list[Document] | Batch[Document], policy: DuplicatePolicy | None = None
    ) -> int:
        """Write documents and return how many; of ids that are there already the policy says what
        to do.

        :raises ValueError: when the input is no list of documents, or one cannot be stored.
        :raises DuplicateDocumentError: under `FAIL`, the default, before anything is written.
        """
        with self.mutex:
            points = [to_point(document) for document in self._allowed(documents, policy)]
            if points:
                self.begin_writing()
                self._fit_dense_space(row for point in points for row in point.embeddings or ())
                self._count([point.id for point in points], points)
                self.upsert(points)
        return len(points)

    def _allowed(
        self, documents: list[Document] | Batch[Document], policy: DuplicatePolicy | None
    ) -> Sequence[Document]:
        """Return the documents that a policy lets be written: all, or those whose ids are new."""
        from haystack.dataclasses import Document
        from haystack.document_stores.errors import DuplicateDocumentError
        from haystack.document_stores.types import DuplicatePolicy

        if not isinstance(documents, (list, Batch)) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise ValueError("write_documents needs a list of haystack Documents")
        if policy is DuplicatePolicy.OVERWRITE:
            return documents
        ids = [point_id(document.id) for document in documents]
        stored = {point.id for point in self.retrieve(ids, False)}
        fresh: dict[str, Document] = {}
        for identity, document in zip(ids, documents, strict=True):
            if identity not in stored and identity not in fresh:
                fresh[identity] = document
            elif policy is not DuplicatePolicy.SKIP:
                raise DuplicateDocumentError(f"document {document.id!r} already exists")
        return list(fresh.values())

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; unknown ids are passed over."""
        if ids := [*map(point_id, document_ids)]:
            with self.mutex:
                self._count(ids)
                self.delete_points(ids)

    # -- retrieval and ranking ---------------------------------------------------------

    def find_candidates(
        self, query: SparseEmbedding, filters: dict[str, Any] | None = None, top_k: int = 100
    ) -> list[Candidate]:
        """Return the `top_k` chunks by sparse dot product, as far as ranking needs them."""
        return self.find_lists([(query, top_k)], filters)[0]

    def find_lists(
        self, queries: Sequence[tuple[Query, int]], filters: dict[str, Any] | None = None
    ) -> list[list[Candidate]]:
        """Return the best chunks of each query, sparse or dense, as many as stand beside it; all
        are asked in one batch. A sparse query without words finds none."""
        if any(limit < 1 for _, limit in queries):
            raise ValueError(f"top_k must be at least 1, not {queries[0][1]}")
        where = convert_filters(filters)
        asked = [(query, limit, where) for query, limit in queries]
        lists = self._search_vectors(asked, CANDIDATE_FIELDS)
        return [[*map(to_candidate, points)] for points in lists]

    def score_each(self, queries: Sequence[tuple[Query, Sequence[str]]]) -> list[dict[str, float]]:
        """Return, for each query, sparse or dense, what which of its documents scores; all in one
        batch. What shares no dimension with it, or has no embedding, scores nothing."""
        names = [{point_id(identity): identity for identity in ids} for _, ids in queries]
        asked = [
            (query, len(ids), has_id(ids)) for (query, _), ids in zip(queries, names, strict=True)
        ]
        return [
            {ids[point.id]: point.score for point in points}
            for ids, points in zip(names, self._search_vectors(asked), strict=True)
        ]

    def _search_vectors(
        self, queries: Sequence[tuple[Query, int, Filter | None]], fields: Fields = False
    ) -> list[list[Point]]:
        """Return the hits of each query, as many as stand beside it; of one by no words, none."""
        counts, asked = self.frequencies(), dict[int, Search]()
        for at, (query, limit, where) in enumerate(queries):
            if limit and isinstance(query, list):
                asked[at] = Search(dense_vector(query), limit, where, fields)
            elif limit and not isinstance(query, list) and query.indices:
                asked[at] = Search(counts.weigh(sparse_vector(query)), limit, where, fields)
        hits = self.search_points([*asked.values()]) if asked else []
        lists = dict(zip(asked, hits, strict=True))
        # The engine returns equal scores in no certain order.
        return [
            sorted(lists.get(at, ()), key=lambda point: (-point.score, point.id))
            for at in range(len(queries))
        ]

    # -- reading documents -------------------------------------------------------------

    def get_points(self, ids: Sequence[str]) -> dict[str, Point]:
        """Return the points of some documents, without vectors, by the ids of the documents, in
        order, as far as there are any."""
        names = {point_id(identity): identity for identity in ids}
        points = {point.id: point for point in self.retrieve([*names])}
        return {name: points[key] for key, name in names.items() if key in points}

    def get_documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents of these ids, in order, without vectors, as far as there are any."""
        return [*map(to_document, self.get_points(ids).values())]

    def all_documents(self, most: int = _PAGE) -> list[Document]:
        """Return `most` documents at most, without vectors: for what no index can find."""
        return [*map(to_document, self.read_page(Page(most))[0])]

    # -- words and dates ---------------------------------------------------------------

    def notes_with(self, dimensions: Sequence[int], most: int) -> list[str] | None:
        """Return the ids of the notes that have a chunk with any of these dimensions; `None` when
        such chunks are more than `most`."""
        points = self._having(dimensions, most + 1, fields=CANDIDATE_FIELDS)
        notes = {to_candidate(point).note for point in points}
        return sorted(notes) if len(points) <= most else None

    def points_with(self, dimensions: Sequence[int], most: int) -> dict[str, float] | None:
        """Return the scores, by id, of all points that have any of these dimensions; `None` when
        they are more than `most`. (An id is read in a tenth of the time of the fields.)"""
        points = self._having(dimensions, most + 1)
        return {point.id: point.score for point in points} if len(points) <= most else None

    def is_used(self, dimension: int, filters: dict[str, Any] | None = None) -> bool:
        """Return whether any document that a filter selects has a dimension."""
        return bool(self._having([dimension], 1, convert_filters(filters)))

    def _having(
        self,
        dimensions: Sequence[int],
        limit: int,
        where: Filter | None = None,
        fields: Fields = False,
    ) -> list[Point]:
        vector = SparseVector([*dimensions], [1.0] * len(dimensions))
        return self.search_points([Search(vector, limit, where, fields)])[0]

    def newest(self, filters: dict[str, Any] | None = None, top_k: int = 10) -> list[Candidate]:
        """Return the `top_k` chunks of the notes created last, those of a note beside each other,
        score 0; then those of notes without a date."""
        if top_k < 1:
            return []
        where, fields, limit = convert_filters(filters), [*CANDIDATE_FIELDS, _CREATED], top_k
        while True:
            limit *= 4
            points, _ = self.read_page(Page(limit, where, fields, newest=_CREATED))
            if len(points) < limit or _created(points[-1]) != _created(points[top_k - 1]):
                break
        if len(points) < limit:  # all with a date; the engine knows no order of the others
            page, _ = self.read_page(Page(2 * limit, where, fields))
            points += [point for point in page if not _created(point)][:limit]
        # The engine returns those of one moment in no certain order.
        candidates = [(_created(point), to_candidate(point)) for point in points]
        candidates.sort(key=lambda pair: (pair[1].note, pair[1].id))
        candidates.sort(key=lambda pair: pair[0], reverse=True)
        return [candidate for _, candidate in candidates[:top_k]]

    # -- embeddings: those of a document's sentences, several a document ---------------

    def count_embedded(self) -> int:
        """Return how many documents have an embedding."""
        return self.count_points(WITH_EMBEDDING) if self.embedding_dim else 0

    def without_embedding(self) -> set[str]:
        """Return the ids of the documents that have no embedding."""
        where = WITHOUT_EMBEDDING if self.embedding_dim else None
        pages = self.point_pages(Page(_IDS, where, ["id"]))
        return {*map(document_id, chain.from_iterable(pages))}

    def embeddings_of(self, ids: Sequence[str]) -> dict[str, list[list[float]]]:
        """Return the embeddings of the sentences of some documents, in order, by id, of those that
        have any."""
        names = {point_id(identity): identity for identity in ids}
        if not names or self.embedding_dim is None:
            return {}
        points = self.retrieve([*names], fields=False, vectors=[DENSE])
        return {names[point.id]: point.embeddings for point in points if point.embeddings}

    def sample_ids(self) -> list[str]:
        """Return the ids of `_SAMPLE_SIZE` documents with an embedding, the first by hash: their
        cosines tell what is near to a query in this index and by its model."""
        with self.mutex:
            if self._published() is None or self._sample is None:
                page, _ = self.read_page(Page(_SAMPLE_SIZE, WITH_EMBEDDING, ["id"]))
                self._sample = [*map(document_id, page)]
            return self._sample

    def write_embeddings(self, embeddings: Mapping[str, Sequence[list[float]]]) -> None:
        """Give documents that are being written the embeddings of their sentences, by id.

        :raises ValueError: when one is empty, not finite, or of another size.
        """
        if not embeddings:
            return
        vectors = {
            point_id(key): [dense_vector(row, f"document {key}") for row in rows]
            for key, rows in embeddings.items()
        }
        with self.mutex:
            self.begin_writing()
            self._fit_dense_space(chain.from_iterable(vectors.values()))
            self.update_vectors(vectors)

    def drop_embeddings(self) -> None:
        """Take all embeddings out of what is being written; those of another size may follow."""
        with self.mutex:
            self.begin_writing()
            if self.embedding_dim is not None:
                self.drop_dense_space()


def _created(point: Point) -> str:
    return str((point.payload.get("meta") or {}).get("created", ""))
