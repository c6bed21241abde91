"""Where sentences end, in English and Japanese, and in languages that write dates with points."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.support.month_names import FOREIGN_MONTH, MONTH

# A Japanese stop ends a sentence wherever it stands; a Latin one only before white space.
# A closing quote or bracket belongs to the sentence it closes; blank lines are taken at once.
# A run of Latin stops is examined once, and not again from each of them; most abbreviations
# (see below) are passed over at once too.
_SHORT = (
    r"(?:(?<=\b[A-Za-z]\.)|(?<=\b(?:vs|cf|Mr|Ms|Dr|St|No|Eq|ca)\.)"
    r"|(?<=\b(?:e\.g|i\.e|etc|Mrs|Fig)\.)|(?<=\bProf\.)|(?<=\bapprox\.))"
)
_END = re.compile(
    r"[。．！？]+[」』）】”’]*"
    rf"|[.!?](?<![.!?][.!?])(?!{_SHORT}\s)[.!?]*+[\"'”’)\]]*+(?=\s)"
    r"|\n(?:[ \t\u3000]*\n)*"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|Mr|Mrs|Ms|Dr|Prof|St|No|Fig|Eq|approx|ca)|^\s*\d+)\.$"
)

_LONGEST = 14  # characters of an abbreviation, or of a date up to a point in it
# A date goes on behind the point of a day ("31. Juli", "31. 7. 2027"), or of a short name of a
# month ("Jan. 5", "31 juil. 2027").
_DAY = re.compile(r"(?<![\w.])\d{1,2}\.(?:\s?\d{1,2}\.)?$")
_BEHIND_DAY = re.compile(
    rf"\s+(?:{FOREIGN_MONTH}|(?:{MONTH}|[^\W\d]{{3,5}}\.)\s+\d{{4}}\b|(?:\d{{1,2}}\.\s?)?\d{{4}}\b)",
    re.IGNORECASE,
)
_SHORT_MONTH = re.compile(
    rf"(?:\b{MONTH}|(?<![\w.])\d{{1,2}}\.?\s[^\W\d]{{3,5}})\.$", re.IGNORECASE
)
_BEHIND_MONTH = re.compile(r"\s+(?:\d{1,2}|\d{4})\b")


def goes_on(text: str, start: int, end: int) -> bool:
    """Return whether a sentence from `start` goes on behind its point before `end`, which is that
    of an abbreviation or stands within a date."""
    said = text[max(start, end - _LONGEST) : end]
    if _ABBREVIATION.search(said):
        return True
    if _DAY.search(said):
        return _BEHIND_DAY.match(text, end) is not None
    return bool(_BEHIND_MONTH.match(text, end) and _SHORT_MONTH.search(said))


def is_undecided(text: str, start: int, end: int) -> bool:
    """Return whether the word behind a point, which may be that of a day, is not there whole."""
    said = text[max(start, end - _LONGEST) : end]
    return bool(_DAY.search(said) and re.fullmatch(r"\s*\S*", text[end:]))


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) of every sentence; together they cover `text` without gaps.

    A line end ends a sentence too: a heading or a list item is one.
    """
    return list(iter_sentence_spans(text))


def iter_sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield what `sentence_spans` returns."""
    held: tuple[int, int] | None = None  # it may yet take up the white space behind it
    start = blank = 0  # from `start` to `blank` there is white space only
    for stop in _END.finditer(text):
        end = stop.end()
        if stop[0][0] == "." and goes_on(text, start, end):
            continue
        if text[blank:end].strip():
            if held:
                yield held
            held, start = (start, end), end
        blank = end
    if start < len(text):
        if text[blank:].strip() or not held:
            if held:
                yield held
            held = start, len(text)
        else:
            held = held[0], len(text)
    if held:
        yield held
