"""The lines of a note as a reader sees them: without the marks that lay them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rag.vault.frontmatter import FrontMatter
from rag.vault.markdown import (
    Comments,
    Kind,
    Outline,
    closes_fence,
    outline,
    plain,
    without_single_marks,
)

_LAST_READ = 32  # texts of results: where each matches is found first, then it is shown
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
    found = outline(lines, FrontMatter({}, 0, ""))
    shown = [line for line in _shown(lines, found) if line.text]
    return tuple(sorted(shown, key=lambda line: line.number))


def _shown(lines: list[str], found: Outline) -> Iterator[ReadableLine]:
    kinds, comments = found.kinds, Comments(lines, found.kinds)
    for heading in found.headings:
        yield ReadableLine(heading.line, heading.text, Kind.HEADING)
    for first, last in found.fences.items():
        yield from _code(lines, first, last)
    columns: list[str] = []
    rows = 0  # of the table that a line belongs to, those above it
    goes_on = False
    for number, line in enumerate(lines):
        if kinds[number] == Kind.TABLE:
            cells = _cells(comments.strip(number))
            columns = columns if rows else cells
            if rows != 1:  # the second line only parts the first from the others
                yield _row(number, cells, columns if rows else [])
            rows, goes_on = rows + 1, False
            continue
        rows = 0
        if kinds[number] != Kind.TEXT:
            goes_on = False
            continue
        read = _paragraph_line(number, comments.strip(number), goes_on)
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
