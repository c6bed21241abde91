"""Chunks: the runs of a section that are indexed, ranked and quoted.

A chunk is always a contiguous slice of its section, so its first and last line are exact. A
section that is too long is cut between paragraphs, else between lines, else between
sentences, and inside a word only where nothing else is left; never inside a fence or a table.
"""

from __future__ import annotations

import json
import uuid
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from typing import NamedTuple

from rag.vault import limits
from rag.vault.markdown import Kind
from rag.vault.note import Note
from rag.vault.sentences import iter_sentence_spans, sentence_spans

# Names every chunk id; another value would make every id another one.
_NAMESPACE = uuid.UUID("a4ccfe9e-6b4e-5d9e-8a44-0a3fd9c37c1b")

Measure = Callable[[str], int]
MeasureAll = Callable[[Sequence[str]], Sequence[int]]

# How many pieces, and characters of them, are measured together: few enough to be held at once.
_MOST_TOGETHER = 1_000
_LONGEST_TOGETHER = 100_000
_LAST_MEASURED = 4
_BYTES = 4  # of a character at most
_CHARACTERS = 4  # of a token, about
_LARGE_BLOCK = (
    f"a fence or table is longer than {limits.LARGEST_BLOCK:,} characters: it is cut like text"
)
_MANY_PIECES = (
    f"more than {limits.MOST_PIECES:,} paragraphs and sentences: the rest is cut at any space"
)

# Part of the index's fingerprint: raise it whenever the same note would give other chunks.
CHUNKER_VERSION = 2


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of one section.

    `heading` is the path of headings above it, outermost first. `line_start` and `line_end`
    count from 1 in the file, both inclusive. `text` is the file's own text of that span
    (part of a line where a single line had to be cut). `position` counts the chunks and
    `section` the sections of the note, from 0.
    """

    id: str
    heading: tuple[str, ...]
    text: str
    line_start: int
    line_end: int
    position: int
    section: int


class _Section(NamedTuple):
    heading: tuple[str, ...]
    first: int
    last: int  # exclusive


class _Piece(NamedTuple):
    start: int
    end: int
    cost: int
    atomic: bool


def chunk_note(
    note: Note, size: int, overlap: int, measure: Measure, measure_all: MeasureAll | None = None
) -> list[Chunk]:
    """Cut a note into chunks; what goes beyond the bounds of a note is reported in its `problems`.

    :param size: the largest cost of a chunk, in the unit of `measure`; only a single fence or
        table may exceed it.
    :param overlap: how much of a chunk's last sentences the next chunk of the same section
        repeats at most.
    :param measure: what a text costs, usually in tokens; never less than a part of it.
    :param measure_all: what `measure` says of each of many texts, at a lower price.
    :raises ValueError: when `size` is not positive or `overlap` not within [0, size).
    """
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError(f"chunk size {size} and overlap {overlap}: need 0 <= overlap < size")
    chunks: list[Chunk] = []
    ordinals: Counter[tuple[str, ...]] = Counter()
    cutter = _Cutter(note, size, overlap, measure, measure_all)
    for number, section in enumerate(_sections(note)):
        for text, first, last in cutter.cut(section):
            if len(chunks) == limits.MOST_CHUNKS:
                cutter.problems[limits.too_many("chunks", limits.MOST_CHUNKS)] = None
                break
            ordinal = ordinals[section.heading]
            ordinals[section.heading] += 1
            # JSON, since a heading may hold any separator one could think of.
            identity = json.dumps([note.vault, note.path, *section.heading, ordinal])
            chunks.append(
                Chunk(
                    id=_named(identity),
                    heading=section.heading,
                    text=text,
                    line_start=first + 1,
                    line_end=last + 1,
                    position=len(chunks),
                    section=number,
                )
            )
        else:
            continue
        break
    note.problems += cutter.problems
    return chunks


def note_id(vault: str, path: str) -> str:
    """Return the UUID that stands for a note, whatever it holds."""
    return _named(f"{vault}\x1f{path}")


def _named(name: str) -> str:
    """Return `str(uuid.uuid5(_NAMESPACE, name))`, which takes four times as long."""
    digest = bytearray(sha1(_NAMESPACE.bytes + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50  # the version
    digest[8] = digest[8] & 0x3F | 0x80  # the variant
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _sections(note: Note) -> Iterator[_Section]:
    """Yield the sections that hold text of their own; a note without any yields one, empty."""
    headings = note.outline.headings
    kinds = note.outline.kinds
    path: list[tuple[int, str]] = []
    start, body = note.body_line, note.body_line
    found = False
    for heading in [*headings, None]:
        end = heading.line if heading else len(kinds)
        has_body = any(kinds[body:end])
        # A heading above deeper headings lives on in their paths; a lone one is kept.
        is_leaf = bool(path) and (heading is None or heading.level <= path[-1][0])
        if has_body or is_leaf:
            found = True
            yield _Section(tuple(text for _, text in path if text), start, end)
        if heading:
            while path and path[-1][0] >= heading.level:
                path.pop()
            path.append((heading.level, heading.text))
            start, body = heading.line, heading.last_line + 1
    if not found:
        last_line = max(len(kinds) - 1, 0)
        yield _Section((), last_line, last_line)


class _Cutter:
    """Cuts the sections of one note; the parameters are those of `chunk_note`."""

    def __init__(
        self,
        note: Note,
        size: int,
        overlap: int,
        measure: Measure,
        measure_all: MeasureAll | None,
    ) -> None:
        self.lines, self.found = note.lines, note.outline
        self.size, self.overlap = size, overlap
        # A long section that is one block, and one sentence, is measured as each of the three.
        self.measure = lru_cache(_LAST_MEASURED)(measure)
        self.measure_all = measure_all or (lambda texts: [*map(measure, texts)])
        self.problems: dict[str, None] = {}
        self._left = limits.MOST_PIECES

    def cut(self, section: _Section) -> Iterator[tuple[str, int, int]]:
        """Yield the text, first line and last line (from 0) of each chunk of a section."""
        kinds = self.found.kinds
        first, last = section.first, section.last
        while first < last and kinds[first] == Kind.BLANK:
            first += 1
        while last > first and kinds[last - 1] == Kind.BLANK:
            last -= 1
        text = "\n".join(self.lines[first:last])
        # No tokenizer makes more tokens than bytes; most sections need no measuring at all.
        if len(text) * _BYTES <= self.size or self.measure(text) <= self.size:
            yield text, first, max(first, last - 1)
            return
        line, at = first, 0  # of where the last chunk began
        for start, end in self._pack(text, self._pieces(first, last, text)):
            end = start + len(text[start:end].rstrip())
            # The indentation of a line is kept; the space between two sentences of one is not.
            in_line = start > 0 and text[start - 1] != "\n"
            start = end - len(text[start:end].lstrip(" \t\u3000\n" if in_line else "\n"))
            if start < end:
                line, at = line + text.count("\n", at, start), start
                yield text[start:end], line, line + text.count("\n", start, end - 1)
        self.measure.cache_clear()  # the section may be the whole note

    # -- pieces: blocks, or parts of blocks too large ------------------------------------

    def _pieces(self, first: int, last: int, text: str) -> Iterator[_Piece]:
        """Cut a section into pieces that may be parted.

        `text` is that of the lines from `first` to before `last`.
        """
        for start, end, solid, cost in self._measured(text, self._blocks(first, last, text)):
            if self._left <= 0:
                yield from self._remainder(text, start, len(text))
                return
            if cost <= self.size or (solid and end - start <= limits.LARGEST_BLOCK):
                self._left -= 1
                yield _Piece(start, end, cost, solid)
            else:
                if solid:
                    self.problems[_LARGE_BLOCK] = None
                yield from self._sentences(text, start, end)

    def _blocks(self, first: int, last: int, text: str) -> Iterator[tuple[int, int, bool]]:
        """Yield the start and end of each block, and whether it is a fence or table."""
        kinds = self.found.kinds
        number, start = first, 0
        while number < last:
            kind, begin = kinds[number], number
            solid = kind in (Kind.CODE, Kind.TABLE)
            if kind == Kind.CODE:  # two fences may follow each other without a blank line
                number = self.found.fences[begin] + 1
            while number < last and (
                kinds[number] == Kind.TABLE
                if kind == Kind.TABLE
                else not solid and kinds[number] in (Kind.TEXT, Kind.HEADING)
            ):
                number += 1
            while number < last and kinds[number] == Kind.BLANK:
                number += 1
            end = start + sum(map(len, self.lines[begin:number])) + number - begin
            yield start, min(end, len(text)), solid
            start = end

    def _sentences(self, text: str, start: int, end: int) -> Iterator[_Piece]:
        spans = iter_sentence_spans(text[start:end])
        moved = ((start + left, start + right, False) for left, right in spans)
        for left, right, _, cost in self._measured(text, moved):
            if self._left <= 0:
                yield from self._remainder(text, left, end)
                return
            self._left -= 1
            if cost <= self.size:
                yield _Piece(left, right, cost, False)
            else:
                yield from self._halves(text, left, right, cost)

    def _remainder(self, text: str, start: int, end: int) -> Iterator[_Piece]:
        """Cut what is left when there were too many pieces; sentences are looked for no more."""
        self.problems[_MANY_PIECES] = None
        reach = _CHARACTERS * self.size
        while start < end:
            space = text.rfind(" ", start + reach // 2, start + reach) + 1
            middle = min(space or start + reach, end)
            for piece in self._halves(text, start, middle, self.measure(text[start:middle])):
                yield piece._replace(atomic=True)
            start = middle

    def _halves(self, text: str, start: int, end: int, cost: int) -> Iterator[_Piece]:
        """Cut a sentence without end."""
        stack = [(start, end, cost)]
        while stack:
            a, b, cost = stack.pop()
            if cost <= self.size or b - a < 2:
                yield _Piece(a, b, cost, False)
                continue
            middle = (a + b) // 2
            space = text.rfind(" ", a + 1, middle) + 1  # one near the middle
            cut = space if space > a + (b - a) // 4 else middle
            stack += [
                (cut, b, self.measure(text[cut:b])),
                (a, cut, self.measure(text[a:cut])),
            ]

    def _measured(
        self, text: str, spans: Iterable[tuple[int, int, bool]]
    ) -> Iterator[tuple[int, int, bool, int]]:
        """Yield spans with their cost; some at a time are measured together."""
        batch: list[tuple[int, int, bool]] = []
        length = 0
        for span in spans:
            batch.append(span)
            length += span[1] - span[0]
            if len(batch) == _MOST_TOGETHER or length >= _LONGEST_TOGETHER:
                yield from self._with_costs(text, batch)
                batch, length = [], 0
        yield from self._with_costs(text, batch)

    def _with_costs(
        self, text: str, spans: list[tuple[int, int, bool]]
    ) -> Iterator[tuple[int, int, bool, int]]:
        costs = self._costs([text[start:end] for start, end, _ in spans])
        for (start, end, solid), cost in zip(spans, costs, strict=True):
            yield start, end, solid, cost

    def _costs(self, texts: list[str]) -> Sequence[int]:
        return self.measure_all(texts) if len(texts) > 1 else [*map(self.measure, texts)]

    # -- chunks: neighbouring pieces -----------------------------------------------------

    def _pack(self, text: str, pieces: Iterable[_Piece]) -> Iterator[tuple[int, int]]:
        """Join neighbouring pieces while they fit; yield the (start, end) of each chunk."""
        start = cost = 0
        # Each of the costs that make up `cost` was rounded; near the limit only measuring tells.
        rounded = 0
        previous: _Piece | None = None
        for piece in pieces:
            if previous is None:
                start = piece.start
            cost, rounded = cost + piece.cost, rounded + 1
            if previous and cost + rounded / 2 > self.size:
                cost, rounded = self.measure(text[start : piece.end]), 1
            if previous and cost > self.size:
                yield start, piece.start
                room = min(self.overlap, self.size - piece.cost)
                start, cost = piece.start, piece.cost
                if not previous.atomic and room > 0:
                    left = self._overlap_start(text, previous, room)
                    with_overlap = self.measure(text[left : piece.end])
                    if with_overlap <= self.size:
                        start, cost = left, with_overlap
            previous = piece
        if previous:
            yield start, previous.end

    def _overlap_start(self, text: str, piece: _Piece, room: int) -> int:
        """Return where the last sentences of `piece` that cost at most `room` begin."""
        spans = sentence_spans(text[piece.start : piece.end])

        def fits(count: int) -> bool:
            start, _ = spans[-count]
            return self.measure(text[piece.start + start : piece.end]) <= room

        fitting, reach = 0, 1
        while reach <= len(spans) and fits(reach):
            fitting, reach = reach, 2 * reach
        # The answer is below `reach`: twice as many as fit are too many, or more than there are.
        counts = range(fitting + 1, min(reach, len(spans) + 1))
        fitting += bisect_left(counts, True, key=lambda count: not fits(count))
        return piece.start + spans[-fitting][0] if fitting else piece.end
