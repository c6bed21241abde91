"""The newest passage of the notes that tells of something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from haystack.dataclasses import Document

from rag.answers.quotation.irregular_forms import other_forms
from rag.answers.quotation.units import Kind, QuotableUnit, quotable_units
from rag.qa.answer import Quote
from rag.qa.answer_builder import is_for_readers
from rag.qa.found_passages import line_in_file
from rag.qa.note_answers.chosen_notes import Chosen, newest_first
from rag.qa.note_answers.passage_dates import (
    DatedBy,
    day_of,
    has_happened,
    is_log,
    tells_past,
)
from rag.search.understanding.subject_words import SpokenText, SubjectWord
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.normalize import normalize
from rag.text.property_words import asked_by
from rag.text.tokenizer import TOKEN, stem
from rag.vault.properties import properties_of

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
    return is_for_readers(Quote(passage.text, 1, passage.line), document)


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
