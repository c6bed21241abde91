"""The component that gives documents their place in the lexical index."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from haystack import component
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.indexing.note_points import NoteChunk, encode
from rag.stores.base.batch import DocumentBatch
from rag.text.bm25_documents import DocumentEncoder

# A failure is reported by the command; Haystack's log would add on stderr which of the inputs its
# snapshot of the pipeline cannot hold.
logging.getLogger("haystack").addHandler(logging.NullHandler())


@component
class LexicalDocumentEmbedder:
    """Give documents the sparse vectors of BM25, made from title, headings and text."""

    def __init__(self) -> None:
        self._encoder = DocumentEncoder()

    @component.output_types(documents=list[Document], words=list[str])
    def run(self, documents: list[Document]) -> dict[str, Sequence[Document] | list[str]]:
        """Return `documents` with their `sparse_embedding`, and the `words` they are written with.

        A `DocumentBatch` gives another.
        """
        chunks = [NoteChunk(d.id, d.content, d.meta) for d in documents]
        encoded = encode(chunks, self._encoder)
        embedded = [
            replace(document, sparse_embedding=SparseEmbedding(vector.indices, vector.values))
            for document, vector in zip(documents, encoded.vectors, strict=True)
        ]
        is_batch = isinstance(documents, DocumentBatch)
        return {
            "documents": DocumentBatch(embedded) if is_batch else embedded,
            "words": encoded.words,
        }
