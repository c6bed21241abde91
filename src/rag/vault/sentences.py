"""Where sentences end, in English and Japanese, and in languages that write dates with points."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from rag.support.month_names import FOREIGN_MONTH, MONTH
from rag.vault.markdown import Kind
from rag.vault.readable import ReadableLine, readable_lines

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


# What a unit has at least: shorter ones say little alone, and rank worse. 25 Japanese characters
# say as much as 60 of an alphabet.
_LEAST = 60
_DENSE_SCRIPT = re.compile("[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]")  # ideographs, kana, Hangul
_CHARACTER = 1.4  # that one of those counts for besides


class SentenceUnit(NamedTuple):
    """A sentence, or a few short ones: `line` is the number of the first one's line, from 0."""

    line: int
    text: str


def sentence_units(content: str) -> list[SentenceUnit]:
    """Cut Markdown into sentences as a reader sees them, without headings.

    A row of a table is one, with the names of its columns. Short ones go together.
    """
    units: list[SentenceUnit] = []
    line, held = 0, ""
    for start, text in _sentences(content):
        line, held = (line, f"{held} {text}") if held else (start, text)
        if _says_enough(held):
            units.append(SentenceUnit(line, held))
            held = ""
    if held and units:
        last = units.pop()
        units.append(last._replace(text=f"{last.text} {held}"))
    elif held:
        units.append(SentenceUnit(line, held))
    return units


def _says_enough(text: str) -> bool:
    if len(text) >= _LEAST:
        return True
    return len(text) + _CHARACTER * len(_DENSE_SCRIPT.findall(text)) >= _LEAST


def _sentences(content: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of each paragraph, with the line that each begins in."""
    for lines in _paragraphs(content):
        text = " ".join(line.text for line in lines)
        if lines[0].kind != Kind.TEXT:
            yield lines[0].number, text
            continue
        starts = list(accumulate((len(line.text) + 1 for line in lines[:-1]), initial=0))
        for start, end in sentence_spans(text):
            said = text[start:end].lstrip()  # white space before it belongs to the line before
            yield lines[bisect_right(starts, end - len(said)) - 1].number, said.rstrip()


def _paragraphs(content: str) -> Iterator[list[ReadableLine]]:
    """Yield the lines of running text that belong together; any other line stands alone."""
    held: list[ReadableLine] = []
    for line in readable_lines(content):
        if held and not (line.goes_on and line.kind == Kind.TEXT):
            yield held
            held = []
        if line.kind != Kind.HEADING:
            held.append(line)
    if held:
        yield held
