"""The component that gives documents the vectors of their sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import chain
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document

from rag.clients.factory import embedding_provider, with_config
from rag.config import ModelsConfig, OllamaConfig, models_config
from rag.index.searchable_text import sentence_texts
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.retrievers import with_store
from rag.text.token_estimate import count_tokens

Vectors = Mapping[str, list[float]]
Lookup = Callable[[Sequence[str]], Vectors]  # gives those that there are


def texts_of(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Return by id which texts of documents are embedded."""
    return {one.id: sentence_texts(one.meta, one.content) for one in documents}


def write_vectors(
    store: BaseDocumentStore, texts: Mapping[str, list[str]], vectors: Vectors
) -> Collection[str]:
    """Write the vectors of the documents all of whose texts have one, and return their ids.

    :param texts: from `texts_of`.
    """
    whole = {
        key: [vectors[text] for text in its]
        for key, its in texts.items()
        if its and all(text in vectors for text in its)
    }
    store.write_embeddings(whole)
    return whole.keys()


@component
class SentenceEmbedder:
    """Give documents that were written the vectors of their sentences.

    :param document_store: where they are.
    :param config: the sections of providers, such as a `RAGConfig`; or the `[ollama]` section.
        Without it no vectors are made.
    """

    def __init__(
        self, document_store: BaseDocumentStore, config: ModelsConfig | OllamaConfig | None = None
    ) -> None:
        self.document_store = document_store
        self.config = None if config is None else models_config(config)

    @component.output_types(embedded=int)
    def run(
        self,
        documents: list[Document],
        documents_written: int,
        known: Lookup | None = None,
        makes: bool = True,
    ) -> dict[str, int]:
        """Return how many documents were `embedded`.

        :param documents_written: says that they are in the store.
        :param known: returns the vectors that texts have already, where the others are not made
            now.
        :param makes: whether vectors are made now.
        """
        lookup = self._made if makes and self.config else known
        if lookup is None:  # to cut documents into sentences takes time
            return {"embedded": 0}
        texts = texts_of(documents)
        vectors = lookup([*dict.fromkeys(chain.from_iterable(texts.values()))])
        return {"embedded": len(write_vectors(self.document_store, texts, vectors))}

    def _made(self, texts: Sequence[str]) -> Vectors:
        assert self.config
        with closing(embedding_provider(self.config)) as provider:
            limit = provider.identity().limit
            batches = provider.embed_documents(texts, count_tokens, limit)
            return {texts[at]: vector for batch in batches for at, vector in batch.vectors}

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store and settings."""
        config = self.config and asdict(self.config)
        return default_to_dict(self, document_store=self.document_store.to_dict(), config=config)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(with_store(data)))
