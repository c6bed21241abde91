"""`QdrantEdgeDocumentStore`: a Haystack document store on Qdrant Edge, in process.

It reads the current generation of an index, or, from its first write on, its own working
copy; `publish` makes what was written the generation that everybody reads.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import qdrant_edge as qe
from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from rag.exceptions import IndexUnavailableError
from rag.stores.batch import DocumentBatch
from rag.stores.engine import StoreError, add_dense_space, create_shard, guard, load_shard
from rag.stores.filters import convert_filters
from rag.stores.generations import SHARD, Generation, IndexDirectory
from rag.stores.points import (
    DENSE,
    SPARSE,
    dense_vector,
    point_id,
    sparse_vector,
    to_document,
    to_point,
)

_BATCH = 1000
# Fresh points are indexed in memory, some 15 KB each, until a merge writes them out, and the
# engine gives back what it mapped and allocated only when the shard is closed: merging and
# reopening as points come keeps the writer's memory low.
_MERGE_EVERY = 8_000


class QdrantEdgeDocumentStore:
    """A document store in a folder, with one writer and any number of readers.

    ```python
    from haystack import Document
    from rag.stores import QdrantEdgeDocumentStore

    store = QdrantEdgeDocumentStore("/tmp/my-index")
    store.write_documents([Document(content="a note", meta={"tags": ["kitchen"]})])
    store.filter_documents({"field": "meta.tags", "operator": "==", "value": "kitchen"})
    store.publish()  # other processes see it from here on
    store.close()
    ```

    :param path: the folder of the index.
    :param similarity: how embeddings are compared: `cosine`, `dot_product` or `l2`.
    """

    def __init__(self, path: str, similarity: str = "cosine") -> None:
        if similarity not in ("cosine", "dot_product", "l2"):
            raise ValueError(f"similarity {similarity!r}: use cosine, dot_product or l2")
        self.path = str(path)
        self.similarity = similarity
        self.directory = IndexDirectory(path)
        self._mutex = threading.RLock()
        self._work: qe.EdgeShard | None = None
        self._unmerged = 0
        self._writing: ExitStack | None = None
        self._generation: Generation | None = None
        self._reader: qe.EdgeShard | None = None

    def to_dict(self) -> dict[str, Any]:
        """Serialise the store's address, not its content."""
        return default_to_dict(self, path=self.path, similarity=self.similarity)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QdrantEdgeDocumentStore:
        """Make a store from what `to_dict` gave."""
        store: QdrantEdgeDocumentStore = default_from_dict(cls, data)
        return store

    def __deepcopy__(self, memo: dict[int, Any]) -> QdrantEdgeDocumentStore:
        # It stands for files and locks; Haystack copies component inputs.
        return self

    # -- opening and closing -----------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process is.
        """
        with self._mutex:
            if self._writing is None:
                stack = ExitStack()
                stack.enter_context(self.directory.writing(wait))
                self._writing = stack

    def close(self) -> None:
        """Let go of the files; unpublished writes stay in the working copy."""
        with self._mutex:
            self.close_work()
            self._close_reader()
            if self._writing is not None:
                self._writing.close()
                self._writing = None

    def __enter__(self) -> QdrantEdgeDocumentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: a generation, or this writer's own working copy."""
        return self._writing is not None or self.directory.current() is not None

    def publish(self, number: int | None = None) -> None:
        """Make what was written the current generation.

        :param number: the generation's number; by default the next one.
        :raises IndexingError: when the disk has no room.
        """
        with self._mutex:
            shard = self._open_work()
            with guard("merge the index"):
                shard.optimize()
                points = shard.count(qe.CountRequest())
            self.close_work()
            self.directory.publish(number or self.directory.newest() + 1, points)

    def _open_work(self) -> qe.EdgeShard:
        if self._work is None:
            self.begin_writing()
            path = self.directory.work / SHARD
            self.directory.require_space(0)
            self._work = load_shard(path) if path.exists() else create_shard(path)
        return self._work

    def close_work(self) -> None:
        """Flush and close the working copy; the lock is kept."""
        if self._work is not None:
            with guard("flush the index"):
                self._work.flush()  # close() swallows what goes wrong here
                self._work.close()
            self._work = None

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._generation is not None:
            self._generation.close()
            self._generation = None

    def _shard(self) -> qe.EdgeShard | None:
        """Return the shard to read, or `None` when nothing was ever written."""
        if self._work is not None:
            return self._work
        if self._writing is not None and (self.directory.work / SHARD).exists():
            return self._open_work()
        current = self.directory.current()
        if current is None:
            return None
        if self._generation is None or self._generation.name != current:
            self._close_reader()
            self._open_reader()
        return self._reader

    def _open_reader(self) -> None:
        generation = self.directory.open_current()
        try:
            shard = load_shard(generation.path / SHARD)
            found, expected = shard.count(qe.CountRequest()), generation.points
        except (StoreError, OSError, ValueError) as error:
            generation.close()
            raise _damaged(self.path, str(error)) from error
        if found != expected:
            shard.close()
            generation.close()
            raise _damaged(self.path, f"{found} of {expected} points")
        self._generation, self._reader = generation, shard

    # -- the DocumentStore protocol ----------------------------------------------------

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self.count_documents_by_filter(None)

    def count_documents_by_filter(self, filters: dict[str, Any] | None) -> int:
        """Return how many documents a filter selects.

        :raises FilterError: when the filter is malformed.
        """
        condition = convert_filters(filters)
        with self._mutex, guard("count"):
            shard = self._shard()
            return shard.count(qe.CountRequest(filter=condition)) if shard else 0

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter selects, with their vectors, in order of point id.

        :raises FilterError: when the filter is malformed.
        """
        condition = convert_filters(filters)
        found: list[Document] = []
        offset = None
        with self._mutex, guard("read documents"):
            shard = self._shard()
            while shard:
                points, offset = shard.scroll(
                    qe.ScrollRequest(
                        offset=offset,
                        limit=_BATCH,
                        filter=condition,
                        with_payload=True,
                        with_vector=True,
                    )
                )
                found += map(to_document, points)
                if offset is None:
                    break
        return found

    def write_documents(
        self,
        documents: list[Document] | DocumentBatch,
        policy: DuplicatePolicy = DuplicatePolicy.NONE,
    ) -> int:
        """Write documents into the working copy.

        :param policy: what to do about ids that are there already; `NONE` means `FAIL`.
        :returns: how many were written.
        :raises ValueError: when the input is no list of documents, or one cannot be stored.
        :raises DuplicateDocumentError: under `FAIL`, before anything is written.
        :raises LockedError: when another process is writing.
        """
        if not isinstance(documents, (list, DocumentBatch)) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise ValueError("write_documents needs a list of haystack Documents")
        with self._mutex:
            wanted: Sequence[Document] = documents
            if policy is not DuplicatePolicy.OVERWRITE:
                wanted = self._without_duplicates(documents, policy)
            points = [to_point(document) for document in wanted]
            if not points:
                return 0
            shard = self._open_work()
            self._fit_dense_space(shard, wanted)
            self.directory.require_space(sum(map(_weight, wanted)))
            with guard("write documents"):
                for start in range(0, len(points), _BATCH):
                    batch = points[start : start + _BATCH]
                    shard.update(qe.UpdateOperation.upsert_points(batch))
                    self._unmerged += len(batch)
                    if self._unmerged >= _MERGE_EVERY:
                        shard = self._merge(shard)
        return len(points)

    def _merge(self, shard: qe.EdgeShard) -> qe.EdgeShard:
        shard.optimize()  # it looks for room itself
        self._unmerged = 0
        self.close_work()
        return self._open_work()

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents from the working copy; unknown ids are passed over."""
        if not document_ids:
            return
        with self._mutex, guard("delete documents"):
            ids: list[Any] = [point_id(document_id) for document_id in document_ids]
            self._open_work().update(qe.UpdateOperation.delete_points(ids))

    def _without_duplicates(
        self, documents: Sequence[Document], policy: DuplicatePolicy
    ) -> list[Document]:
        shard = self._shard()
        ids: list[Any] = [point_id(document.id) for document in documents]
        with guard("look up documents"):
            known = (
                {str(p.id) for p in shard.retrieve(ids, False, False)} if shard and ids else set()
            )
        fresh: dict[str, Document] = {}
        for identity, document in zip(ids, documents, strict=True):
            if identity not in known and identity not in fresh:
                fresh[identity] = document
            elif policy is not DuplicatePolicy.SKIP:
                raise DuplicateDocumentError(f"document {document.id!r} already exists")
        return list(fresh.values())

    def _fit_dense_space(self, shard: qe.EdgeShard, documents: Sequence[Document]) -> None:
        """Check the embeddings' size; a wrong one would leave half of a batch written."""
        sizes = {len(d.embedding) for d in documents if d.embedding is not None}
        if not sizes:
            return
        size = self._dense_size(self.directory.work / SHARD)
        if size is None and len(sizes) == 1:
            add_dense_space(shard, sizes.pop(), self.similarity)
        elif sizes != {size}:
            raise ValueError(f"embeddings of {sorted(sizes)} dimensions; the index holds {size}")

    @staticmethod
    def _dense_size(shard_path: Path) -> int | None:
        config = json.loads((shard_path / "edge_config.json").read_text("utf-8"))
        size: int | None = config.get("vectors", {}).get(DENSE, {}).get("size")
        return size

    @property
    def embedding_dim(self) -> int | None:
        """The size of the embeddings, or `None` when the index holds none."""
        with self._mutex:
            if self._shard() is None:
                return None
            home = self.directory.work if self._work else self._generation and self._generation.path
            return self._dense_size(home / SHARD) if home else None

    # -- retrieval ---------------------------------------------------------------------

    def query_sparse(
        self, query: SparseEmbedding, filters: dict[str, Any] | None = None, top_k: int = 10
    ) -> list[Document]:
        """Return the `top_k` documents by sparse dot product, each with its score.

        Documents that share no dimension with the query are not returned.
        """
        if not query.indices:
            return []
        vector = sparse_vector(query)
        return self._query(qe.Query.Nearest(vector, using=SPARSE), filters, top_k)

    def query_dense(
        self, query: list[float], filters: dict[str, Any] | None = None, top_k: int = 10
    ) -> list[Document]:
        """Return the `top_k` documents nearest to an embedding, each with its similarity.

        :raises ValueError: when the index holds no embeddings, or of another size.
        """
        query = dense_vector(query)
        with self._mutex:
            size = self.embedding_dim
            if size != len(query):
                raise ValueError(f"the query has {len(query)} dimensions; the index holds {size}")
            return self._query(qe.Query.Nearest(query, using=DENSE), filters, top_k)

    def _query(self, query: qe.Query, filters: dict[str, Any] | None, top_k: int) -> list[Document]:
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {top_k}")
        request = qe.QueryRequest(
            limit=top_k, query=query, filter=convert_filters(filters), with_payload=True
        )
        with self._mutex, guard("search"):
            shard = self._shard()
            points = shard.query(request) if shard else []
        # The engine returns equal scores in no certain order.
        points.sort(key=lambda point: (-point.score, str(point.id)))
        return [to_document(point, point.score) for point in points]

    # -- async twins -------------------------------------------------------------------

    async def count_documents_async(self) -> int:
        """`count_documents`, off the event loop."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """`filter_documents`, off the event loop."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """`write_documents`, off the event loop."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """`delete_documents`, off the event loop."""
        await asyncio.to_thread(self.delete_documents, document_ids)


def _weight(document: Document) -> int:
    """Return about how many bytes a document takes on disk: point, index, journal and merge."""
    sparse, dense = document.sparse_embedding, document.embedding
    numbers = (2 * len(sparse.indices) if sparse else 0) + len(dense or [])
    return 32 * numbers + 16 * len(document.content or "") + 1000


def _damaged(path: str, details: str) -> IndexUnavailableError:
    return IndexUnavailableError(
        f"the index at {path} is damaged",
        details,
        hint="Make it anew with `rag index --rebuild`.",
    )
