"""Haystack retrievers for `QdrantEdgeDocumentStore`."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import FilterPolicy, apply_filter_policy

from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.document_store import QdrantEdgeDocumentStore

# The components of a pipeline that were written with one store are read with one store.
_stores: WeakValueDictionary[tuple[str, str], BaseDocumentStore] = WeakValueDictionary()


def with_store(data: dict[str, Any]) -> dict[str, Any]:
    """Make the store in a component's serialised form.

    Done here, so that only the component's own module need be trusted by Haystack.
    """
    parameters = data["init_parameters"]
    saved = parameters["document_store"]
    kind: type[BaseDocumentStore] = QdrantEdgeDocumentStore
    if saved["type"] == "rag.stores.server.document_store.QdrantServerDocumentStore":
        from rag.stores.server.document_store import QdrantServerDocumentStore

        kind = QdrantServerDocumentStore
    store = kind.from_dict(saved)
    store = _stores.setdefault((store.path, store.similarity), store)
    return {**data, "init_parameters": {**parameters, "document_store": store}}


class _EdgeRetriever:
    """What both retrievers share.

    :param document_store: where to look.
    :param filters: Haystack filters that always apply.
    :param top_k: how many documents to return.
    :param filter_policy: whether filters given to `run` replace or join those given here.
    """

    def __init__(
        self,
        document_store: QdrantEdgeDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, QdrantEdgeDocumentStore):
            raise ValueError("document_store must be a QdrantEdgeDocumentStore")
        if top_k < 1:
            raise ValueError(f"top_k must be at least 1, not {top_k}")
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        if isinstance(filter_policy, str):
            filter_policy = FilterPolicy.from_str(filter_policy)
        self.filter_policy = filter_policy

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_store(data))

    def _arguments(self, filters: dict[str, Any] | None, top_k: int | None) -> tuple[Any, int]:
        merged = apply_filter_policy(self.filter_policy, self.filters, filters)
        return merged, self.top_k if top_k is None else top_k


@component
class QdrantEdgeSparseRetriever(_EdgeRetriever):
    """Retrieve documents by sparse vector, such as BM25's."""

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_sparse_embedding: SparseEmbedding,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Return `documents`, best first."""
        arguments = self._arguments(filters, top_k)
        return {"documents": self.document_store.query(query_sparse_embedding, *arguments)}


@component
class QdrantEdgeEmbeddingRetriever(_EdgeRetriever):
    """Retrieve documents by embedding."""

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """Return `documents`, best first."""
        arguments = self._arguments(filters, top_k)
        return {"documents": self.document_store.query(query_embedding, *arguments)}
