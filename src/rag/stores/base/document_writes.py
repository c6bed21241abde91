"""Checks of documents and embeddings before any of them is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from rag.stores.base.backend import Backend
from rag.stores.base.batch import DocumentBatch
from rag.stores.base.points import point_id


def documents_to_write(
    backend: Backend, documents: Sequence[Document], policy: DuplicatePolicy
) -> Sequence[Document]:
    """Return the documents that a policy lets be written: all, or those whose ids are new.

    :raises ValueError: when the input is no list of documents.
    :raises DuplicateDocumentError: when an id is not new, under `NONE` and `FAIL`.
    """
    if not isinstance(documents, (list, DocumentBatch)) or not all(
        isinstance(document, Document) for document in documents
    ):
        raise ValueError("write_documents needs a list of haystack Documents")
    if policy is DuplicatePolicy.OVERWRITE:
        return documents
    ids = [point_id(document.id) for document in documents]
    known = {point.id for point in backend.retrieve(ids, False)}
    fresh: dict[str, Document] = {}
    for identity, document in zip(ids, documents, strict=True):
        if identity not in known and identity not in fresh:
            fresh[identity] = document
        elif policy is not DuplicatePolicy.SKIP:
            raise DuplicateDocumentError(f"document {document.id!r} already exists")
    return list(fresh.values())


def fit_dense_space(backend: Backend, embeddings: Iterable[Sequence[float]]) -> None:
    """Make room for embeddings, or check their size: a wrong one would leave half of them written.

    :raises ValueError: when they are not all of the size that the index holds.
    """
    sizes = {len(embedding) for embedding in embeddings}
    if not sizes:
        return
    size = backend.dense_size()
    if size is None and len(sizes) == 1:
        backend.add_dense_space(sizes.pop())
    elif sizes != {size}:
        raise ValueError(f"embeddings of {sorted(sizes)} dimensions; the index holds {size}")
