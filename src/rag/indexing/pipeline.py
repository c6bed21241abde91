"""The indexing pipeline and its components: chunks in, weighed, written and embedded."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from itertools import chain
from typing import Any

from haystack import Document, Pipeline, component, default_from_dict, default_to_dict
from haystack.components.writers import DocumentWriter
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy

from rag.clients.factory import embedding_provider, with_config
from rag.config import ModelsConfig, OllamaConfig, RAGConfig, models_config
from rag.index.searchable_text import beside, indexed_text, sentence_texts
from rag.stores.base.document_store import BaseDocumentStore, own_store, with_store
from rag.stores.base.points import Batch
from rag.text.bm25_documents import encode_documents

VECTORS = "sentence_embedder"
Vectors = Mapping[str, list[float]]

# A failure is reported by the command; Haystack's log would add on stderr which of the inputs its
# snapshot of the pipeline cannot hold.
logging.getLogger("haystack").addHandler(logging.NullHandler())


@component
class LexicalDocumentEmbedder:
    """Give documents the sparse vectors of BM25, made from title, headings and text."""

    @component.output_types(documents=list[Document], words=list[str])
    def run(self, documents: list[Document]) -> dict[str, Sequence[Document] | list[str]]:
        """Return `documents` with their `sparse_embedding`, and the `words` they are written with.

        A `Batch` gives another.
        """
        encoded = encode_documents(
            [indexed_text(d.meta, d.content) for d in documents],
            [beside(d.meta, d.content) for d in documents],
        )
        weighed = [
            replace(document, sparse_embedding=SparseEmbedding([*vector.indices], [*vector.values]))
            for document, vector in zip(documents, encoded.vectors, strict=True)
        ]
        is_batch = isinstance(documents, Batch)
        return {
            "documents": Batch(weighed) if is_batch else weighed,
            "words": encoded.words,
        }


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
        self, documents: list[Document], documents_written: int, makes: bool = True
    ) -> dict[str, int]:
        """Return how many documents were `embedded`.

        :param documents_written: says that they are in the store.
        :param makes: whether vectors are made now.
        """
        if not makes or not self.config:
            return {"embedded": 0}
        chunk_texts = texts_of(documents)
        texts = [*dict.fromkeys(chain.from_iterable(chunk_texts.values()))]
        with closing(embedding_provider(self.config)) as provider:
            limit = provider.identity().limit
            batches = provider.embed_documents(texts, limit)
            vectors = {texts[at]: vector for batch in batches for at, vector in batch.vectors}
        return {"embedded": len(write_vectors(self.document_store, chunk_texts, vectors))}

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store and settings."""
        config = self.config and asdict(self.config)
        return default_to_dict(self, document_store=self.document_store.to_dict(), config=config)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_config(with_store(data)))


def texts_of(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Return by id which texts of documents are embedded."""
    return {document.id: sentence_texts(document.meta, document.content) for document in documents}


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


def create_indexing_pipeline(
    store: BaseDocumentStore, config: RAGConfig | OllamaConfig | None = None
) -> Pipeline:
    """Make the pipeline that weighs the words of chunks, writes them, and makes their vectors.

        embedder (LexicalDocumentEmbedder) -> writer (DocumentWriter)
                                           -> sentence_embedder (SentenceEmbedder)

    `index_vault` has the vectors made last, and none of a text that was embedded before.

    :param config: names who makes vectors; without it the index has words alone.
    :raises UsageError: for a store that is not one of `rag.stores`.
    """
    store = own_store(store)
    pipeline = Pipeline()
    pipeline.add_component("embedder", LexicalDocumentEmbedder())
    pipeline.add_component("writer", DocumentWriter(store, DuplicatePolicy.OVERWRITE))
    pipeline.add_component(VECTORS, SentenceEmbedder(store, config))
    pipeline.connect("embedder.documents", "writer.documents")
    pipeline.connect("embedder.documents", f"{VECTORS}.documents")
    pipeline.connect("writer.documents_written", f"{VECTORS}.documents_written")
    return pipeline
