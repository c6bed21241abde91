"""The indexing pipeline: chunks in, weighed and written."""

from __future__ import annotations

from collections.abc import Sequence

from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.types import DuplicatePolicy

from rag.config import RAGConfig
from rag.indexing.lexical_embedder import LexicalDocumentEmbedder
from rag.indexing.note_points import NoteChunk
from rag.stores.base.batch import DocumentBatch
from rag.stores.base.document_store import BaseDocumentStore


def create_indexing_pipeline(store: BaseDocumentStore, config: RAGConfig | None = None) -> Pipeline:
    """Make the pipeline that weighs the words of chunks and writes them.

        embedder (LexicalDocumentEmbedder) -> writer (DocumentWriter)

    :param config: settings; none of them shapes this pipeline yet.
    """
    pipeline = Pipeline()
    pipeline.add_component("embedder", LexicalDocumentEmbedder())
    pipeline.add_component("writer", DocumentWriter(store, DuplicatePolicy.OVERWRITE))
    pipeline.connect("embedder.documents", "writer.documents")
    return pipeline


def run_pipeline(pipeline: Pipeline, chunks: Sequence[NoteChunk]) -> list[str]:
    """Have a pipeline write some chunks.

    :returns: the words that they are written with.
    """
    documents = DocumentBatch(
        Document(id=chunk.id, content=chunk.text, meta=chunk.meta) for chunk in chunks
    )
    words: list[str] = pipeline.run({"embedder": {"documents": documents}})["embedder"]["words"]
    return words
