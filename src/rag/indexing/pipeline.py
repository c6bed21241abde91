"""The indexing pipeline: chunks in, weighed and written."""

from __future__ import annotations

from haystack import Document, Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.types import DuplicatePolicy

from rag.config import RAGConfig
from rag.exceptions import IndexingError
from rag.indexing.lexical_embedder import LexicalDocumentEmbedder
from rag.indexing.note_reader import ReadNote
from rag.stores.base.batch import DocumentBatch
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.pipeline_errors import own_errors


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


def to_documents(read: ReadNote, wanted: set[str]) -> list[Document]:
    """Return the Haystack documents of a note's `wanted` chunks."""
    return [
        Document(id=chunk.id, content=chunk.text, meta=meta)
        for chunk, meta in zip(read.chunks, read.metas, strict=True)
        if chunk.id in wanted
    ]


def write_documents(pipeline: Pipeline, documents: list[Document]) -> list[str]:
    """Run the indexing pipeline over some chunks.

    :returns: the words that they are written with.
    :raises RAGError: what a component of ours raised, or an `IndexingError` for any other.
    """
    if not documents:
        return []
    with own_errors(IndexingError, "the indexing pipeline failed"):
        output = pipeline.run({"embedder": {"documents": DocumentBatch(documents)}})
    words: list[str] = output["embedder"]["words"]
    return words
