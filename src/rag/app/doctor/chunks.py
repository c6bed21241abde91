"""Whether the store holds what the manifest says, with the words that the program would give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.app.doctor.check import Check, Examination
from rag.exceptions import Message, Remedy
from rag.index.manifest import Manifest
from rag.text.messages import plural

if TYPE_CHECKING:
    from haystack import Document
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

_SAMPLE = 40  # chunks, spread over the index
_REBUILD = Message(remedy=Remedy.REBUILD_INDEX)
_INDEX = Message(remedy=Remedy.WRITE_MISSING)


def check_chunks(examination: Examination) -> Iterator[Check]:
    """Count the store's chunks, and weigh the words of some again.

    :raises IndexUnavailableError: when the store cannot be read.
    """
    from rag.stores import get_document_store

    index = examination.index
    if index is None:  # said already
        return
    with get_document_store(examination.config) as store, store.pinned():
        manifest = store.manifest()
        expected = manifest.expected_points() if manifest else None
        found = store.count_documents()
        facts = {"expected": expected, "found": found}
        on_server = bool(examination.config.store.url)
        # More on a server are no harm: see `QdrantServerDocumentStore.missing_points`.
        is_whole = expected is not None and (found == expected or (on_server and found > expected))
        if manifest is None or not is_whole:
            message = f"the store holds {plural(found, 'chunk')}, the manifest names {expected}"
            hint = _INDEX if on_server else _REBUILD
            yield Check("chunks", "fail", message, hint, facts)
            return
        index.dimension = store.embedding_dim
        wanted = _spread(manifest)
        notes = sorted(set(wanted.values()))
        # By note, since the notes of chunks have an index in the store and their ids have not.
        read = store.filter_documents({"field": "meta.file_id", "operator": "in", "value": notes})
        vectors = store.embeddings_of([*wanted])
    index.sample = [
        replace(document, embedding=vectors[document.id][0] if document.id in vectors else None)
        for document in read
        if document.id in wanted
    ]
    facts["sample"] = len(wanted)
    lost, wrong = len(wanted) - len(index.sample), _count_wrong(index.sample)
    if lost or wrong:
        message = (
            f"of {plural(len(wanted), 'chunk')} looked at, {lost} lost, {wrong} with other words"
        )
        yield Check("chunks", "fail", message, _REBUILD, facts | {"lost": lost, "wrong": wrong})
        return
    message = f"{expected:,}, as the manifest says; {len(wanted)} looked at have the right words"
    yield Check("chunks", "pass", message, facts=facts)


def _spread(manifest: Manifest) -> dict[str, str]:
    """Return some chunks from all over the index, always the same ones, with their notes."""
    notes = manifest.notes("length(chunks) > 0")
    chunks = [(key.id, row.id) for row in notes for key in row.chunks]
    step = max(len(chunks) / _SAMPLE, 1.0)
    return dict(chunks[int(at * step)] for at in range(min(len(chunks), _SAMPLE)))


def _count_wrong(documents: list[Document]) -> int:
    """Count the chunks whose words in the store are not those of their text."""
    from rag.indexing.lexical_embedder import LexicalDocumentEmbedder

    again: Any = LexicalDocumentEmbedder().run(documents=documents)["documents"]
    return sum(
        not _same(stored.sparse_embedding, fresh.sparse_embedding)
        for stored, fresh in zip(documents, again, strict=True)
    )


def _same(stored: SparseEmbedding | None, fresh: SparseEmbedding | None) -> bool:
    """Compare sparse vectors; the store keeps 32 bits of each weight."""
    one, other = _weights(stored), _weights(fresh)
    return one.keys() == other.keys() and all(
        math.isclose(weight, other[index], rel_tol=1e-5) for index, weight in one.items()
    )


def _weights(sparse: SparseEmbedding | None) -> dict[int, float]:
    return dict(zip(sparse.indices, sparse.values, strict=True)) if sparse else {}
