"""Who embeds the queries of an index: whoever made its embeddings, unless the settings say it."""

from __future__ import annotations

from rag.clients.factory import embedding_provider
from rag.clients.protocols import EmbeddingProvider
from rag.config import ModelsConfig
from rag.index.embedding_space import Embedded, maker, read_embedded
from rag.stores.base.document_store import BaseDocumentStore


def embedded_in(store: BaseDocumentStore) -> Embedded | None:
    """Return what an index says of its embeddings; `None` where it has none."""
    manifest = store.manifest()
    return read_embedded(manifest) if manifest else None


def embeddings_for(store: BaseDocumentStore, config: ModelsConfig) -> EmbeddingProvider:
    """Return who embeds the queries of an index; no server is asked where it has embeddings."""
    return embedding_provider(config, maker(embedded_in(store)))
