"""Which notes a question about the notes themselves means, and what is said of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING

from rag.answers.notices import language_of
from rag.answers.quotation.question import Question
from rag.qa.answer import Answer, NotesAnswer
from rag.qa.extractive_answerer import passage_of
from rag.query.note_questions import Asked, NoteQuestion, alternatives, subject_of
from rag.query.syntax import condition_spans, parse_query
from rag.search.components.note_ranker import first_chunks
from rag.search.components.query_analyzer import understand
from rag.search.filters import Filter, all_of, day, one_of, plain_tags
from rag.search.matching_line import matching_line
from rag.search.query import CHUNKS_PER_NOTE, Hit, Query
from rag.search.results import QueryFilters, SearchResult
from rag.search.run import to_result
from rag.search.understanding.phrases import SubjectWord, notes_holding, subject_words
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.month_names import MONTHS
from rag.text.bm25 import text_terms
from rag.text.matches import weigh_terms
from rag.text.tokenizer import normalize, stem

if TYPE_CHECKING:
    from rag.search.planned_query import Intent


_FIRST: Filter = {"field": "meta.position", "operator": "==", "value": 0}
_EITHER = r"\b(?:or|または|もしくは) ?{0}|{0} ?(?:or\b|または|もしくは)"
_QUOTES = re.compile('["“”]')
_LEAST_CHUNKS = 100  # that are ranked: those of the best may not hold all words


@dataclass(frozen=True)
class Chosen:
    """The notes that a question means.

    :ivar words: that each of them holds, and how these are `told`.
    :ivar any_of: the words of each alternative, of which one is held; empty without alternatives.
    :ivar count: how many they are.
    :ivar notes: their ids: by filters alone the newest first and no more than are named, else all,
        in no order.
    :ivar chunks: those that hold all spaced words; `None` where that was not asked.
    :ivar conditions: of the query syntax, as they were typed, and what the index does not have.
    """

    understood: Query
    words: list[SubjectWord]
    told: list[str]
    count: int
    notes: list[str]
    chunks: set[str] | None
    filters: QueryFilters
    conditions: list[str]
    notices: list[str]
    any_of: list[list[str]] = field(default_factory=list)


def choose_notes(
    store: BaseDocumentStore,
    asked: NoteQuestion,
    filters: QueryFilters,
    intent: Intent | None,
    named: int | None = None,
) -> Chosen:
    """Return the notes that fit a question's filters and hold the words of its subject.

    :param filters: that count, those of the intent among them.
    :param named: how many notes are named where filters alone choose them; `None` for all.
    :raises QueryError: as `understand`.
    """
    subject, unknown = _subject(asked, intent)
    parts = [] if unknown else alternatives(subject)
    happened = asked.asked == Asked.LAST
    groups = [_understood(store, part, filters, happened) for part in parts]
    if not groups or not all(words for _, words in groups):
        parts, groups = [], [_understood(store, subject, filters, happened)]
    notices: list[str] = []
    notes: set[str] = set()
    chunks = None
    for understood, words in groups:
        notices += understood.notices
        if words and not unknown:
            sought = [word for word in words if not (happened and word.is_company)] or words
            held, chunks, how = notes_holding(store, sought, stated=happened)
            chosen_by = understood.filters
            notes |= {*newest_first(store, held, chosen_by)} if chosen_by and held else held
            notices += how
    conditions = [subject[start:end] for start, end in condition_spans(subject)] + unknown
    any_of = [_told(words, understood) for understood, words in groups]
    words = list(dict.fromkeys(word for _, of_part in groups for word in of_part))
    understood, ids = groups[0][0], sorted(notes)
    count = len(ids)
    if parts:
        # A phrase of one alternative need not stand in a note that holds another.
        plain = [_QUOTES.sub(" ", parse_query(part).text) for part in parts]
        text = " ".join([*plain, *conditions])
        understood, chunks = understand(store, text, filters, lists=True), None
        notices = list(dict.fromkeys(notices))
    elif not (words or unknown):
        count, ids = _filtered(store, understood.filters, named)
    shown, any_of = list(dict.fromkeys(chain(*any_of))), any_of if parts else []
    return Chosen(
        understood, words, shown, count, ids, chunks, filters, conditions, notices, any_of
    )


def _understood(
    store: BaseDocumentStore, text: str, filters: QueryFilters, happened: bool
) -> tuple[Query, list[SubjectWord]]:
    understood = understand(store, text, filters, lists=True)
    return understood, subject_words(understood.meant, happened) if understood.text else []


def _told(words: Sequence[SubjectWord], understood: Query) -> list[str]:
    """Return words as they are told, those of a phrase together."""
    phrases = parse_query(understood.typed).phrases
    within = {word.text for phrase in phrases for word in subject_words(phrase)}
    return [*phrases, *(word.text for word in words if word.text not in within)]


def _subject(asked: NoteQuestion, intent: Intent | None) -> tuple[str, list[str]]:
    """Return the words that notes must hold, and the names that filter but that the index does not
    have: no note fits these."""
    if intent is None:
        return asked.subject, []
    read = intent.plan.metadata
    is_either = read.tag_match == "any" or any(
        re.search(_EITHER.format(re.escape(name.words)), intent.plan.query, re.IGNORECASE)
        for name in intent.plan.out_of_scope
    )
    unknown = [
        f"#{name.words}" if name.kind == "tag" else name.words for name in intent.plan.out_of_scope
    ]
    if not read.filters_anything:
        if unknown:
            return "", unknown
        # What is not wanted stands in the text in the query syntax.
        return asked.subject if intent.text == intent.plan.query else subject_of(intent.text), []
    subject = subject_of(intent.text)
    for name in intent.plan.out_of_scope:
        subject = subject.replace(name.words, " ").strip()
    return subject, [] if is_either else unknown


def _filtered(
    store: BaseDocumentStore, filters: Filter | None, most: int | None
) -> tuple[int, list[str]]:
    """Return how many notes filters let through, and the ids of the newest of them."""
    wanted = all_of([filters, _FIRST])
    count = store.count_documents_by_filter(wanted)
    wanted_number = count if most is None else min(most, count)
    newest = store.newest(wanted, wanted_number)
    return count, [candidate.note for candidate in newest][:wanted_number]


def newest_first(
    store: BaseDocumentStore, notes: Collection[str], filters: Filter | None = None
) -> list[str]:
    """Return the ids of those notes that filters let through, the newest first."""
    first_chunks_of = one_of("file_id", sorted(notes))
    newest = store.newest(all_of([filters, first_chunks_of, _FIRST]), max(1, len(notes)))
    return [candidate.note for candidate in newest]


def ranked_results(
    store: BaseDocumentStore,
    understood: Query,
    top_k: int,
    filters: Filter | None,
    notes: Sequence[str] | None = None,
) -> list[SearchResult]:
    """Return the notes that say most of the words of a query, best first, each by its best chunk.

    :param filters: that each of them fits.
    :param notes: of these alone.
    """
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

    terms = text_terms(understood.meant)
    query = SparseEmbedding([t.dimension for t in terms], [t.weight for t in terms])
    wanted = None if notes is None else {*notes}
    most = min(top_k, len(wanted)) if wanted is not None else top_k
    limit = max(_LEAST_CHUNKS, top_k * CHUNKS_PER_NOTE)
    while True:
        candidates = store.find_candidates(query, filters, limit)
        best: dict[str, str] = {}
        for candidate in candidates:
            if wanted is None or candidate.note in wanted:
                best.setdefault(candidate.note, candidate.id)
        if len(best) >= most or len(candidates) < limit:
            return results_of(store, understood, [*best.items()][:top_k])
        limit *= 4


def newest_results(
    store: BaseDocumentStore, understood: Query, notes: Sequence[str]
) -> list[SearchResult]:
    """Return notes in their order, each by its first chunk."""
    if not notes:
        return []
    first = {chunk.note: chunk.id for chunk in first_chunks(store, None, [*notes])}
    return results_of(store, understood, [(note, first[note]) for note in notes if note in first])


def results_of(
    store: BaseDocumentStore, understood: Query, places: Sequence[tuple[str, str]]
) -> list[SearchResult]:
    """Return results, each pointing at the line that says most of a query.

    :param places: ids of notes, each with that of the chunk that it is shown by.
    """
    documents = {d.id: d for d in store.get_documents([chunk for _, chunk in places])}
    weights = weigh_terms(understood.searched, store.frequencies().idf) if understood.text else {}
    results = []
    for note, chunk in places:
        if document := documents.get(chunk):
            result = to_result(document, Hit(chunk, note, 0.0))
            line = matching_line(result, understood.searched, weights)
            results.append(replace(result, line=line, scores={}))
    return results


def counted(
    count: int, any_of: Sequence[Sequence[str]], conditions: Sequence[str], question: str
) -> str:
    """Return in one line how many notes there are: `3 notes hold "ferry" (#travel)`.

    :param any_of: alternatives, of one of which each note holds all words; one alternative without
        words where filters alone choose the notes.
    :param conditions: what they were filtered by, from `conditions_of`.
    """
    if language_of(question) == "ja":
        of = f"（{'・'.join(conditions)}）" if conditions else ""
        which = "または".join("".join(f"「{word}」" for word in words) for words in any_of)
        notes = f"{which}を含むノート{of}" if which else f"ノート{of}"
        return f"{notes}は{count:,}件です" if count else f"{notes}はありません"
    of = f" ({' · '.join(conditions)})" if conditions else ""
    notes = "no note" if not count else f"{count:,} note" + ("s" if count > 1 else "")
    held = " or ".join(" and ".join(f'"{word}"' for word in words) for words in any_of)
    if not held:
        if not count:
            return f"no note fits{of}"
        return f"{notes}{of or ' in all'}"
    return f"{notes} hold{'' if count > 1 else 's'} {held}{of}"


def day_text(value: date, question: str) -> str:
    """Return a day as people say it: `17 November 2026`, 2026年11月17日."""
    if language_of(question) == "ja":
        return f"{value.year}年{value.month}月{value.day}日"
    return f"{value.day} {MONTHS[value.month - 1].capitalize()} {value.year}"


def conditions_of(filters: QueryFilters) -> Iterator[str]:
    """Yield what filters ask for, in few words."""
    yield from filters.vaults or ()
    yield from (f"#{tag}" for tag in plain_tags(filters.tags))
    if filters.any_tags:
        yield " / ".join(f"#{tag}" for tag in plain_tags(filters.any_tags))
    yield from (f"-#{tag}" for tag in plain_tags(filters.excluded_tags))
    yield from (f'"{title}"' for title in filters.titles or ())
    yield from (f"{name}: {value}" for name, value in (filters.values or {}).items())
    yield from filters.paths or ()
    field = filters.date_field
    yield from _span("" if field == "created" else field, filters.date_from, filters.date_to)
    yield from _span("modified", filters.modified_from, filters.modified_to)


def _span(field: str, first: date | None, last: date | None) -> Iterator[str]:
    if first or last:
        days = day(first) if first == last else f"{day(first)} – {day(last)}".strip()
        yield f"{field} {days}".strip()


_HELD = 0.9  # of a question, what a note's names, place and front matter hold
_MOST_NOTES = 2_000  # that are read
_WORD = re.compile(r"[^\W\d_]+")


def count_stated(
    store: BaseDocumentStore, question: str, filters: QueryFilters, shown: int
) -> Answer | None:
    """Return how many notes have a property whose value a question names, and whose title,
    folders, tags and properties hold the rest of it; `None` where there are none, for then the
    question is one for the text of the notes.

    :param shown: how many of the notes are named, the newest.
    """
    manifest = store.manifest()
    asked = Question(question, store.frequencies().idf)
    if manifest is None or not asked.weights:
        return None
    catalogue = manifest.catalogue
    named = [
        (name, value)
        for name, value, _ in catalogue.stated_in(question.lower(), asked.weights)
        if asked.repeats(value)
    ]
    chosen_by = _words(question) & _words(" ".join(value for _, value in named))
    values_of = defaultdict(set)
    for name, value in named:
        for note in catalogue.bearing(name, value.__eq__):
            values_of[note].add((name, value))
    if not values_of or len(values_of) > _MOST_NOTES:
        return None
    understood = understand(store, "", filters, lists=True)
    chosen = all_of([understood.filters, one_of("file_id", sorted(values_of))])
    ids = [candidate.id for candidate in first_chunks(store, chosen, [*values_of])]
    notes = []
    for document in store.get_documents(ids):
        passage = passage_of(document, 1, ())
        held = asked.held(f"{passage.names}\n{passage.stated}")
        note = str(document.meta["file_id"])
        # Words such as "done" weigh nothing, and choose all the same.
        values = " ".join(value for _, value in values_of[note])
        chooses = chosen_by <= _words(f"{passage.names} {passage.place} {values}")
        if chooses and sum(asked.weights[term] for term in held) >= _HELD:
            notes.append(note)
    if not notes:
        return None
    values_by_name = defaultdict(set)
    for name, value in set().union(*(values_of[note] for note in notes)):
        values_by_name[name].add(value)
    conditions = [
        f"{name}: {' / '.join(sorted(values_by_name[name]))}" for name in sorted(values_by_name)
    ]
    text = counted(len(notes), [[]], [*conditions_of(filters), *conditions], question)
    results = newest_results(store, understood, newest_first(store, notes)[:shown])
    lines = (
        next((p.line for p in result.properties if p.name in values_by_name), result.line)
        for result in results
    )
    sources = [replace(r, line=line) for r, line in zip(results, lines, strict=True)]
    return Answer(text, sources, 0.0, notes=NotesAnswer("count", len(notes)))


def _words(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(normalize(text))}
