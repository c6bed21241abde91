"""The small components between a text and its place in the lexical index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from haystack import component
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.stores.batch import DocumentBatch
from rag.text.lexical import SparseVector, encode_document, encode_query
from rag.vault.markdown import plain


def _sparse(vector: SparseVector) -> SparseEmbedding:
    return SparseEmbedding(vector.indices, vector.values)


def lexical_text(document: Document) -> str:
    """Return the words a chunk is found by: title, headings, aliases, then its text.

    A heading that repeats the title counts once, and the heading's own line not again.
    """
    meta = document.meta
    title = str(meta.get("title") or "")
    heading = [str(part) for part in meta.get("heading") or []]
    names = [title, *(part for part in heading if part != title), *(meta.get("aliases") or [])]
    body = document.content or ""
    if heading:
        first, _, rest = body.partition("\n")
        if plain(first.lstrip("# ").rstrip("# ")) == heading[-1]:
            body = rest
    return "\n".join([*names, plain(body)])


@component
class LexicalDocumentEmbedder:
    """Give documents the sparse vectors of BM25, made from title, headings and text."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Sequence[Document]]:
        """Return `documents` with their `sparse_embedding`; a `DocumentBatch` gives another."""
        embedded = [
            replace(document, sparse_embedding=_sparse(encode_document(lexical_text(document))))
            for document in documents
        ]
        is_batch = isinstance(documents, DocumentBatch)
        return {"documents": DocumentBatch(embedded) if is_batch else embedded}

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document]) -> dict[str, Sequence[Document]]:
        """`run`; it computes and waits for nothing."""
        result: dict[str, Sequence[Document]] = self.run(documents)
        return result


@component
class LexicalTextEmbedder:
    """Give a query the sparse vector of BM25."""

    @component.output_types(sparse_embedding=SparseEmbedding)
    def run(self, text: str) -> dict[str, SparseEmbedding]:
        """Return `sparse_embedding`; empty when the query holds no word."""
        return {"sparse_embedding": _sparse(encode_query(text))}

    @component.output_types(sparse_embedding=SparseEmbedding)
    async def run_async(self, text: str) -> dict[str, SparseEmbedding]:
        """`run`; it computes and waits for nothing."""
        result: dict[str, SparseEmbedding] = self.run(text)
        return result


@component
class NoteRanker:
    """Rank notes by their best chunks together; each note is shown by its best one.

    A note scores s1 + s2/2 + s3/4 for its three best chunks: on a help vault this ranked
    better than the best chunk alone, and a long note cannot win by length.

    :param top_k: how many notes to return.
    :param weights: what the first, second, … chunk of a note counts for.
    """

    def __init__(self, top_k: int = 10, weights: Sequence[float] = (1.0, 0.5, 0.25)) -> None:
        if top_k < 1 or not weights:
            raise ValueError("NoteRanker needs top_k >= 1 and at least one weight")
        self.top_k = top_k
        self.weights = list(weights)

    @component.output_types(documents=list[Document])
    def run(
        self, documents: list[Document], top_k: int | None = None, chunks: bool = False
    ) -> dict[str, list[Document]]:
        """Return `documents`, best first, each with the score of its note.

        :param chunks: rank the chunks themselves, several of one note perhaps.
        """
        limit = self.top_k if top_k is None else top_k
        ranked = sorted(documents, key=_order)
        if not chunks:
            notes: dict[str, list[Document]] = {}
            for document in ranked:
                notes.setdefault(str(document.meta.get("file_id", document.id)), []).append(
                    document
                )
            ranked = sorted((self._merge(found) for found in notes.values()), key=_order)
        return {"documents": ranked[:limit]}

    def _merge(self, chunks: list[Document]) -> Document:
        pairs = zip(self.weights, chunks, strict=False)
        return replace(chunks[0], score=sum(w * (chunk.score or 0.0) for w, chunk in pairs))


def _order(document: Document) -> tuple[float, str]:
    """Best first; equal scores in the order of ids, so that ties never flicker."""
    return -(document.score or 0.0), document.id
