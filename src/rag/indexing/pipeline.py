"""The indexing pipeline: chunks in, weighed, written and embedded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.types import DuplicatePolicy

from rag.config import OllamaConfig, RAGConfig
from rag.indexing.lexical_embedder import LexicalDocumentEmbedder
from rag.indexing.note_points import NoteChunk
from rag.indexing.sentence_embedder import Lookup, SentenceEmbedder
from rag.stores.base.batch import DocumentBatch
from rag.stores.base.document_store import BaseDocumentStore, own_store

VECTORS = "sentence_embedder"


class Wrote(NamedTuple):
    """The words that chunks were written with, and how many of them have vectors."""

    words: list[str]
    embedded: int


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


def run_pipeline(pipeline: Pipeline, chunks: Sequence[NoteChunk], known: Lookup | None) -> Wrote:
    """Have a pipeline write some chunks, which makes no vectors yet.

    :param known: returns the vectors that texts have already, if any have.
    """
    documents = DocumentBatch(
        Document(id=chunk.id, content=chunk.text, meta=chunk.meta) for chunk in chunks
    )
    inputs = {"embedder": {"documents": documents}, VECTORS: {"known": known, "makes": False}}
    output = pipeline.run(inputs)
    return Wrote(output["embedder"]["words"], output[VECTORS]["embedded"])
