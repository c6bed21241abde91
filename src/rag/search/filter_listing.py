"""Notes by filters alone: listed, the newest first, and not ranked."""

from __future__ import annotations

from rag.search.components.note_ranker import Hit, Hits, first_chunks
from rag.search.filters import MODIFIED, TITLE, Filter, ordered_notes
from rag.search.understanding.query_understanding import Understood
from rag.stores.base.document_store import BaseDocumentStore

# Chunks asked of the store for each note wanted: a note is ranked by its best three sections, and
# some notes fill the top with chunks of their own.
CHUNKS_PER_NOTE = 8


def newest_notes(
    store: BaseDocumentStore, understood: Understood, filters: Filter | None, top_k: int
) -> list[str]:
    """Return the ids of the notes that a query without words selects, the newest first.

    :param filters: those of the query and of whoever asks it.
    """
    notes: list[str] = []
    wanted = top_k * CHUNKS_PER_NOTE
    while understood.lists:
        found = store.newest(filters, wanted)
        notes = list(dict.fromkeys(candidate.note for candidate in found))
        if len(notes) >= top_k or len(found) < wanted:
            break
        wanted *= 4
    return notes[:top_k]


def list_notes(
    store: BaseDocumentStore, understood: Understood, filters: Filter | None, top_k: int
) -> Hits:
    """List the notes that a query without words selects, the newest first or as it asks.

    :param filters: as in `newest_notes`.
    """
    manifest, order = store.manifest(), understood.order
    if manifest and order in (MODIFIED, TITLE):
        everyone = newest_notes(store, understood, filters, max(1, manifest.rows()))
        notes = ordered_notes(manifest, everyone, order)[:top_k]
    else:
        notes = newest_notes(store, understood, filters, top_k)
    first = {candidate.note: candidate.id for candidate in first_chunks(store, filters, notes)}
    return Hits(Hit(first[note], note, 0.0, ()) for note in notes if note in first)
