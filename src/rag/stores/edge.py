"""`QdrantEdgeDocumentStore`: a Haystack document store on Qdrant Edge, in process.

It reads the current generation of an index, or, from its first write on, its own working
copy; `publish` makes what was written the generation that everybody reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import qdrant_edge as qe
from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from rag.stores.access import ShardAccess
from rag.stores.batch import DocumentBatch
from rag.stores.embeddings import ShardEmbeddings
from rag.stores.engine import guard
from rag.stores.filters import convert_filters
from rag.stores.generations import IndexDirectory
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


class QdrantEdgeDocumentStore(ShardEmbeddings):
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
    :param half_precision: keep embeddings in 16 bits a number: half the disk, the same ranking.
    """

    def __init__(self, path: str, similarity: str = "cosine", half_precision: bool = False) -> None:
        if similarity not in ("cosine", "dot_product", "l2"):
            raise ValueError(f"similarity {similarity!r}: use cosine, dot_product or l2")
        self.path = str(path)
        super().__init__(ShardAccess(IndexDirectory(path)), similarity, half_precision)

    def to_dict(self) -> dict[str, Any]:
        """Serialise the store's address, not its content."""
        return default_to_dict(
            self,
            path=self.path,
            similarity=self.similarity,
            half_precision=self.half_precision,
        )

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
        self.access.begin_writing(wait)

    def close(self) -> None:
        """Let go of the files; unpublished writes stay in the working copy."""
        self.access.close()

    def __enter__(self) -> QdrantEdgeDocumentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: a generation, or this writer's own working copy."""
        return self.access.is_readable

    def publish(self, number: int | None = None) -> None:
        """Make what was written the current generation.

        :param number: the generation's number; by default the next one.
        :raises IndexingError: when the disk has no room.
        """
        self.access.publish(number)

    # -- the DocumentStore protocol ----------------------------------------------------

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self.count_documents_by_filter(None)

    def count_documents_by_filter(self, filters: dict[str, Any] | None) -> int:
        """Return how many documents a filter selects.

        :raises FilterError: when the filter is malformed.
        """
        condition = convert_filters(filters)
        with self._reading("count") as shard:
            return shard.count(qe.CountRequest(filter=condition)) if shard else 0

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter selects, with their vectors, in order of point id.

        :raises FilterError: when the filter is malformed.
        """
        condition = convert_filters(filters)
        found: list[Document] = []
        offset = None
        with self._reading("read documents") as shard:
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
        with self.access.mutex:
            wanted: Sequence[Document] = documents
            if policy is not DuplicatePolicy.OVERWRITE:
                wanted = self._without_duplicates(documents, policy)
            points = [to_point(document) for document in wanted]
            if not points:
                return 0
            self.access.work()
            self._fit_dense_space(d.embedding for d in wanted if d.embedding is not None)
            self.access.directory.require_space(sum(map(_weight, wanted)))
            with guard("write documents"):
                for start in range(0, len(points), _BATCH):
                    batch = points[start : start + _BATCH]
                    self.access.work().update(qe.UpdateOperation.upsert_points(batch))
                    self.access.count_written(len(batch))
        return len(points)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents from the working copy; unknown ids are passed over."""
        if not document_ids:
            return
        with self.access.mutex, guard("delete documents"):
            ids: list[Any] = [point_id(document_id) for document_id in document_ids]
            self.access.work().update(qe.UpdateOperation.delete_points(ids))

    def _without_duplicates(
        self, documents: Sequence[Document], policy: DuplicatePolicy
    ) -> list[Document]:
        ids: list[Any] = [point_id(document.id) for document in documents]
        with self._reading("look up documents") as shard:
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
        with self.access.mutex:
            size = self.embedding_dim
            if size != len(query):
                raise ValueError(f"the query has {len(query)} dimensions; the index holds {size}")
            return self._query(qe.Query.Nearest(query, using=DENSE), filters, top_k)

    def _query(self, query: qe.Query, filters: dict[str, Any] | None, top_k: int) -> list[Document]:
        points = self._query_points(query, filters, top_k, True)
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
