"""Notes by filters alone: listed, the newest first, and not ranked."""

from __future__ import annotations

from typing import Any

from rag.search.components.note_ranker import Hit, Hits, first_chunks
from rag.search.query_understanding import Understood
from rag.stores.base.protocol import NoteStore

# Chunks asked of the store for each note wanted: a note is ranked by its best three sections, and
# some notes fill the top with chunks of their own.
CHUNKS_PER_NOTE = 8


def newest_notes(store: NoteStore, understood: Understood, top_k: int) -> list[str]:
    """Return the ids of the notes that a query without words selects, the newest first."""
    notes: list[str] = []
    wanted = top_k * CHUNKS_PER_NOTE
    while understood.lists:
        found = store.newest(understood.filters, wanted)
        notes = list(dict.fromkeys(candidate.note for candidate in found))
        if len(notes) >= top_k or len(found) < wanted:
            break
        wanted *= 4
    return notes[:top_k]


def list_notes(store: NoteStore, understood: Understood, top_k: int) -> dict[str, Any]:
    """List the notes that a query without words selects, the newest first."""
    first = first_chunks(store, understood.filters, newest_notes(store, understood, top_k))
    hits = Hits(Hit(candidate.id, candidate.note, 0.0, ()) for candidate in first)
    documents = store.get_documents([hit.id for hit in hits])
    return {"documents": documents, "hits": hits, "duplicates": [[] for _ in documents]}
