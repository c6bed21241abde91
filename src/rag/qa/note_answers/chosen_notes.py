"""Which notes a question about the notes themselves means, as results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag.query.note_questions import Asked, NoteQuestion, subject_of
from rag.query.syntax import condition_spans
from rag.search.components.note_ranker import Hit
from rag.search.filters import Filter, all_of, one_of
from rag.search.matching_line import matching_line
from rag.search.results import QueryFilters, SearchResult
from rag.search.run import to_result
from rag.search.understanding.query_understanding import Understood, understand
from rag.search.understanding.subject_words import SubjectWord, notes_holding, subject_words
from rag.search.weights import WEIGHTS
from rag.stores.base.batch import Batch
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.bm25 import text_terms
from rag.text.matches import weigh_terms

if TYPE_CHECKING:
    from rag.search.planned_query import Intent

_FIRST: Filter = {"field": "meta.position", "operator": "==", "value": 0}
_CHUNKS_PER_NOTE = 8


@dataclass(frozen=True)
class Chosen:
    """The notes that a question means.

    :ivar notes: their ids: by filters alone the newest first, else in no order.
    :ivar chunks: those that hold all spaced words; `None` where that was not asked.
    :ivar conditions: of the query syntax, as they were typed, and what the index does not have.
    """

    understood: Understood
    words: list[SubjectWord]
    notes: list[str]
    chunks: set[str] | None
    filters: QueryFilters
    conditions: list[str]
    notices: list[str]


def choose_notes(
    store: BaseDocumentStore, asked: NoteQuestion, filters: QueryFilters, intent: Intent | None
) -> Chosen:
    """Return the notes that fit a question's filters and hold the words of its subject.

    :param filters: that count, those of the intent among them.
    :raises QueryError: as `understand`.
    """
    subject, unknown = _subject(asked, intent)
    understood = understand(store, subject, filters, lists=True)
    happened = asked.asked == Asked.LAST
    words = subject_words(understood.meant, happened) if understood.text else []
    conditions = [subject[start:end] for start, end in condition_spans(subject)] + unknown
    notices, chunks = [*understood.notices], None
    if unknown:
        notes: list[str] = []
    elif words:
        held, chunks, told = notes_holding(store, words)
        notes = _fitting(store, understood.filters, held)
        notices += told
    else:
        notes = _fitting(store, understood.filters)
    return Chosen(understood, words, notes, chunks, filters, conditions, notices)


def _subject(asked: NoteQuestion, intent: Intent | None) -> tuple[str, list[str]]:
    """Return the words that notes must hold, and the names that filter but that the index does not
    have: no note fits these."""
    if intent is None:
        return asked.subject, []
    read = intent.plan.metadata
    is_either = read.tag_match == "any"
    unknown = [
        f"#{one.words}" if one.kind == "tag" else one.words for one in intent.plan.out_of_scope
    ]
    if not read.filters_anything:
        return ("", unknown) if unknown else (asked.subject, [])
    subject = subject_of(intent.text)
    for one in intent.plan.out_of_scope:
        subject = subject.replace(one.words, " ").strip()
    return subject, [] if is_either else unknown


def _fitting(
    store: BaseDocumentStore, filters: Filter | None, notes: Collection[str] | None = None
) -> list[str]:
    """Return the ids of the notes that filters let through, the newest first.

    :param notes: of these alone.
    """
    manifest = store.manifest()
    if manifest is None or notes == set():
        return []
    among = None if notes is None else one_of("file_id", Batch(sorted(notes)))
    found = store.newest(all_of([filters, among, _FIRST]), max(1, manifest.rows()))
    return list(dict.fromkeys(candidate.note for candidate in found))


def ranked_results(
    store: BaseDocumentStore,
    understood: Understood,
    top_k: int,
    filters: Filter | None,
    notes: Sequence[str] | None = None,
) -> list[SearchResult]:
    """Return the notes that say most of the words of a query, best first, each by its best chunk.

    :param filters: that each of them fits.
    :param notes: of these alone.
    """
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

    terms = text_terms(understood.meant, WEIGHTS.fields)
    query = SparseEmbedding([t.dimension for t in terms], [t.weight for t in terms])
    among = None if notes is None else one_of("file_id", Batch(sorted(notes)))
    found = store.find_candidates(query, all_of([filters, among]), top_k * _CHUNKS_PER_NOTE)
    best: dict[str, str] = {}
    for candidate in found:
        best.setdefault(candidate.note, candidate.id)
    return results_of(store, understood, [*best.items()][:top_k])


def newest_results(
    store: BaseDocumentStore, understood: Understood, notes: Sequence[str]
) -> list[SearchResult]:
    """Return notes in their order, each by its first chunk."""
    among = all_of([one_of("file_id", Batch(sorted(notes))), _FIRST]) if notes else None
    first = {c.note: c.id for c in store.newest(among, len(notes))} if notes else {}
    return results_of(store, understood, [(note, first[note]) for note in notes if note in first])


def results_of(
    store: BaseDocumentStore, understood: Understood, places: Sequence[tuple[str, str]]
) -> list[SearchResult]:
    """Return results, each pointing at the line that says most of a query.

    :param places: ids of notes, each with that of the chunk that it is shown by.
    """
    documents = {one.id: one for one in store.get_documents([chunk for _, chunk in places])}
    weights = weigh_terms(understood.searched, store.counts.rarity) if understood.text else {}
    results = []
    for note, chunk in places:
        if document := documents.get(chunk):
            result = to_result(document, Hit(chunk, note, 0.0, ()), [], understood)
            line = matching_line(result, understood.searched, weights)
            results.append(replace(result, line=line, score=0.0, scores={}))
    return results
