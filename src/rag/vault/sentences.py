"""The lines of a note as a reader sees them, without the marks that lay them out, and where their
sentences end: in English and Japanese, and in languages that write dates with points."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from rag.support.month_names import FOREIGN_MONTH, MONTH
from rag.vault.markdown import (
    Kind,
    Outline,
    closes_fence,
    outline,
    plain,
    without_comments,
    without_single_marks,
)

_LAST_READ = 256  # texts of results: each is matched, then shown, and found again as a query grows
_QUOTE = re.compile(r"\s*(?:>[ ]?)+")
# What begins a list item or a callout, and what of it is no text.
_ITEM = re.compile(r"\s*(?:[-*+][ \t]+|(?=\d{1,9}[.)][ \t])|(?=\[!))")
_BOX = re.compile(r"((?:\d{1,9}[.)][ \t]+)?)\[.\][ \t]+")
_CALLOUT = re.compile(r"\[![\w-]+\][+-]?\s*")
_HTML_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*$")
_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)*(?:`{3,}[^`]*|~{3,}.*)$")
_BAR = re.compile(r"(?<!\\)\|")

Span = tuple[int, int]


class ReadableLine(NamedTuple):
    """A line that holds something to read.

    `number` counts from 0 in the text; `text` is what is read. `goes_on` says that it continues
    the sentence or paragraph of the line before. `names` are the (start, end) in `text` of the
    names of columns, which a row of a table is shown with but does not hold.
    """

    number: int
    text: str
    kind: Kind
    goes_on: bool = False
    names: tuple[Span, ...] = ()


@lru_cache(_LAST_READ)
def readable_lines(text: str) -> tuple[ReadableLine, ...]:
    """Return the lines of Markdown that hold something to read, in order.

    Quote, list and heading marks, task boxes, comments, rules and the lines of fences go; code
    stays as it is written; a row of a table is "column: value, column: value".
    """
    lines = text.split("\n")
    structure = outline(lines, links=False)
    shown = [line for line in _shown(lines, structure) if line.text]
    return tuple(sorted(shown, key=lambda line: line.number))


def _shown(lines: list[str], structure: Outline) -> Iterator[ReadableLine]:
    kinds, shown = structure.kinds, without_comments(lines, structure.kinds)
    for heading in structure.headings:
        yield ReadableLine(heading.line, heading.text, Kind.HEADING)
    for first, last in structure.fences.items():
        yield from _code(lines, first, last)
    columns: list[str] = []
    rows = 0  # of the table that a line belongs to, those above it
    goes_on = False
    for number, line in enumerate(lines):
        if kinds[number] == Kind.TABLE:
            cells = _cells(shown[number])
            columns = columns if rows else cells
            if rows != 1:  # the second line only parts the first from the others
                yield _row(number, cells, columns if rows else [])
            rows, goes_on = rows + 1, False
            continue
        rows = 0
        if kinds[number] != Kind.TEXT:
            goes_on = False
            continue
        read = _paragraph_line(number, shown[number], goes_on)
        goes_on = bool(read.text) and not line.lstrip(" >").startswith("|")
        yield read


def _code(lines: list[str], first: int, last: int) -> Iterator[ReadableLine]:
    """Yield the lines of a fence, the first and last of which are not code."""
    quote = _QUOTE.match(lines[first])
    end = last if closes_fence(lines[last]) else last + 1
    for number in range(first + 1, end):
        text = lines[number]
        text = text[min(quote.end(), len(text)) :] if quote else text
        yield ReadableLine(number, text.strip(), Kind.CODE)


def _paragraph_line(number: int, line: str, goes_on: bool) -> ReadableLine:
    """Return a line of running text, of a list or of a quote.

    :param goes_on: whether the line above it was text of which it may be more.
    """
    if _RULE.match(line) or _FENCE.match(line):
        return ReadableLine(number, "", Kind.TEXT)
    quote = _QUOTE.match(line)
    text = line[quote.end() :] if quote else line
    if text.lstrip().startswith("|"):  # a row whose header stands elsewhere
        return _row(number, _cells(text), [])
    item = _ITEM.match(text)
    if item:
        text = _CALLOUT.sub("", _BOX.sub(r"\1", text[item.end() :], count=1), count=1)
    return ReadableLine(number, _plain(text), Kind.TEXT, goes_on and not item)


def _plain(text: str) -> str:
    return without_single_marks(plain(_HTML_BREAK.sub(" ", text) if "<" in text else text))


def _cells(line: str) -> list[str]:
    quote = _QUOTE.match(line)
    row = _plain(line[quote.end() :] if quote else line)
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(row)]


def _row(number: int, cells: list[str], columns: list[str]) -> ReadableLine:
    """Return a row of a table, each of its cells behind the name of its column."""
    names: list[Span] = []
    text = ""
    for at, cell in enumerate(cells):
        if not cell:
            continue
        text += ", " if text else ""
        name = columns[at] if at < len(columns) else ""
        if name:
            names.append((len(text), len(text) + len(name)))
            text += f"{name}: "
        text += cell
    return ReadableLine(number, text, Kind.TABLE, names=tuple(names))


# A Japanese stop ends a sentence wherever it stands; a Latin one only before white space.
# A closing quote or bracket belongs to the sentence it closes; blank lines are taken at once.
# A run of Latin stops is examined once, and not again from each of them.
_END = re.compile(
    r"[。．！？]+[」』）】”’]*"
    r"|[.!?](?<![.!?][.!?])[.!?]*+[\"'”’)\]]*+(?=\s)"
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
    before = text[max(start, end - _LONGEST) : end]
    if _ABBREVIATION.search(before):
        return True
    if _DAY.search(before):
        return _BEHIND_DAY.match(text, end) is not None
    return bool(_BEHIND_MONTH.match(text, end) and _SHORT_MONTH.search(before))


def is_undecided(text: str, start: int, end: int) -> bool:
    """Return whether the word behind a point, which may be that of a day, is not there whole."""
    before = text[max(start, end - _LONGEST) : end]
    return bool(_DAY.search(before) and re.fullmatch(r"\s*\S*", text[end:]))


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of every sentence; together they cover `text` without gaps.

    A line end ends a sentence too: a heading or a list item is one.
    """
    last = len(text.rstrip())  # the last sentence takes up the white space behind it
    start = blank = 0  # from `start` to `blank` there is white space only
    for stop in _END.finditer(text):
        end = stop.end()
        if stop[0][0] == "." and goes_on(text, start, end):
            continue
        if end >= last:
            break
        if text[blank:end].strip():
            yield start, end
            start = end
        blank = end
    if text:
        yield start, len(text)


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
    for line, text in _sentences(content):
        if units and not _says_enough(units[-1].text):
            units[-1] = units[-1]._replace(text=f"{units[-1].text} {text}")
        else:
            units.append(SentenceUnit(line, text))
    if len(units) > 1 and not _says_enough(units[-1].text):
        last = units.pop()
        units[-1] = units[-1]._replace(text=f"{units[-1].text} {last.text}")
    return units


def _says_enough(text: str) -> bool:
    return len(text) + _CHARACTER * len(_DENSE_SCRIPT.findall(text[:_LEAST])) >= _LEAST


def _sentences(content: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of each paragraph, with the line that each begins in."""
    for lines in _paragraphs(content):
        text = " ".join(line.text for line in lines)
        if lines[0].kind != Kind.TEXT:
            yield lines[0].number, text
            continue
        starts = list(accumulate((len(line.text) + 1 for line in lines[:-1]), initial=0))
        for start, end in sentence_spans(text):
            sentence = text[start:end].lstrip()  # white space before it belongs to the line before
            yield lines[bisect_right(starts, end - len(sentence)) - 1].number, sentence.rstrip()


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
