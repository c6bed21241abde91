"""The small components between a text and its place in the lexical index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from haystack import component
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.stores.batch import DocumentBatch
from rag.text.encoding import DocumentEncoder
from rag.text.lexical import SparseVector, encode_query
from rag.text.tokens import TOKEN, cleaned
from rag.vault.markdown import plain


def _sparse(vector: SparseVector) -> SparseEmbedding:
    return SparseEmbedding(vector.indices, vector.values)


def file_name(document: Document) -> str:
    """Return the name of the note's file, without its ending."""
    return PurePath(str(document.meta.get("file_path") or "")).stem


def lexical_parts(document: Document) -> list[str]:
    """Return what a chunk is found by: title, headings, aliases, and last its text.

    A note's first chunk is found by its file name too, as far as the title does not say the same.
    """
    *names, body = _parts(document)
    if document.meta.get("position") == 0:
        known = set(TOKEN.findall(cleaned(str(document.meta.get("title") or ""))))
        stem = TOKEN.findall(cleaned(file_name(document)))
        names.append(" ".join("".join(piece) for piece in stem if piece not in known))
    return [*names, body]


def embedded_text(document: Document) -> str:
    """Return what a chunk is embedded by: the same, without its file name, so that renaming a
    file costs nothing."""
    return "\n".join(part for part in _parts(document) if part.strip())


def _parts(document: Document) -> list[str]:
    """A heading that repeats the title counts once, and the heading's own line not again."""
    meta = document.meta
    title = str(meta.get("title") or "")
    heading = [str(part) for part in meta.get("heading") or []]
    names = [title, *(part for part in heading if part != title), *(meta.get("aliases") or [])]
    body = document.content or ""
    if heading:
        first, _, rest = body.partition("\n")
        if plain(first.lstrip("# ").rstrip("# ")) == heading[-1]:
            body = rest
    return [*names, plain(body)]


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
        encoded = self._encoder.encode(["\n".join(lexical_parts(d)) for d in documents])
        embedded = [
            replace(document, sparse_embedding=_sparse(vector))
            for document, vector in zip(documents, encoded.vectors, strict=True)
        ]
        is_batch = isinstance(documents, DocumentBatch)
        return {
            "documents": DocumentBatch(embedded) if is_batch else embedded,
            "words": encoded.words,
        }

    @component.output_types(documents=list[Document], words=list[str])
    async def run_async(
        self, documents: list[Document]
    ) -> dict[str, Sequence[Document] | list[str]]:
        """`run`; it computes and waits for nothing."""
        result: dict[str, Sequence[Document] | list[str]] = self.run(documents)
        return result


@component
class LexicalTextEmbedder:
    """Give a query the sparse vector of BM25."""

    @component.output_types(sparse_embedding=SparseEmbedding)
    def run(self, text: str, also: list[str] | None = None) -> dict[str, SparseEmbedding]:
        """Return `sparse_embedding`; empty when the query holds no word.

        :param also: further words to look for, at a little less weight.
        """
        return {"sparse_embedding": _sparse(encode_query(text, also or ()))}

    @component.output_types(sparse_embedding=SparseEmbedding)
    async def run_async(
        self, text: str, also: list[str] | None = None
    ) -> dict[str, SparseEmbedding]:
        """`run`; it computes and waits for nothing."""
        result: dict[str, SparseEmbedding] = self.run(text, also)
        return result
