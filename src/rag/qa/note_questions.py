"""Answers to questions about the notes themselves (lists, counts, last days): without a model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.answers.notices import language_of, notice
from rag.answers.quotation.question import Question, other_forms
from rag.answers.quotation.units import Kind, quotable_units
from rag.qa.answer import Answer, LastDay, NotesAsked, Quote
from rag.qa.extractive_answerer import is_for_readers, line_in_file, passage_of
from rag.query.note_questions import Asked, NoteQuestion, alternatives, subject_of
from rag.query.syntax import condition_spans, parse_query
from rag.search.components.note_ranker import FIRST, first_chunks
from rag.search.components.query_analyzer import understand
from rag.search.conditions import SpokenText, SubjectWord, notes_holding, subject_words
from rag.search.filters import Filter, all_of, day, one_of, plain_tags
from rag.search.matching_line import matching_line
from rag.search.query import CHUNKS_PER_NOTE, Hit, Query
from rag.search.results import QueryFilters, SearchResult
from rag.search.run import to_result
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import Candidate
from rag.support.month_names import DAY_OF, MONTH, MONTHS, YEAR_OF, month_number
from rag.text.bm25 import text_terms
from rag.text.matches import weigh_terms
from rag.text.property_words import asked_by
from rag.text.tokenizer import TOKEN, normalize, stem
from rag.vault.frontmatter import properties_of
from rag.vault.note import date_in_name

if TYPE_CHECKING:
    from rag.search.planned_query import Intent

_EITHER = r"\b(?:or|または|もしくは) ?{0}|{0} ?(?:or\b|または|もしくは)"
_LEAST_CHUNKS = 100  # that are ranked: those of the best may not hold all words
_NEAREST = 3  # notes that are named where none was meant


def answer_about_notes(
    store: BaseDocumentStore,
    question: str,
    asked: NoteQuestion,
    filters: QueryFilters | None,
    intent: Intent | None,
    top_k: int | None,
    shown: int,
) -> Answer:
    """List notes, count them, or say when something was last. What was understood as a filter is
    never dropped: a number of other notes answers nothing.

    :param filters: of whoever asks, beside the question; `intent` is what both mean together.
    :param top_k: how many notes are named at most; `None` names all that filters alone choose, and
        `shown` of those that hold words or are counted.
    """
    given, results, quotes = filters or QueryFilters(), list[SearchResult](), list[Quote]()
    if asked.asked == Asked.LAST:
        chosen, passage, count = _find_last(store, asked, given, intent)
        understood = chosen.understood
        day_of_last, text = LastDay(), notice(question, "not_found")
        if passage:
            day, line = passage.day, passage.line
            day_of_last = LastDay(day, passage.dated_by)
            text = f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"
            if language_of(question) == "ja":
                text = f"{day.year}年{day.month}月{day.day}日"
            text, quotes = f"{text}: {passage.text} [1]", [Quote(passage.text, 1, line)]
            chunk = Candidate(passage.document.id, passage.note, 0, 0.0)
            results = [replace(r, line=line) for r in results_of(store, understood, [chunk])]
        about = NotesAsked("last", count, chosen.words, last=day_of_last)
    else:
        chosen_by, most = intent.filters if intent else given, top_k or shown
        is_list = asked.asked == Asked.LIST
        named = None if is_list and top_k is None else most
        chosen = _choose(store, asked, chosen_by, intent, named)
        understood = chosen.understood
        results = results_of(store, understood, chosen.newest)
        if chosen.notes:
            wanted = all_of([understood.filters, one_of("file_id", chosen.notes)])
            results = _ranked(store, understood, most, wanted)
        text = _counted(chosen.count, chosen.any_of, chosen.conditions, question)
        kind: Literal["list", "count"] = "list" if is_list else "count"
        any_of = chosen.any_of if len(chosen.any_of) > 1 else []
        about = NotesAsked(kind, chosen.count, chosen.words, any_of, shown=len(results))
    near: list[SearchResult] = []
    if not about.count and understood.text:
        allowed = understand(store, "", given, lists=True).filters
        near = _ranked(store, understood, _NEAREST, allowed)
    return Answer(
        text=text,
        sources=results,
        confidence=0.0,
        found=about.count > 0,
        quotes=quotes,
        searched=understood.searched,
        corrections=understood.corrections,
        tags=understood.tags,
        notices=chosen.notices,
        near=near,
        notes=about,
    )


@dataclass(frozen=True)
class _Chosen:
    """The notes that a question means: those that hold words, else those that filters choose.

    :ivar any_of: the words of each alternative as they are shown.
    :ivar notes: the ids of all that hold words; `chunks`: those that hold all spaced words.
    :ivar newest: the first chunks of the newest notes that filters alone choose.
    :ivar conditions: what they were filtered by, and what the index does not have.
    """

    understood: Query
    subject: list[SubjectWord]
    any_of: list[list[str]]
    count: int
    notes: list[str]
    chunks: set[str] | None
    newest: list[Candidate]
    conditions: list[str]
    notices: list[str]

    @property
    def words(self) -> list[str]:
        """The words as they are shown, each once."""
        return list(dict.fromkeys(chain(*self.any_of)))


def _choose(
    store: BaseDocumentStore,
    asked: NoteQuestion,
    filters: QueryFilters,
    intent: Intent | None,
    named: int | None = None,
) -> _Chosen:
    """Return the notes that fit filters and hold the words of a question's subject; where filters
    alone choose them, `named` of them are named."""
    subject, unknown = _subject(asked, intent)
    happened = asked.asked == Asked.LAST

    def read(text: str) -> tuple[Query, list[SubjectWord]]:
        query = understand(store, text, filters, lists=True)
        return query, subject_words(query.meant, happened) if query.text else []

    groups = [read(part) for part in ([] if unknown else alternatives(subject))]
    if not groups or not all(words for _, words in groups):
        groups = [read(subject)]
    notices = list(chain.from_iterable(query.notices for query, _ in groups))
    notes: set[str] = set()
    chunks: set[str] | None = None
    newest: list[Candidate] = []
    for query, words in groups if not unknown else []:
        wanted = [word for word in words if not (happened and word.is_company)] or words
        holding, chunks, frequent = notes_holding(store, wanted, stated=happened)
        if holding and query.filters:
            holding = {chunk.note for chunk in first_chunks(store, query.filters, [*holding])}
        notes |= holding
        notices += frequent
    conditions = [subject[start:end] for start, end in condition_spans(subject)] + unknown
    query, words = groups[0]
    count = len(notes)
    if len(groups) > 1:
        # A phrase of one alternative need not stand in a note that holds another.
        plain = [re.sub('["“”]', " ", parse_query(query.typed).text) for query, _ in groups]
        query = understand(store, " ".join([*plain, *conditions]), filters, lists=True)
        words, chunks = list(dict.fromkeys(chain(*(words for _, words in groups)))), None
    elif not (words or unknown):
        first = all_of([query.filters, FIRST])
        count = store.count_documents_by_filter(first)
        most = count if named is None else min(named, count)
        newest = store.newest(first, most)
    return _Chosen(
        query,
        words,
        [_shown(words, query) for query, words in groups],
        count,
        sorted(notes),
        chunks,
        newest,
        [*conditions_of(filters), *conditions],
        list(dict.fromkeys(notices)),
    )


def _shown(words: Sequence[SubjectWord], query: Query) -> list[str]:
    phrases = parse_query(query.typed).phrases
    within = {word.text for phrase in phrases for word in subject_words(phrase)}
    return [*phrases, *(word.text for word in words if word.text not in within)]


def _subject(asked: NoteQuestion, intent: Intent | None) -> tuple[str, list[str]]:
    """Return the words that notes must hold, and the names that filter but that the index does not
    have: no note fits these."""
    if intent is None:
        return asked.subject, []
    plan = intent.plan
    read, unknown = plan.metadata, plan.out_of_scope
    names = [f"#{name.words}" if name.kind == "tag" else name.words for name in unknown]
    if not read.filters_anything:
        if names:
            return "", names
        # What is not wanted stands in the text in the query syntax.
        return asked.subject if intent.text == plan.query else subject_of(intent.text), []
    is_either = read.tag_match == "any" or any(
        re.search(_EITHER.format(re.escape(name.words)), plan.query, re.IGNORECASE)
        for name in unknown
    )
    subject = subject_of(intent.text)
    for name in unknown:
        subject = subject.replace(name.words, " ").strip()
    return subject, [] if is_either else names


def _ranked(
    store: BaseDocumentStore, query: Query, top_k: int, filters: Filter | None
) -> list[SearchResult]:
    terms = text_terms(query.meant)
    words = SparseEmbedding([t.dimension for t in terms], [t.weight for t in terms])
    best: dict[str, Candidate] = {}
    for candidate in store.find_candidates(
        words, filters, max(_LEAST_CHUNKS, top_k * CHUNKS_PER_NOTE)
    ):
        best.setdefault(candidate.note, candidate)
    return results_of(store, query, [*best.values()][:top_k])


def results_of(
    store: BaseDocumentStore, query: Query, chunks: Sequence[Candidate]
) -> list[SearchResult]:
    """Return results, each pointing at the line that says most of a query."""
    documents = {d.id: d for d in store.get_documents([chunk.id for chunk in chunks])}
    weights = weigh_terms(query.searched, store.frequencies().idf) if query.text else {}
    results = []
    for chunk in chunks:
        if document := documents.get(chunk.id):
            result = to_result(document, Hit(chunk.id, chunk.note, 0.0))
            line = matching_line(result, query.searched, weights)
            results.append(replace(result, line=line, scores={}))
    return results


def _counted(
    count: int, any_of: Iterable[Sequence[str]], conditions: Sequence[str], question: str
) -> str:
    """Return in one line how many notes there are: `3 notes hold "ferry" (#travel)`. Each holds
    all words of one of the alternatives."""
    if language_of(question) == "ja":
        of = f"（{'・'.join(conditions)}）" if conditions else ""
        which = "または".join("".join(f"「{word}」" for word in words) for words in any_of)
        notes = f"{which}を含むノート{of}" if which else f"ノート{of}"
        return f"{notes}は{count:,}件です" if count else f"{notes}はありません"
    of = f" ({' · '.join(conditions)})" if conditions else ""
    held = " or ".join(" and ".join(f'"{word}"' for word in words) for words in any_of)
    if not (count or held):
        return f"no note fits{of}"
    notes = f"{count:,} note{'s' * (count > 1)}" if count else "no note"
    hold = "hold" if count > 1 else "holds"
    return f"{notes} {hold} {held}{of}" if held else f"{notes}{of or ' in all'}"


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
    field = "" if filters.date_field == "created" else filters.date_field
    for which, first, last in (
        (field, filters.date_from, filters.date_to),
        ("modified", filters.modified_from, filters.modified_to),
    ):
        if first or last:
            days = day(first) if first == last else f"{day(first)} – {day(last)}".strip()
            yield f"{which} {days}".strip()


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
    values_of = defaultdict[str, set[tuple[str, str]]](set)
    words = set[str]()
    for name, value, _ in manifest.catalogue.stated_in(question.lower(), asked.weights):
        if asked.repeats(value):
            words |= _words(value)
            for note in manifest.catalogue.bearing(name, value.__eq__):
                values_of[note].add((name, value))
    if not values_of or len(values_of) > _MOST_NOTES:
        return None
    words &= _words(question)
    query = understand(store, "", filters, lists=True)
    chunks = {chunk.id: chunk for chunk in first_chunks(store, query.filters, [*values_of])}
    counted, stated = set[str](), defaultdict[str, set[str]](set)
    for document in store.get_documents([*chunks]):
        passage, values = passage_of(document, 1, ()), values_of[chunks[document.id].note]
        held = asked.held(f"{passage.names}\n{passage.stated}")
        # Words such as "done" weigh nothing, and choose all the same.
        told = _words(" ".join([passage.names, passage.place, *(value for _, value in values)]))
        if words <= told and sum(asked.weights[term] for term in held) >= _HELD:
            counted.add(document.id)
            for name, value in values:
                stated[name].add(value)
    if not counted:
        return None
    conditions = [f"{name}: {' / '.join(sorted(stated[name]))}" for name in sorted(stated)]
    text = _counted(len(counted), [], [*conditions_of(filters), *conditions], question)
    newest = [chunk for chunk in chunks.values() if chunk.id in counted][:shown]
    sources = [
        replace(
            result, line=next((p.line for p in result.properties if p.name in stated), result.line)
        )
        for result in results_of(store, query, newest)
    ]
    return Answer(text, sources, 0.0, notes=NotesAsked("count", len(counted), shown=len(sources)))


def _words(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(normalize(text))}


DatedBy = Literal["line", "heading", "note"]

_DAY = re.compile(
    r"(?<![\d.-])(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})(?![\d])"
    r"|(?:(?P<y2>\d{4})年 ?)?(?P<m2>\d{1,2})月 ?(?P<d2>\d{1,2})日"
    rf"|\b(?P<d3>\d{{1,2}}){DAY_OF}(?P<m3>{MONTH})(?:{YEAR_OF}(?P<y3>\d{{4}}))?\b"
    rf"|\b(?P<m4>{MONTH})\.? (?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,? (?P<y4>\d{{4}}))?\b"
)
_BEGINS = re.compile(r"[\W_]*(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?")
_CLAUSE_ENDS = re.compile(r"[.;:!?。；！？\n]|, |、| but | and then ")
# What is not done, or not yet, in the words before it. "To" is no sign of it in "went to Berlin",
# and "may" none in "in May".
_BEFORE = re.compile(
    r"\b(?:not|never|cannot|will|shall|should|must|might|could|would|if|unless|without|todo"
    r"|plan(?:s|ned|ning)?|going|hope|want(?:s|ed)?|need(?:s|ed)?|remember|forgot)\b"
    r"(?: \w+){0,3} ?$"
    r"|n't\b(?: \w+){0,3} ?$"
    r"|\b(?<!\bin )(?<!\bof )(?<!\bsince )(?<!\blast )may\b(?: \w+){0,2} ?$"
    r"|^\W*to (?:\w+ )?$"
)
_AROUND = re.compile(
    r"\b(?:tomorrow|next (?:time|day|week|month|year|\w+day)|cancel(?:l?ed)?|postponed)\b"
    r"|called off|なかった|ません|予定|つもり|[いきしちにびみりえけせてべめれ]たい(?:$|と|で|な)"
    r"|来週|来月|来年|明日|今度|中止|延期|なければ|必要が"
)
# A box with anything but a cross: open, cancelled, under way.
_OPEN_TASK = re.compile(r"\s*(?:>\s?)*(?:[-*+]|\d+[.)])\s+\[[^xX\]]\]")
# Of what was done: "changed", "we had", 会った. Instructions and plans have none of it.
_PAST = re.compile(
    r"\b(?:was|were|had|went|did|took|saw|made|got|gave|came|\w{2,}ed"
    r"|(?:i|we) (?:put|cut|read|set))\b"
    r"|(?:た|だ|ました|でした)(?=[。、)）」]|の|が|$)",
    re.MULTILINE,
)


def day_in(text: str, year: int | None = None, at_the_start: bool = False) -> date | None:
    """Return the first day that a text names; `None` where it names none, or only a month.

    :param year: of a day that is named without one.
    :param at_the_start: whether the day must stand before all other words.

    >>> day_in("Tuesday, 17 November 2026"), day_in("11月3日の会議", 2026)
    (datetime.date(2026, 11, 17), datetime.date(2026, 11, 3))
    """
    normal = normalize(text)
    begins = _BEGINS.match(normal)
    start = begins.end() if begins else 0
    for match in _DAY.finditer(normal):
        if at_the_start and match.start() > start:
            return None
        parts = {name[0]: value for name, value in match.groupdict().items() if value}
        named, month = parts.get("y", year), parts["m"]
        if named:
            number = int(month) if month.isdigit() else month_number(month)
            with suppress(ValueError):
                return date(int(named), number, int(parts["d"]))
    return None


def day_of(
    text: str, headings: Sequence[str], created: str, of_day: bool = False
) -> tuple[date, DatedBy] | None:
    """Return the day of a passage and what says so: that which it begins with, else that of a
    heading above it, the nearest first, else one that it names with its year, else its note's.

    :param created: the date of the note, ISO; may be empty.
    :param of_day: whether the note is one of a day: other days in it are of something else.
    """
    own = day_in(created[:10])
    year = own.year if own else None
    if day := day_in(text, year, at_the_start=True):
        return day, "line"
    for heading in reversed(headings):
        if day := day_in(heading, year):
            return day, "note" if day == own else "heading"
    if not of_day and (day := day_in(text)):
        return day, "line"
    return (own, "note") if own else None


def has_happened(text: str, line: str, word_starts: Sequence[int]) -> bool:
    """Return whether a sentence tells what was done, and not what was not, or is yet to be.

    :param line: of the file, which the sentence begins in.
    :param word_starts: where the words in question begin in the sentence in normal form.
    """
    if _OPEN_TASK.match(line):
        return False
    normal = normalize(text)
    ends = [(0, 0), *(match.span() for match in _CLAUSE_ENDS.finditer(normal))]
    for start in word_starts:
        begins = max(end for _, end in ends if end <= start)
        stops = min((stop for stop, _ in ends[1:] if stop >= start), default=len(normal))
        if _BEFORE.search(normal[begins:start]) or _AROUND.search(normal[begins:stops]):
            return False
    return True


def _is_log(path: str, title: str) -> bool:
    return bool(date_in_name(PurePath(path).stem) or date_in_name(title) or day_in(title, 2000))


_READ = 1_000  # passages that a question reads, those of the newest notes
_MET = "met"  # attendees and participants are asked for by it
_LOWER = re.compile(r"(?<![\w'’])[a-zäöüß]+")  # words that are no names
_COMPANY = re.compile(
    "with|and|met|meeting|call|lunch|dinner|coffee|breakfast|walk|visit|chat|talk|at|in|the|a"
    "|mit|und|bei|im|am"
)
_JA_COMPANY = "(?:さん|くん|ちゃん|氏|様|先生)?(?:と|、|・|$)"


class _DatedPassage(NamedTuple):
    """A passage that tells of what was asked for.

    `line` counts from 1 in the file. `is_whole` says that all words stand in it, and none only in
    its title or headings.
    """

    day: date
    dated_by: DatedBy
    is_whole: bool
    document: Document
    line: int
    text: str

    @property
    def note(self) -> str:
        return str(self.document.meta.get("file_id", self.document.id))


def _find_last(
    store: BaseDocumentStore, asked: NoteQuestion, given: QueryFilters, intent: Intent | None
) -> tuple[_Chosen, _DatedPassage | None, int]:
    """Return the newest passage that tells when something was last, and is not yet to come, and in
    how many notes there is one."""
    filters, first = given, date.min
    last = today = (intent and intent.today) or date.today()
    if intent:
        filters, window = intent.filters, intent.plan.metadata.time_window
        if intent.names_time and window.field == "created":
            # The time that is asked for is that of the passage, which a heading may say.
            first, last = window.first or first, min(window.last or today, today)
            filters = replace(filters, date_from=given.date_from, date_to=given.date_to)
    chosen = _choose(store, asked, filters, intent)
    passages = [
        passage
        for document in store.get_documents(_chunks(store, chosen))
        for passage in (*_passages(document, chosen.subject), *_company(document, chosen.subject))
        if first <= passage.day <= last
    ]
    passages = [passage for passage in passages if passage.is_whole] or passages
    passages.sort(key=lambda p: (p.day, p.dated_by != "note", p.note, -p.line), reverse=True)
    shown = (p for p in passages if is_for_readers(p.text, 1, p.line, p.document))
    newest = next(shown, None)
    return chosen, newest, len({passage.note for passage in passages}) if newest else 0


def _chunks(store: BaseDocumentStore, chosen: _Chosen) -> list[str]:
    """Return the ids of the chunks to read: those of the newest notes, and a notice, where there
    are too many."""
    manifest = store.manifest()
    if not (chosen.subject and chosen.notes and manifest):
        return []
    owned: dict[str, list[str]] = {note: [] for note in chosen.notes}
    for key, note in manifest.notes_by_chunk().items():
        chunk = str(UUID(bytes=key)) if note in owned else ""
        if chunk and (chosen.chunks is None or chunk in chosen.chunks):
            owned[note].append(chunk)
    if sum(map(len, owned.values())) > _READ:
        read = f"only the {_READ:,} newest passages that may tell of it were read"
        chosen.notices.append(read)
        owned = {c.note: owned[c.note] for c in first_chunks(store, None, [*owned])}
    return [*chain.from_iterable(owned.values())][:_READ]


def _passages(document: Document, words: Sequence[SubjectWord]) -> Iterator[_DatedPassage]:
    meta, content = document.meta, document.content or ""
    headings = [str(part) for part in meta.get("heading") or []]
    names, created = [str(meta.get("title", "")), *headings], str(meta.get("created") or "")
    of_day = _is_log(str(meta.get("file_path", "")), names[0])
    verbs = {form for word in words for form in other_forms(word.text.lower())}
    lines, skipped = content.split("\n"), int(meta.get("repeated", 0))
    for unit in quotable_units(content):
        if unit.first < skipped or unit.kind in (Kind.LIST, Kind.TABLE, Kind.CODE):
            continue
        text, normal = SpokenText.of(unit.text), normalize(unit.text)
        held = [word for word in words if word.is_in(text)]
        if not held or not has_happened(unit.text, lines[unit.first], _starts(normal, held)):
            continue
        around, is_whole = SpokenText.of(*names, unit.under), len(held) == len(words)
        dated = day_of(unit.text, headings, created, of_day)
        if not dated or not all(word in held or word.is_in(around) for word in words):
            continue
        # In a note of a day, and below a heading or in a line with one, any sentence may tell it;
        # in other notes it must be told as what is past, for instructions have the same words.
        is_past = _PAST.search(normal) or not verbs.isdisjoint(re.findall("[a-z]+", normal))
        if of_day or dated[1] != "note" or (is_whole and is_past):
            line = line_in_file(document, unit.first)
            yield _DatedPassage(*dated, is_whole, document, line, unit.text)


def _company(document: Document, words: Sequence[SubjectWord]) -> Iterator[_DatedPassage]:
    """Yield where somebody is named as present that a question asks when they were met: in the
    front matter of a note, and in a heading that says little else."""
    people = [word for word in words if not word.is_company]
    if not people or len(people) == len(words):
        return
    meta = document.meta
    headings, created = [str(part) for part in meta.get("heading") or []], str(meta.get("created"))
    title = str(meta.get("title", ""))
    places = [
        (stated.line, stated.value, f"{title} · {stated.text}", day_of("", [title], created))
        for stated in properties_of(meta)
        if _MET in asked_by(stated.name).split()
    ]
    if headings and _is_meeting(headings[-1], people):
        day = day_of("", headings, created)
        if day and (day[1] == "heading" or _is_log(str(meta.get("file_path", "")), title)):
            places.append((int(meta.get("line_start", 1)), headings[-1], headings[-1], day))
    for line, value, text, dated in places:
        spoken = SpokenText.of(value)
        if dated and all(word.is_in(spoken) for word in people):
            yield _DatedPassage(*dated, True, document, line, text)


def _is_meeting(heading: str, people: Sequence[SubjectWord]) -> bool:
    """Return whether a heading that names some people tells that they were met: beside names and a
    day it says little, such as "Lunch with Kenji"; in Japanese と follows them, or nothing."""
    text = normalize(heading)
    if not all(re.search(f"{word.run}{_JA_COMPANY}", text) for word in people if word.run):
        return False
    names = {term for word in people for term in word.terms}
    others = (word for word in _LOWER.findall(heading) if stem(word) not in names)
    return all(map(_COMPANY.fullmatch, others))


def _starts(normal: str, words: Sequence[SubjectWord]) -> list[int]:
    """Return where words begin in a text in normal form, the first place of each."""
    stems = [(match.start(), stem(match[2])) for match in TOKEN.finditer(normal) if match[2]]
    starts = (
        normal.find(word.run)
        if word.run
        else next((start for start, term in stems if term in word.terms), -1)
        for word in words
    )
    return [start for start in starts if start >= 0]
