"""Answers to questions about the notes themselves (lists, counts, last days): without a model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import UUID

from haystack.dataclasses import Document

from rag.answers.notices import notice
from rag.answers.quotation.question import other_forms
from rag.answers.quotation.units import Kind, QuotableUnit, quotable_units
from rag.qa.answer import Answer, NotesAnswer, Quote
from rag.qa.answer_builder import is_for_readers
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
from rag.qa.extractive_answerer import line_in_file
from rag.query.note_questions import Asked, NoteQuestion
from rag.search.results import QueryFilters, SearchResult
from rag.search.understanding.phrases import SpokenText, SubjectWord
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.month_names import DAY_OF, MONTH, YEAR_OF, month_number
from rag.text.property_words import asked_by
from rag.text.tokenizer import TOKEN, normalize, stem
from rag.vault.note import date_in_name
from rag.vault.properties import properties_of

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
    for found in _DAY.finditer(normal):
        if at_the_start and found.start() > start:
            return None
        parts = found.groupdict()
        given = next(filter(None, (parts[f"y{n}"] for n in (1, 2, 3, 4))), None)
        month = next(filter(None, (parts[f"m{n}"] for n in (1, 2, 3, 4))))
        day = next(filter(None, (parts[f"d{n}"] for n in (1, 2, 3, 4))))
        number = int(month) if month.isdigit() else month_number(month)
        if given or year:
            try:
                return date(int(given or year or 1), number, int(day))
            except ValueError:
                continue
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
        ends = [found.end() for found in _CLAUSE_ENDS.finditer(normal, 0, start)]
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
_MET = "met"  # attendees and participants are asked for by it
_LOWER = re.compile(r"(?<![\w'’])[a-zäöüß]+")  # words that are no names
_COMPANY = re.compile(
    "with|and|met|meeting|call|lunch|dinner|coffee|breakfast|walk|visit|chat|talk|at|in|the|a"
    "|mit|und|bei|im|am"
)
_JA_COMPANY = "(?:さん|くん|ちゃん|氏|様|先生)?(?:と|、|・|$)"
_PARTS = 500  # ids that one query names


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


class LastTime(NamedTuple):
    """The newest passage, in how many notes there is one, and what there is to say of how it was
    sought."""

    passage: DatedPassage | None
    notes: int = 0
    notice: str = ""


def find_last_time(
    store: BaseDocumentStore,
    chosen: Chosen,
    first: date | None = None,
    last: date | None = None,
    today: date | None = None,
) -> LastTime:
    """Return the newest passage of some notes that holds all words of a subject and tells of what
    was done, on a day that is not yet to come.

    In a note of a day, and below a heading or in a line with one, any sentence may tell it; in
    other notes it must be told as what is past, for instructions have the same words.

    :param first: the first day that counts, if not all do; `last` is the last.
    """
    if not (chosen.words and chosen.notes):
        return LastTime(None)
    today = today or date.today()
    until = min(last, today) if last else today
    ids, left_out = _chunks(store, chosen)
    found = [
        passage
        for at in range(0, len(ids), _PARTS)
        for document in store.get_documents(ids[at : at + _PARTS])
        for passage in (*_passages(document, chosen.words), *_company(document, chosen.words))
        if (first is None or first <= passage.day) and passage.day <= until
    ]
    whole = [passage for passage in found if passage.is_whole] or found
    told = f"only the {_READ:,} newest passages that may tell of it were read" if left_out else ""
    if not whole:
        return LastTime(None, notice=told)
    whole.sort(key=lambda one: (one.day, one.dated_by != "note", one.note, -one.line), reverse=True)
    newest = next((one for one in whole if _is_for_readers(store, one)), None)
    return LastTime(newest, len({passage.note for passage in whole}) if newest else 0, told)


def _chunks(store: BaseDocumentStore, chosen: Chosen) -> tuple[list[str], bool]:
    """Return the ids of the chunks to read, those of the newest notes first, and whether some are
    left out."""
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
        ids = [chunk for note in newest_first(store, [*owned]) for chunk in owned[note]]
    return ids[:_READ], len(ids) > _READ


def _passages(document: Document, words: Sequence[SubjectWord]) -> Iterator[DatedPassage]:
    meta, content = document.meta, document.content or ""
    headings = [str(part) for part in meta.get("heading") or []]
    names = [str(meta.get("title", "")), *headings]
    of_day = is_log(str(meta.get("file_path", "")), names[0])
    pasts = {form for word in words for form in other_forms(word.text.lower())}
    lines, skipped = content.split("\n"), int(meta.get("repeated", 0))
    for unit in quotable_units(content):
        if unit.first < skipped or unit.kind in (Kind.LIST, Kind.TABLE, Kind.CODE):
            continue
        held = _held(unit, words)
        if not held or not has_happened(unit.text, lines[unit.first], _starts(unit.text, held)):
            continue
        around = SpokenText.of(*names, unit.under)
        is_whole = len(held) == len(words)
        if not (is_whole or all(word in held or word.is_in(around) for word in words)):
            continue
        dated = day_of(unit.text, headings, _created(meta), of_day)
        if not (of_day or (dated and dated.by != "note")):
            told = is_whole and tells_past(unit.text, pasts)
            dated = dated if told else None
        line = line_in_file(document, unit.first)
        if dated:
            note = str(meta.get("file_id", document.id))
            yield DatedPassage(*dated, is_whole, note, document.id, line, unit.text)


def _company(document: Document, words: Sequence[SubjectWord]) -> Iterator[DatedPassage]:
    """Yield where somebody is named as present that a question asks when they were met: in the
    front matter of a note, and in a heading that says little else."""
    named = [word for word in words if not word.is_company]
    if not named or len(named) == len(words):
        return
    meta = document.meta
    headings = [str(part) for part in meta.get("heading") or []]
    note, title = str(meta.get("file_id", document.id)), str(meta.get("title", ""))
    created, is_day = _created(meta), is_log(str(meta.get("file_path", "")), title)
    places = [
        (stated.line, stated.value, f"{title} · {stated.text}", day_of("", [title], created))
        for stated in properties_of(meta)
        if _MET in asked_by(stated.name).split()
    ]
    if headings and _is_meeting(headings[-1], named):
        day = day_of("", headings, created)
        if day and (is_day or day.by == "heading"):
            places.append((int(meta.get("line_start", 1)), headings[-1], headings[-1], day))
    for line, said, text, dated in places:
        spoken = SpokenText.of(said)
        if dated and all(word.is_in(spoken) for word in named):
            yield DatedPassage(*dated, True, note, document.id, line, text)


def _is_meeting(heading: str, named: Sequence[SubjectWord]) -> bool:
    """Return whether a heading that names some people tells that they were met: beside names and a
    day it says little, such as "Lunch with Kenji"; in Japanese と follows them, or nothing."""
    text = normalize(heading)
    if not all(re.search(f"{word.run}{_JA_COMPANY}", text) for word in named if word.run):
        return False
    names = {term for word in named for term in word.terms}
    others = (word for word in _LOWER.findall(heading) if stem(word) not in names)
    return all(map(_COMPANY.fullmatch, others))


def _is_for_readers(store: BaseDocumentStore, passage: DatedPassage) -> bool:
    [document] = store.get_documents([passage.chunk])
    return is_for_readers(passage.text, 1, passage.line, document)


def _created(meta: dict[str, Any]) -> str:
    return str(meta.get("created") or "")


def _held(unit: QuotableUnit, words: Sequence[SubjectWord]) -> list[SubjectWord]:
    text = SpokenText.of(unit.text)
    return [word for word in words if word.is_in(text)]


def _starts(text: str, words: Sequence[SubjectWord]) -> list[int]:
    """Return where words begin in a text in normal form, the first place of each."""
    normal, starts = normalize(text), []
    stems = [(found.start(), stem(found[2])) for found in TOKEN.finditer(normal) if found[2]]
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
    """List notes, count them, or say when something was last.

    What was understood as a filter is never dropped: a number of other notes answers nothing.

    :param filters: of whoever asks, beside the question.
    :param intent: what the question and the filters mean, if it was planned.
    :param top_k: how many notes are named at most; `None` names all that filters alone choose.
    :param shown: how many are named where nobody said so, of those that hold words, and of those
        that are counted.
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
    words = chosen.told
    if not chosen.words:
        results = newest_results(store, chosen.understood, chosen.notes)
    elif chosen.notes:
        filtered = chosen.understood.filters
        results = ranked_results(store, chosen.understood, most, filtered, chosen.notes)
    else:
        results = []
    conditions = [*conditions_of(chosen.filters), *chosen.conditions]
    text = counted(chosen.count, chosen.any_of or [words], conditions, question)
    kind: Literal["list", "count"] = "list" if is_list else "count"
    found = NotesAnswer(kind, chosen.count, words, any_of=chosen.any_of)
    return _answer(store, chosen, given, text, results, found)


def _last(
    store: BaseDocumentStore,
    question: str,
    asked: NoteQuestion,
    given: QueryFilters,
    intent: Intent | None,
) -> Answer:
    """Say when something was last: on the day of the newest passage that tells of it."""
    filters, first, last = given, None, None
    if intent:
        filters, window = intent.filters, intent.plan.metadata.time_window
        if intent.names_time and window.field == "created":
            # The time that is asked for is that of the passage, which a heading may say.
            first, last = window.first, window.last
            filters = replace(filters, date_from=given.date_from, date_to=given.date_to)
    chosen = choose_notes(store, asked, filters, intent)
    words = chosen.told
    time = find_last_time(store, chosen, first, last, intent.today if intent else None)
    chosen.notices.extend(filter(None, [time.notice]))
    if time.passage is None:
        text = notice(question, "not_found")
        return _answer(store, chosen, given, text, [], NotesAnswer("last", 0, words))
    passage = time.passage
    [source] = results_of(store, chosen.understood, [(passage.note, passage.chunk)])
    source = replace(source, line=passage.line)
    text = f"{day_text(passage.day, question)}: {passage.text} [1]"
    found = NotesAnswer("last", time.notes, words, passage.day, passage.dated_by)
    answer = _answer(store, chosen, given, text, [source], found)
    return replace(answer, quotes=[Quote(passage.text, 1, passage.line)])


def _answer(
    store: BaseDocumentStore,
    chosen: Chosen,
    given: QueryFilters,
    text: str,
    results: list[SearchResult],
    found: NotesAnswer,
) -> Answer:
    understood, near = chosen.understood, []
    if not found.count and understood.text:
        from rag.search.understanding.query_understanding import understand

        allowed = understand(store, "", given, lists=True).filters
        near = ranked_results(store, understood, _NEAREST, allowed)
    return Answer(
        text=text,
        sources=results,
        confidence=0.0,
        found=found.count > 0,
        searched=understood.searched,
        corrections=understood.corrections,
        tags=understood.tags,
        notices=[*chosen.notices],
        near=near,
        notes=found,
    )
