"""Where documents rest: embedded Qdrant or a Qdrant server, and the manifest of notes.

Names load on first use: the manifest alone answers many questions, and Haystack takes half a
second to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.config import StoreConfig
from rag.support.lazy_imports import lazy_names

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.index.snapshots import IndexDirectory
    from rag.stores.base.document_store import BaseDocumentStore

COLLECTION_NAME = StoreConfig.collection

_HOMES = {
    "rag.stores.edge.document_store": ("QdrantEdgeDocumentStore",),
    "rag.stores.base.document_store": ("BaseDocumentStore",),
    "rag.stores.server.document_store": ("QdrantServerDocumentStore",),
}
_names, __getattr__, _ = lazy_names(__name__, _HOMES)
__all__ = [
    *("COLLECTION_NAME", "get_collection_stats", "get_document_store", "open_directory"),
    *_names,
]


def get_document_store(
    config: RAGConfig | None = None, directory: IndexDirectory | None = None
) -> BaseDocumentStore:
    """Return the store of the configured index; nothing is opened or contacted yet.

    :param directory: the index's folder, where the caller holds its lock already.
    """
    from rag.config import load_config
    from rag.index.snapshots import IndexDirectory

    config = config or load_config()
    directory = directory or IndexDirectory.of(config)
    path = str(directory.path)
    if config.store.url:
        from rag.stores.server.document_store import QdrantServerDocumentStore

        return QdrantServerDocumentStore(path, config.store, directory)
    from rag.stores.edge.document_store import QdrantEdgeDocumentStore

    return QdrantEdgeDocumentStore(path, is_quantized=True, directory=directory)


def open_directory(config: RAGConfig, is_needed: bool = True) -> IndexDirectory:
    """Return the folder of the configured index, brought up to date with what a server has of it;
    errors are those of `refresh`."""
    from rag.index.snapshots import IndexDirectory

    directory = IndexDirectory.of(config)
    if config.store.url:
        from rag.stores.server.catalog import refresh

        refresh(config.store, directory, is_needed)
    return directory


def get_collection_stats(store: BaseDocumentStore) -> dict[str, Any]:
    """Return `collection_name, document_count, embedding_dim, similarity` of a store."""
    return {
        "collection_name": store.collection_name,
        "document_count": store.count_documents(),
        "embedding_dim": store.embedding_dim,
        "similarity": store.similarity,
    }
