"""The day of a passage of a note, and whether what it tells of has happened."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import date
from pathlib import PurePath
from typing import Literal, NamedTuple

from rag.support.month_names import DAY_OF, MONTH, YEAR_OF, month_number
from rag.text.normalize import normalize
from rag.vault.note_dates import date_in_name

DatedBy = Literal["line", "heading", "note"]

_DAY = re.compile(
    r"(?<![\d.-])(?P<y1>\d{4})[-/.](?P<m1>\d{1,2})[-/.](?P<d1>\d{1,2})(?![\d])"
    r"|(?:(?P<y2>\d{4})年 ?)?(?P<m2>\d{1,2})月 ?(?P<d2>\d{1,2})日"
    rf"|\b(?P<d3>\d{{1,2}}){DAY_OF}(?P<m3>{MONTH})(?:{YEAR_OF}(?P<y3>\d{{4}}))?\b"
    rf"|\b(?P<m4>{MONTH})\.? (?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,? (?P<y4>\d{{4}}))?\b"
)
_BEGINS = re.compile(r"[\W_]*(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?")
_PARTS = re.compile(r"[.;:!?。；！？\n]|, |、| but | and then ")
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
        ends = [found.end() for found in _PARTS.finditer(normal, 0, start)]
        before = normal[ends[-1] if ends else 0 : start]
        follows = _PARTS.search(normal, start)
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
