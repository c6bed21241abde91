"""Chunks: the runs of a section that are indexed, ranked and quoted.

A chunk is always a contiguous slice of its section, so its first and last line are exact. A
section that is too long is cut between paragraphs, else between lines, else between
sentences, and inside a word only where nothing else is left; never inside a fence or a table.
"""

from __future__ import annotations

import json
import uuid
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha1
from itertools import accumulate
from typing import NamedTuple

from rag.vault.markdown import Kind, Outline
from rag.vault.note import Note
from rag.vault.sentences import sentence_spans

# Names every chunk id; another value would make every id another one.
_NAMESPACE = uuid.UUID("a4ccfe9e-6b4e-5d9e-8a44-0a3fd9c37c1b")

Measure = Callable[[str], int]

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


def chunk_note(note: Note, size: int, overlap: int, measure: Measure) -> list[Chunk]:
    """Cut a note into chunks.

    :param size: the largest cost of a chunk, in the unit of `measure`; only a single fence or
        table may exceed it.
    :param overlap: how much of a chunk's last sentences the next chunk of the same section
        repeats at most.
    :param measure: what a text costs, usually in tokens.
    :raises ValueError: when `size` is not positive or `overlap` not within [0, size).
    """
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError(f"chunk size {size} and overlap {overlap}: need 0 <= overlap < size")
    chunks: list[Chunk] = []
    ordinals: Counter[tuple[str, ...]] = Counter()
    for number, section in enumerate(_sections(note)):
        for text, first, last in _cut(note, section, size, overlap, measure):
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


def _cut(
    note: Note, section: _Section, size: int, overlap: int, measure: Measure
) -> Iterator[tuple[str, int, int]]:
    """Yield the text, first line and last line (from 0) of each chunk of a section."""
    kinds = note.outline.kinds
    first, last = section.first, section.last
    while first < last and kinds[first] == Kind.BLANK:
        first += 1
    while last > first and kinds[last - 1] == Kind.BLANK:
        last -= 1
    lines = note.lines[first:last]
    text = "\n".join(lines)
    # No tokenizer makes more tokens than bytes; most sections need no measuring at all.
    if len(text) * 4 <= size or measure(text) <= size:
        yield text, first, max(first, last - 1)
        return
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    pieces = list(_pieces(note.outline, first, text, lines, starts, size, measure))
    for start, end in _pack(text, pieces, size, overlap, measure):
        end = start + len(text[start:end].rstrip())
        # The indentation of a line is kept; the space between two sentences of one is not.
        in_line = start > 0 and text[start - 1] != "\n"
        start = end - len(text[start:end].lstrip(" \t\u3000\n" if in_line else "\n"))
        if start < end:
            yield (
                text[start:end],
                first + bisect_right(starts, start) - 1,
                first + bisect_right(starts, end - 1) - 1,
            )


def _pieces(
    found: Outline,
    first: int,
    text: str,
    lines: list[str],
    starts: list[int],
    size: int,
    measure: Measure,
) -> Iterator[_Piece]:
    """Cut a section into pieces that may be parted: blocks, or parts of blocks too large.

    `lines`, and where they start in `text`, are those of the file from line `first`.
    """
    kinds = found.kinds[first : first + len(lines)]
    number = 0
    while number < len(lines):
        kind, begin = kinds[number], number
        solid = kind in (Kind.CODE, Kind.TABLE)
        if kind == Kind.CODE:  # two fences may follow each other without a blank line
            number = found.fences[first + begin] + 1 - first
        while number < len(lines) and (
            kinds[number] == Kind.TABLE
            if kind == Kind.TABLE
            else not solid and kinds[number] in (Kind.TEXT, Kind.HEADING)
        ):
            number += 1
        while number < len(lines) and kinds[number] == Kind.BLANK:
            number += 1
        start, end = starts[begin], min(starts[number], len(text))
        cost = measure(text[start:end])
        if solid or cost <= size:
            yield _Piece(start, end, cost, solid)
        else:
            yield from _sentences(text, start, end, size, measure)


def _sentences(text: str, start: int, end: int, size: int, measure: Measure) -> Iterator[_Piece]:
    for left, right in sentence_spans(text[start:end]):
        stack = [(start + left, start + right)]
        while stack:
            a, b = stack.pop()
            cost = measure(text[a:b])
            if cost <= size or b - a < 2:
                yield _Piece(a, b, cost, False)
                continue
            # A sentence without end: halve it, at a space when one is near the middle.
            middle = (a + b) // 2
            space = text.rfind(" ", a + 1, middle) + 1
            cut = space if space > a + (b - a) // 4 else middle
            stack += [(cut, b), (a, cut)]


def _pack(
    text: str, pieces: list[_Piece], size: int, overlap: int, measure: Measure
) -> Iterator[tuple[int, int]]:
    """Join neighbouring pieces while they fit; yield the (start, end) of each chunk."""
    start, cost = pieces[0].start, 0
    # Each of the costs that make up `cost` was rounded; near the limit only measuring tells.
    rounded = 0
    previous: _Piece | None = None
    for piece in pieces:
        cost, rounded = cost + piece.cost, rounded + 1
        if previous and cost + rounded / 2 > size:
            cost, rounded = measure(text[start : piece.end]), 1
        if previous and cost > size:
            yield start, piece.start
            room = min(overlap, size - piece.cost)
            start, cost = piece.start, piece.cost
            if not previous.atomic and room > 0:
                left = _overlap_start(text, previous, room, measure)
                with_overlap = measure(text[left : piece.end])
                if with_overlap <= size:
                    start, cost = left, with_overlap
        previous = piece
    yield start, pieces[-1].end


def _overlap_start(text: str, piece: _Piece, room: int, measure: Measure) -> int:
    """Return where the last sentences of `piece` that cost at most `room` begin."""
    start = piece.end
    for left, _ in reversed(sentence_spans(text[piece.start : piece.end])):
        if measure(text[piece.start + left : piece.end]) > room:
            break
        start = piece.start + left
    return start
