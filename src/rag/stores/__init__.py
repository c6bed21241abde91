"""Where documents rest: the embedded Qdrant store, its files, and the manifest of notes.

Names load on first use: the manifest alone answers many questions, and Haystack takes half a
second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.stores.edge import QdrantEdgeDocumentStore
    from rag.stores.generations import IndexDirectory

COLLECTION_NAME = "obsidian_knowledge"

_HOMES = {
    "QdrantEdgeDocumentStore": "rag.stores.edge",
    "QdrantEdgeEmbeddingRetriever": "rag.stores.retrievers",
    "QdrantEdgeSparseRetriever": "rag.stores.retrievers",
    "Generation": "rag.stores.generations",
    "IndexDirectory": "rag.stores.generations",
    "Manifest": "rag.stores.manifest",
}
__all__ = ["COLLECTION_NAME", "get_collection_stats", "get_document_store", *_HOMES]


def get_document_store(
    config: RAGConfig | None = None, directory: IndexDirectory | None = None
) -> QdrantEdgeDocumentStore:
    """Return the store of the configured index; nothing is opened yet.

    :param directory: the index's folder, where the caller holds its lock already.
    """
    from rag.config import load_config
    from rag.stores.edge import QdrantEdgeDocumentStore

    path = str((config or load_config()).index_dir)
    store = QdrantEdgeDocumentStore(path, half_precision=True)
    if directory is not None:
        store.access.directory = directory
    return store


def get_collection_stats(store: QdrantEdgeDocumentStore) -> dict[str, Any]:
    """Return `collection_name, document_count, embedding_dim, similarity` of a store."""
    return {
        "collection_name": COLLECTION_NAME,
        "document_count": store.count_documents(),
        "embedding_dim": store.embedding_dim,
        "similarity": store.similarity,
    }


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
