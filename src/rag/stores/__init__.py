"""Where documents rest: embedded Qdrant or a Qdrant server, and the manifest of notes.

Names load on first use: the manifest alone answers many questions, and Haystack takes half a
second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag.config import StoreConfig

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.stores.generations import IndexDirectory
    from rag.stores.protocol import NoteStore

COLLECTION_NAME = StoreConfig.collection

_HOMES = {
    "QdrantEdgeDocumentStore": "rag.stores.edge",
    "QdrantEdgeEmbeddingRetriever": "rag.stores.retrievers",
    "QdrantEdgeSparseRetriever": "rag.stores.retrievers",
    "QdrantServerDocumentStore": "rag.stores.server",
    "Generation": "rag.stores.generations",
    "IndexDirectory": "rag.stores.generations",
    "Manifest": "rag.stores.manifest",
    "NoteStore": "rag.stores.protocol",
}
__all__ = ["COLLECTION_NAME", "get_collection_stats", "get_document_store", *_HOMES]


def get_document_store(
    config: RAGConfig | None = None, directory: IndexDirectory | None = None
) -> NoteStore:
    """Return the store of the configured index; nothing is opened or contacted yet.

    :param directory: the index's folder, where the caller holds its lock already.
    """
    from rag.config import load_config

    config = config or load_config()
    path = str(config.index_dir)
    if config.store.url:  # its client takes a second to import
        from rag.stores.server import QdrantServerDocumentStore

        return QdrantServerDocumentStore(path, config.store, directory)
    from rag.stores.edge import QdrantEdgeDocumentStore

    store = QdrantEdgeDocumentStore(path, half_precision=True)
    if directory is not None:
        store.access.directory = directory
    return store


def get_collection_stats(store: NoteStore) -> dict[str, Any]:
    """Return `collection_name, document_count, embedding_dim, similarity` of a store."""
    return {
        "collection_name": store.collection_name,
        "document_count": store.count_documents(),
        "embedding_dim": store.embedding_dim,
        "similarity": store.similarity,
    }


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
