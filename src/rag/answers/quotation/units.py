"""What of a note can be read out as an answer: sentences, with what they introduce."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import NamedTuple

from rag.vault.frontmatter import Property
from rag.vault.markdown import Kind as LineKind
from rag.vault.markdown import outline
from rag.vault.sentences import ReadableLine, readable_lines, sentence_spans

LONGEST = 400  # characters of a unit; a single sentence, item, row or line of code may have more
_SHORT = 120  # a sentence that announces has at most so many
_ITEM = re.compile(r"\s*(?:>\s?)*\s*(?:[-*+]|(\d{1,9}[.)]))[ \t]+")
_NUMBERED = re.compile(r"\d{1,9}[.)]\s")
_CALLOUT = re.compile(r"\s*(?:>\s?)+\[!")
_QUOTE_MARKS = re.compile(r"\s*(?:>[ ]?)+")
_FRAME = re.compile(r"[\s>]*(?:`{3}|~{3}|\|)")  # the first line of a code block or of a table
_NOTE_LINK = re.compile(r"\[\[[^\]]*\]\]")
_LINK = re.compile(r"!?\[\[[^\]]*\]\]|!?\[[^\]]*\]\([^)]*\)|<?https?://\S+")
_INTRODUCES = re.compile(r"[:：,，、]\s*$")
# What is said in the next sentence: "There are two kinds of discounts."
_ANNOUNCES = re.compile(
    r"\b(?:there (?:are|is)|two|three|four|several|following|depends?|as follows|(?:yes|no)[.!]?$)"
    r"|(?:次の|以下の|[2-9２-９二三四]つの|いくつかの|種類があ|によって異な|場合があり|(?:はい|いいえ)。$)",
    re.IGNORECASE,
)


class Kind(StrEnum):
    """What a unit consists of, apart from the sentence that introduces it."""

    SENTENCE = "sentence"
    ITEM = "item"
    LIST = "list"
    ROW = "row"
    TABLE = "table"
    CODE = "code"
    PROPERTY = "property"


class QuotableUnit(NamedTuple):
    """A part of a text that is read out whole.

    `first` and `last` are the numbers of its lines, from 0; `text` is what is read, a line for each
    item, row and line of code. `under` is the sentence that introduces it, where that is no part
    of it. `stated` is the property whose line it is.
    """

    first: int
    last: int
    text: str
    kind: Kind
    under: str = ""
    stated: Property | None = None


class _Piece(NamedTuple):
    """What is never cut: a sentence, an item, a row, or a line of code."""

    first: int
    last: int
    text: str
    mark: str = ""  # before an item, where it is one of several


class _Block(NamedTuple):
    """Sentences of a paragraph, items of a list, rows of a table or lines of code."""

    kind: Kind
    pieces: list[_Piece]


def quotable_units(content: str) -> list[QuotableUnit]:
    """Return what can be read out of Markdown, in order; some units lie within others. They are
    sentences, a short one that only announces with the next; items, and lists; rows with the names
    of their columns, and small tables; code; each but the first with the sentence that introduces
    it. Headings are none, nor are links to notes alone, nor addresses unless there is nothing else.
    """
    blocks = list(_blocks(content))
    lines = content.split("\n")
    units: list[QuotableUnit] = []
    for before, block in pairwise([None, *blocks]):
        assert block
        intro = _introduction(lines, before, block)
        if intro and units and intro.text.endswith(units[-1].text):
            is_bare = _INTRODUCES.search(intro.text)
            units = units[:-1] if is_bare else units  # it says nothing without the rest
        units += _units(block, intro)
    telling = [unit for unit in units if not _consists_of(_LINK, lines, unit)]
    # An address may be what was asked for; the title of another note answers nothing.
    return telling or [unit for unit in units if not _consists_of(_NOTE_LINK, lines, unit)]


def _units(block: _Block, intro: _Piece | None) -> Iterator[QuotableUnit]:
    if block.kind == Kind.SENTENCE:
        yield from _sentence_units(block.pieces)
        return
    whole = Kind.LIST if block.kind == Kind.ITEM else block.kind
    whole = Kind.TABLE if block.kind == Kind.ROW else whole
    under = intro.text if intro else ""
    start = [intro] if intro else []
    for run in _runs(block.pieces, LONGEST - len(under)):
        yield _joined([*start, *run], whole, "" if start else under)
        start = []
    if block.kind != Kind.CODE and len(block.pieces) > 1:
        for piece in block.pieces:
            yield _joined([piece], block.kind, under)


def _sentence_units(pieces: Sequence[_Piece]) -> Iterator[QuotableUnit]:
    for piece, following in pairwise([*pieces, None]):
        assert piece
        yield _joined([piece], Kind.SENTENCE)
        if following and len(piece.text) <= _SHORT and _ANNOUNCES.search(piece.text):
            yield QuotableUnit(
                piece.first, following.last, f"{piece.text} {following.text}", Kind.SENTENCE
            )


def _joined(pieces: Sequence[_Piece], kind: Kind, under: str = "") -> QuotableUnit:
    marked = kind == Kind.LIST and len(pieces) > 1
    text = "\n".join(f"{piece.mark if marked else ''}{piece.text}" for piece in pieces)
    return QuotableUnit(pieces[0].first, pieces[-1].last, text, kind, under)


def _runs(pieces: Sequence[_Piece], room: int) -> Iterator[list[_Piece]]:
    """Yield the pieces in runs of at most so many characters, or of one piece."""
    run: list[_Piece] = []
    for piece in pieces:
        if run and sum(len(part.text) + 1 for part in run) + len(piece.text) > room:
            yield run
            run, room = [], LONGEST
        run.append(piece)
    if run:
        yield run


def _introduction(lines: Sequence[str], before: _Block | None, block: _Block) -> _Piece | None:
    """Return the sentence before a list, table or code block, if it introduces that."""
    if not before or before.kind != Kind.SENTENCE or block.kind == Kind.SENTENCE:
        return None
    sentence, first = before.pieces[-1], block.pieces[0].first
    between = [line for line in lines[sentence.last + 1 : first] if not _FRAME.match(line)]
    if any(line.strip(" >\t") for line in between):
        return None
    # With a blank line behind it, it must say so.
    announces = _INTRODUCES.search(sentence.text) or _ANNOUNCES.search(sentence.text)
    return sentence if not between or block.kind == Kind.CODE or announces else None


def _consists_of(link: re.Pattern[str], lines: Sequence[str], unit: QuotableUnit) -> bool:
    text = "\n".join(lines[unit.first : unit.last + 1])
    return bool(link.search(text)) and not re.search(r"\w", link.sub("", text))


def _blocks(content: str) -> Iterator[_Block]:
    lines = content.split("\n")
    held: list[list[ReadableLine]] = []
    kind: Kind | None = None
    for line in readable_lines(content):
        own, is_new = _kind_of(line, lines)
        goes_on = bool(held) and not _is_parted(lines, held[-1][-1], line)
        is_below = held and not _CALLOUT.match(lines[held[-1][-1].number])
        if is_below and line.goes_on and line.kind == LineKind.TEXT:
            held[-1].append(line)
            continue
        joins = kind == own and own not in (None, Kind.SENTENCE) and (goes_on or own == Kind.ITEM)
        if held and not (joins and not is_new):
            yield _block(kind or Kind.SENTENCE, held, lines)
            held = []
        if own:
            held.append([line])
        kind = own
    if held:
        yield _block(kind or Kind.SENTENCE, held, lines)


def _kind_of(line: ReadableLine, lines: Sequence[str]) -> tuple[Kind | None, bool]:
    """Return what a line is part of, `None` for a heading, and whether it surely begins that."""
    if line.kind == LineKind.HEADING:
        return None, True
    if line.kind == LineKind.TABLE:
        return Kind.ROW, not line.names
    if line.kind == LineKind.CODE:
        return Kind.CODE, False
    raw = lines[line.number]
    return (Kind.ITEM, False) if _ITEM.match(raw) else (Kind.SENTENCE, True)


def _is_parted(lines: Sequence[str], before: ReadableLine, line: ReadableLine) -> bool:
    """Return whether other lines stand between two lines of a block."""
    between = lines[before.number + 1 : line.number]
    if line.kind == LineKind.CODE:
        return any(text.strip(" >") for text in between)
    return line.kind == LineKind.TABLE and len(between) > 1


def _block(kind: Kind, held: Sequence[Sequence[ReadableLine]], lines: Sequence[str]) -> _Block:
    if kind == Kind.SENTENCE:
        return _Block(kind, [piece for group in held for piece in _sentences(group)])
    pieces = []
    for group in held:
        text, mark = _wrapped(group)[0], ""
        if kind == Kind.CODE:
            line = lines[group[0].number]
            text = (_QUOTE_MARKS.sub("", line, 1) if line.lstrip()[:1] == ">" else line).rstrip()
        elif kind == Kind.ITEM and not _NUMBERED.match(text):
            mark = "- "
        pieces.append(_Piece(group[0].number, group[-1].number, text, mark))
    if kind == Kind.ROW and len(pieces) > 1 and not held[0][0].names:
        pieces = pieces[1:]  # the header, which each row is read with
    return _Block(kind, pieces)


def _wrapped(group: Sequence[ReadableLine]) -> tuple[str, list[int]]:
    """Return the text of wrapped lines, and where in it each line begins: Latin words were parted
    by the line end, Japanese ones were not."""
    text, starts = "", []
    for line in group:
        text += " " if text and (text[-1] + line.text[0]).isascii() else ""
        starts.append(len(text))
        text += line.text
    return text, starts


def _sentences(group: Sequence[ReadableLine]) -> Iterator[_Piece]:
    text, starts = _wrapped(group)
    for start, end in sentence_spans(text):
        shown = text[start:end].strip()
        at = start + text[start:end].find(shown)
        first = group[bisect_right(starts, at) - 1].number
        last = group[bisect_right(starts, at + max(len(shown) - 1, 0)) - 1].number
        if shown:
            yield _Piece(first, last, shown)


def cut_points(content: str) -> list[int]:
    """Return where Markdown can be cut: behind these characters, in order, the last of them at its
    end.

    They are ends of lines: of paragraphs, items, rows and lines of code. None lies within a
    quotable unit, nor behind a heading, the head of a table or the first line of a fence.
    """
    lines = content.split("\n")
    structure = outline(lines)
    bound = {n for unit in quotable_units(content) for n in range(unit.first, unit.last)}
    for first, last in structure.fences.items():
        bound |= {first, last - 1}
    for heading in structure.headings:
        bound |= {*range(heading.line, heading.last_line + 1)}
    for line, (before, kind) in enumerate(pairwise([LineKind.BLANK, *structure.kinds])):
        if kind == LineKind.TABLE != before:
            bound |= {line, line + 1}  # the names of the columns, and the rule below them
    ends = enumerate(accumulate(len(line) + 1 for line in lines))
    points = [end for line, end in ends if lines[line].strip() and line not in bound]
    return [*(end for end in points if end < len(content)), len(content)]
