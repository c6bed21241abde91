"""Answers to questions about the notes themselves (lists, counts, last days): without a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

from haystack.dataclasses import Document

from rag.answers.notices import notice
from rag.answers.quotation.question import other_forms
from rag.answers.quotation.units import Kind, quotable_units
from rag.qa.answer import Answer, NotesAnswer, Quote
from rag.qa.chosen_notes import (
    Chosen,
    choose_notes,
    conditions_of,
    counted,
    day_text,
    newest_first,
    newest_results,
    ranked_results,
    results_of,
)
from rag.qa.extractive_answerer import is_for_readers, line_in_file
from rag.query.note_questions import Asked, NoteQuestion
from rag.search.results import QueryFilters, SearchResult
from rag.search.understanding.phrases import SpokenText, SubjectWord
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.month_names import DAY_OF, MONTH, YEAR_OF, month_number
from rag.text.property_words import asked_by
from rag.text.tokenizer import TOKEN, normalize, stem
from rag.vault.frontmatter import properties_of
from rag.vault.note import date_in_name

if TYPE_CHECKING:
    from rag.search.planned_query import Intent


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


class PassageDay(NamedTuple):
    """The day of a passage, and what says so."""

    day: date
    by: DatedBy


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
) -> PassageDay | None:
    """Return the day of a passage: that which it begins with, else that of a heading above it, the
    nearest first, else one that it names with its year, else that of its note.

    :param created: the date of the note, ISO; may be empty.
    :param of_day: whether the note is one of a day: other days in it are of something else.
    """
    own = _iso(created[:10])
    year = own.year if own else None
    if day := day_in(text, year, at_the_start=True):
        return PassageDay(day, "line")
    for heading in reversed(headings):
        if day := day_in(heading, year):
            return PassageDay(day, "note" if day == own else "heading")
    if not of_day and (day := day_in(text)):
        return PassageDay(day, "line")
    return PassageDay(own, "note") if own else None


def has_happened(text: str, line: str, word_starts: Sequence[int]) -> bool:
    """Return whether a sentence tells what was done, and not what was not, or is yet to be.

    :param line: of the file, which the sentence begins in.
    :param word_starts: where the words in question begin in the sentence in normal form.
    """
    if _OPEN_TASK.match(line):
        return False
    normal = normalize(text)
    for start in word_starts:
        ends = [match.end() for match in _CLAUSE_ENDS.finditer(normal, 0, start)]
        before = normal[ends[-1] if ends else 0 : start]
        follows = _CLAUSE_ENDS.search(normal, start)
        after = normal[start : follows.start() if follows else len(normal)]
        if _BEFORE.search(before) or _AROUND.search(before + after):
            return False
    return True


def tells_past(text: str, pasts: Collection[str]) -> bool:
    """Return whether a sentence tells what was done: in a note that is no log, most give
    instructions.

    :param pasts: irregular forms of its verbs that tell it, too.
    """
    normal = normalize(text)
    return bool(_PAST.search(normal)) or not {*re.findall(r"[a-z]+", normal)}.isdisjoint(pasts)


def is_log(path: str, title: str) -> bool:
    """Return whether a note is one of a day or a week, as its file name or title says."""
    return bool(date_in_name(PurePath(path).stem) or date_in_name(title) or day_in(title, 2000))


def _iso(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


_READ = 1_000  # passages that a question reads, those of the newest notes
_PARTS = 500  # ids that one query names
_MET = "met"  # attendees and participants are asked for by it
_LOWER = re.compile(r"(?<![\w'’])[a-zäöüß]+")  # words that are no names
_COMPANY = re.compile(
    "with|and|met|meeting|call|lunch|dinner|coffee|breakfast|walk|visit|chat|talk|at|in|the|a"
    "|mit|und|bei|im|am"
)
_JA_COMPANY = "(?:さん|くん|ちゃん|氏|様|先生)?(?:と|、|・|$)"


class DatedPassage(NamedTuple):
    """A passage that tells of what was asked for.

    `line` counts from 1 in the file. `is_whole` says that all words stand in it, and none only in
    its title or headings.
    """

    day: date
    dated_by: DatedBy
    is_whole: bool
    note: str
    chunk: str
    line: int
    text: str


def find_last_time(
    store: BaseDocumentStore, chosen: Chosen, first: date | None, last: date | None
) -> tuple[DatedPassage | None, int]:
    """Return the newest passage of some notes that holds all words of a subject and tells of what
    was done, from `first` to `last`, and in how many notes there is one.

    In a note of a day, and below a heading or in a line with one, any sentence may tell it; in
    other notes it must be told as what is past, for instructions have the same words.
    """
    ids = _chunks(store, chosen) if chosen.words and chosen.notes else []
    passages = [
        passage
        for at in range(0, len(ids), _PARTS)
        for document in store.get_documents(ids[at : at + _PARTS])
        for passage in (*_passages(document, chosen.words), *_company(document, chosen.words))
        if (first or date.min) <= passage.day <= (last or date.max)
    ]
    whole = [passage for passage in passages if passage.is_whole] or passages
    whole.sort(key=lambda p: (p.day, p.dated_by != "note", p.note, -p.line), reverse=True)
    for passage in whole:
        [document] = store.get_documents([passage.chunk])
        if is_for_readers(passage.text, 1, passage.line, document):
            return passage, len({passage.note for passage in whole})
    return None, 0


def _chunks(store: BaseDocumentStore, chosen: Chosen) -> list[str]:
    """Return the ids of the chunks to read: those of the newest notes, and a notice, where there
    are too many."""
    manifest = store.manifest()
    assert manifest
    wanted = {*chosen.notes}
    owned: dict[str, list[str]] = {}
    for key, note in manifest.notes_by_chunk().items():
        chunk = str(UUID(bytes=key)) if note in wanted else ""
        if chunk and (chosen.chunks is None or chunk in chosen.chunks):
            owned.setdefault(note, []).append(chunk)
    ids = [chunk for chunks in owned.values() for chunk in chunks]
    if len(ids) > _READ:
        read = f"only the {_READ:,} newest passages that may tell of it were read"
        chosen.notices.append(read)
        ids = [chunk for note in newest_first(store, [*owned]) for chunk in owned[note]]
    return ids[:_READ]


def _passages(document: Document, words: Sequence[SubjectWord]) -> Iterator[DatedPassage]:
    meta, content = document.meta, document.content or ""
    headings = [str(part) for part in meta.get("heading") or []]
    names, created = [str(meta.get("title", "")), *headings], str(meta.get("created") or "")
    of_day = is_log(str(meta.get("file_path", "")), names[0])
    pasts = {form for word in words for form in other_forms(word.text.lower())}
    lines, skipped = content.split("\n"), int(meta.get("repeated", 0))
    note = str(meta.get("file_id", document.id))
    for unit in quotable_units(content):
        if unit.first < skipped or unit.kind in (Kind.LIST, Kind.TABLE, Kind.CODE):
            continue
        text = SpokenText.of(unit.text)
        held = [word for word in words if word.is_in(text)]
        if not held or not has_happened(unit.text, lines[unit.first], _starts(unit.text, held)):
            continue
        around, is_whole = SpokenText.of(*names, unit.under), len(held) == len(words)
        if not (is_whole or all(word in held or word.is_in(around) for word in words)):
            continue
        dated = day_of(unit.text, headings, created, of_day)
        is_dated = of_day or (dated and dated.by != "note")
        if dated and (is_dated or (is_whole and tells_past(unit.text, pasts))):
            line = line_in_file(document, unit.first)
            yield DatedPassage(*dated, is_whole, note, document.id, line, unit.text)


def _company(document: Document, words: Sequence[SubjectWord]) -> Iterator[DatedPassage]:
    """Yield where somebody is named as present that a question asks when they were met: in the
    front matter of a note, and in a heading that says little else."""
    people = [word for word in words if not word.is_company]
    if not people or len(people) == len(words):
        return
    meta = document.meta
    headings, created = [str(part) for part in meta.get("heading") or []], str(meta.get("created"))
    title, note = str(meta.get("title", "")), str(meta.get("file_id", document.id))
    places = [
        (stated.line, stated.value, f"{title} · {stated.text}", day_of("", [title], created))
        for stated in properties_of(meta)
        if _MET in asked_by(stated.name).split()
    ]
    if headings and _is_meeting(headings[-1], people):
        day = day_of("", headings, created)
        if day and (day.by == "heading" or is_log(str(meta.get("file_path", "")), title)):
            places.append((int(meta.get("line_start", 1)), headings[-1], headings[-1], day))
    for line, value, text, dated in places:
        spoken = SpokenText.of(value)
        if dated and all(word.is_in(spoken) for word in people):
            yield DatedPassage(*dated, True, note, document.id, line, text)


def _is_meeting(heading: str, people: Sequence[SubjectWord]) -> bool:
    """Return whether a heading that names some people tells that they were met: beside names and a
    day it says little, such as "Lunch with Kenji"; in Japanese と follows them, or nothing."""
    text = normalize(heading)
    if not all(re.search(f"{word.run}{_JA_COMPANY}", text) for word in people if word.run):
        return False
    names = {term for word in people for term in word.terms}
    others = (word for word in _LOWER.findall(heading) if stem(word) not in names)
    return all(map(_COMPANY.fullmatch, others))


def _starts(text: str, words: Sequence[SubjectWord]) -> list[int]:
    """Return where words begin in a text in normal form, the first place of each."""
    normal, starts = normalize(text), []
    stems = [(match.start(), stem(match[2])) for match in TOKEN.finditer(normal) if match[2]]
    for word in words:
        at = next((start for start, term in stems if term in word.terms), -1)
        at = normal.find(word.run) if word.run else at
        starts += [at] if at >= 0 else []
    return starts


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
    :param top_k: how many notes are named at most; `None` names all that filters alone choose.
    :param shown: how many are named where nobody said so, of those that hold words or are counted.
    :raises QueryError: when a path is no pattern.
    :raises UsageError: for a vault that the index does not hold.
    """
    given = filters or QueryFilters()
    if asked.asked == Asked.LAST:
        return _last(store, question, asked, given, intent)
    chosen_by = intent.filters if intent else given
    most = top_k or shown
    is_list = asked.asked == Asked.LIST
    named = None if is_list and top_k is None else most
    chosen = choose_notes(store, asked, chosen_by, intent, named)
    understood, results = chosen.understood, list[SearchResult]()
    if not chosen.words:
        results = newest_results(store, understood, chosen.notes)
    elif chosen.notes:
        results = ranked_results(store, understood, most, understood.filters, chosen.notes)
    conditions = [*conditions_of(chosen.filters), *chosen.conditions]
    text = counted(chosen.count, chosen.any_of or [chosen.told], conditions, question)
    kind: Literal["list", "count"] = "list" if is_list else "count"
    about = NotesAnswer(kind, chosen.count, chosen.told, any_of=chosen.any_of)
    return _answer(store, chosen, given, text, results, about)


def _last(
    store: BaseDocumentStore,
    question: str,
    asked: NoteQuestion,
    given: QueryFilters,
    intent: Intent | None,
) -> Answer:
    """Say when something was last: on the day of the newest passage that tells of it, which is not
    yet to come."""
    filters, first = given, None
    last = today = (intent and intent.today) or date.today()
    if intent:
        filters, window = intent.filters, intent.plan.metadata.time_window
        if intent.names_time and window.field == "created":
            # The time that is asked for is that of the passage, which a heading may say.
            first, last = window.first, min(window.last or today, today)
            filters = replace(filters, date_from=given.date_from, date_to=given.date_to)
    chosen = choose_notes(store, asked, filters, intent)
    passage, notes = find_last_time(store, chosen, first, last)
    if passage is None:
        about = NotesAnswer("last", 0, chosen.told)
        return _answer(store, chosen, given, notice(question, "not_found"), [], about)
    [source] = results_of(store, chosen.understood, [(passage.note, passage.chunk)])
    text = f"{day_text(passage.day, question)}: {passage.text} [1]"
    about = NotesAnswer("last", notes, chosen.told, passage.day, passage.dated_by)
    source = replace(source, line=passage.line)
    answer = _answer(store, chosen, given, text, [source], about)
    return replace(answer, quotes=[Quote(passage.text, 1, passage.line)])


def _answer(
    store: BaseDocumentStore,
    chosen: Chosen,
    given: QueryFilters,
    text: str,
    results: list[SearchResult],
    about: NotesAnswer,
) -> Answer:
    understood, near = chosen.understood, []
    if not about.count and understood.text:
        from rag.search.components.query_analyzer import understand

        allowed = understand(store, "", given, lists=True).filters
        near = ranked_results(store, understood, _NEAREST, allowed)
    return Answer(
        text=text,
        sources=results,
        confidence=0.0,
        found=about.count > 0,
        searched=understood.searched,
        corrections=understood.corrections,
        tags=understood.tags,
        notices=[*chosen.notices],
        near=near,
        notes=about,
    )
