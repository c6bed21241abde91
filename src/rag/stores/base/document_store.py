"""Documents in and out: the protocol of Haystack's document stores, over any backend."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from rag.stores.base.backend import Ask
from rag.stores.base.batch import DocumentBatch
from rag.stores.base.chunk_queries import ask_for
from rag.stores.base.embeddings import NoteEmbeddings
from rag.stores.base.points import point_id, to_document, to_point, weight


class NoteDocuments(NoteEmbeddings):
    """The documents of a backend, as Haystack's document stores hold them."""

    # -- the DocumentStore protocol ----------------------------------------------------

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return self.count_documents_by_filter(None)

    def count_documents_by_filter(self, filters: dict[str, Any] | None) -> int:
        """Return how many documents a filter selects.

        :raises FilterError: when the filter is malformed.
        """
        return self.backend.count(self._where(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that a filter selects, with their vectors, in order of point id.

        :raises FilterError: when the filter is malformed.
        """
        return [document for page, _ in self.pages(filters) for document in page]

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
        if not isinstance(documents, (list, DocumentBatch)) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise ValueError("write_documents needs a list of haystack Documents")
        with self.backend.mutex:
            wanted: Sequence[Document] = documents
            if policy is not DuplicatePolicy.OVERWRITE:
                wanted = self._without_duplicates(documents, policy)
            points = [to_point(document) for document in wanted]
            if not points:
                return 0
            self.backend.reserve(sum(map(_weight, wanted)))
            self._fit_dense_space(d.embedding for d in wanted if d.embedding is not None)
            self.backend.upsert(points)
        return len(points)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; unknown ids are passed over."""
        if document_ids:
            self.backend.delete([point_id(document_id) for document_id in document_ids])

    def _without_duplicates(
        self, documents: Sequence[Document], policy: DuplicatePolicy
    ) -> list[Document]:
        ids = [point_id(document.id) for document in documents]
        known = {str(point.id) for point in self.backend.retrieve(ids, False)}
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
        return self._query(ask_for(query, top_k, self._where(filters), True))

    def query_dense(
        self, query: list[float], filters: dict[str, Any] | None = None, top_k: int = 10
    ) -> list[Document]:
        """Return the `top_k` documents nearest to an embedding, each with its similarity.

        :raises ValueError: when the index holds no embeddings, or of another size.
        """
        asked = ask_for(query, top_k, self._where(filters), True)
        with self.backend.mutex:
            size = self.embedding_dim
            if size != len(query):
                raise ValueError(f"the query has {len(query)} dimensions; the index holds {size}")
            return self._query(asked)

    def _query(self, asked: Ask) -> list[Document]:
        points = self._search(asked)[0]
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
    sparse, dense = document.sparse_embedding, document.embedding
    numbers = (2 * len(sparse.indices) if sparse else 0) + len(dense or [])
    return weight(len(document.content or ""), numbers)
