"""Chunks: the runs of a section that are indexed, ranked and quoted.

A chunk holds a contiguous slice of its section, so its first and last line are exact. A section
that is too long is cut between paragraphs, else between lines, else between sentences, and inside a
word only where nothing else is left. A fence or table is cut only where it is too long for a chunk
of its own: between its lines or rows, and each part repeats its first lines, so that it says what
the language or the columns are.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rag.vault import limits
from rag.vault.markdown import PAGE_LEVEL, Kind, closes_fence
from rag.vault.note import Note
from rag.vault.sentences import sentence_spans

Measure = Callable[[str], int]

# Names every chunk id; another value would make every id another one.
_NAMESPACE = uuid.UUID("a4ccfe9e-6b4e-5d9e-8a44-0a3fd9c37c1b")

# Part of the index's fingerprint: raise it whenever the same note would give other chunks.
CHUNKER_VERSION = 6


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of one section.

    `heading` is the path of headings above it, outermost first. `line_start` and `line_end`
    count from 1 in the file, both inclusive. `text` is the file's own text of that span
    (part of a line where a single line had to be cut). `position` counts the chunks and
    `section` the sections of the note, from 0.

    A part of a long fence or table begins with `repeated` lines more, those at the head of the
    whole; a part of a fence that does not reach its end has the closing line below its own lines.
    """

    id: str
    heading: tuple[str, ...]
    text: str
    line_start: int
    line_end: int
    position: int
    section: int
    repeated: int = 0


def chunk_note(note: Note, size: int, overlap: int, measure: Measure) -> list[Chunk]:
    """Cut a note into chunks; what goes beyond the bounds of a note is reported in its `problems`.

    :param size: the largest cost of a chunk, in the unit of `measure`; only a single row of a table
        or line of a fence may exceed it, and comes to no more than twice as much with what is
        repeated.
    :param overlap: how much of a chunk's last sentences the next chunk of the same section
        repeats at most.
    :param measure: what a text costs, usually in tokens; never less than a part of it.
    :raises ValueError: when `size` is not positive or `overlap` not within [0, size).
    """
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError(f"chunk size {size} and overlap {overlap}: need 0 <= overlap < size")
    chunks: list[Chunk] = []
    ordinals: Counter[tuple[str, ...]] = Counter()
    cutter = _Cutter(note, size, overlap, measure)
    for number, (heading, first, last) in enumerate(_sections(note)):
        for text, line_start, line_end, repeated in cutter.cut(first, last):
            if len(chunks) == limits.MOST_CHUNKS:
                note.problems.append(limits.too_many("chunks", limits.MOST_CHUNKS))
                return chunks
            # JSON, since a heading may hold any separator one could think of.
            name = json.dumps([note.vault, note.path, *heading, ordinals[heading]])
            ordinals[heading] += 1
            lines = line_start + 1, line_end + 1
            key = str(uuid.uuid5(_NAMESPACE, name))
            chunks.append(Chunk(key, heading, text, *lines, len(chunks), number, repeated))
    return chunks


def note_id(vault: str, path: str) -> str:
    """Return the UUID that stands for a note, whatever it holds."""
    return str(uuid.uuid5(_NAMESPACE, f"{vault}\x1f{path}"))


def _sections(note: Note) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield the sections that hold text of their own: the path of headings, the first line and the
    one behind the last, from 0. A note without any yields one, empty."""
    kinds = note.outline.kinds
    path: list[tuple[int, str]] = []
    start, body = note.body_line, note.body_line
    is_empty = True
    for heading in [*note.outline.headings, None]:
        end = heading.line if heading else len(kinds)
        has_body = any(kinds[body:end])
        # A heading above deeper headings lives on in their paths; a lone one is kept.
        is_leaf = bool(path) and (heading is None or heading.level <= path[-1][0])
        is_leaf = is_leaf and path[-1][0] != PAGE_LEVEL  # a page may be empty
        if has_body or is_leaf:
            is_empty = False
            yield tuple(text for _, text in path if text), start, end
        if heading:
            while path and path[-1][0] >= heading.level:
                path.pop()
            path.append((heading.level, heading.text))
            start, body = heading.line, heading.last_line + 1
            start = body if heading.level == PAGE_LEVEL else start
    if is_empty:
        last_line = max(len(kinds) - 1, 0)
        yield (), last_line, last_line


_HEADER_LINES = {Kind.CODE: 1, Kind.TABLE: 2}  # a fence's language; names of columns and the rule
_ROUNDED = 2  # what rounding the costs of the parts of a text may come to
_BYTES = 4  # of a character at most


class _Piece(NamedTuple):
    start: int
    end: int
    cost: int
    atomic: bool
    large: Kind = Kind.BLANK  # of a fence or table that must be cut, which it is


_Part = tuple[int, int, str, str]  # a slice of a section, and what is repeated around it


class _Cutter:
    """Cuts the sections of one note; the parameters are those of `chunk_note`."""

    def __init__(self, note: Note, size: int, overlap: int, measure: Measure) -> None:
        self.lines, self.outline = note.lines, note.outline
        self.size, self.overlap, self.measure = size, overlap, measure
        self._sentences_left = limits.MOST_SENTENCES

    def cut(self, first: int, last: int) -> Iterator[tuple[str, int, int, int]]:
        """Yield of each chunk of a section its text, first and last line (from 0), and how many
        lines at the head of its text are repeated."""
        kinds = self.outline.kinds
        while first < last and kinds[first] == Kind.BLANK:
            first += 1
        while last > first and kinds[last - 1] == Kind.BLANK:
            last -= 1
        text = "\n".join(self.lines[first:last])
        # No tokenizer makes more tokens than bytes; most sections need no measuring at all.
        if len(text) * _BYTES <= self.size or self.measure(text) <= self.size:
            yield text, first, max(first, last - 1), 0
            return
        line, at = first, 0  # of where the last chunk began
        for start, end, head, tail in self._pack(text, self._pieces(first, last, text)):
            end = start + len(text[start:end].rstrip())
            # The indentation of a line is kept; the space between two sentences of one is not.
            in_line = start > 0 and text[start - 1] != "\n"
            start = end - len(text[start:end].lstrip(" \t\u3000\n" if in_line else "\n"))
            if start < end:
                line, at = line + text.count("\n", at, start), start
                last_line = line + text.count("\n", start, end - 1)
                yield f"{head}{text[start:end]}{tail}", line, last_line, head.count("\n")

    def _pieces(self, first: int, last: int, text: str) -> Iterator[_Piece]:
        """Cut a section, the text of the lines from `first` to before `last`, into pieces that may
        be parted: blocks, or sentences of blocks that are too large."""
        for start, end, solid in self._blocks(first, last, text):
            cost = self.measure(text[start:end])
            if cost <= self.size or solid:
                large = solid if cost > self.size else Kind.BLANK
                yield _Piece(start, end, cost, bool(solid), large)
            else:
                yield from self._sentences(text, start, end)

    def _blocks(self, first: int, last: int, text: str) -> Iterator[tuple[int, int, Kind]]:
        """Yield the start and end of each block, and its kind if it is a fence or table, else
        `Kind.BLANK`."""
        kinds = self.outline.kinds
        number, start = first, 0
        while number < last:
            kind, begin = kinds[number], number
            solid = kind if kind in (Kind.CODE, Kind.TABLE) else Kind.BLANK
            if kind == Kind.CODE:  # two fences may follow each other without a blank line
                number = self.outline.fences[begin] + 1
            else:
                alike = (Kind.TABLE,) if solid else (Kind.TEXT, Kind.HEADING)
                while number < last and kinds[number] in alike:
                    number += 1
            while number < last and kinds[number] == Kind.BLANK:
                number += 1
            end = start + sum(map(len, self.lines[begin:number])) + number - begin
            yield start, min(end, len(text)), solid
            start = end

    def _sentences(self, text: str, start: int, end: int) -> Iterator[_Piece]:
        for left, right in sentence_spans(text[start:end]):
            if not self._sentences_left:  # then at spaces
                yield from self._halves(text, start + left, end)
                return
            self._sentences_left -= 1
            yield from self._halves(text, start + left, start + right)

    def _halves(self, text: str, start: int, end: int) -> Iterator[_Piece]:
        """Yield a sentence, or one without end in parts."""
        stack = [(start, end)]
        while stack:
            a, b = stack.pop()
            cost = self.measure(text[a:b])
            if cost <= self.size or b - a < 2:
                yield _Piece(a, b, cost, False)
                continue
            middle = (a + b) // 2
            space = text.rfind(" ", a + 1, middle) + 1  # one near the middle
            cut = space if space > a + (b - a) // 4 else middle
            stack += [(cut, b), (a, cut)]

    def _pack(
        self, text: str, pieces: Iterable[_Piece], head: str = "", tail: str = ""
    ) -> Iterator[_Part]:
        """Join neighbouring pieces while they fit into a chunk, between what is repeated around
        them; a fence or table that is too large is parted into chunks of its own."""
        start = cost = 0
        # Each of the costs that make up `cost` was rounded; near the limit only measuring tells.
        rounded = 0
        around = self.measure(head + tail)
        previous: _Piece | None = None
        for piece in pieces:
            if piece.large:
                if previous:
                    yield start, piece.start, "", ""
                previous = None
                yield from self._parts(text, piece)
                continue
            if previous is None:
                start, cost, rounded = piece.start, around, 1
            cost, rounded = cost + piece.cost, rounded + 1
            if previous and cost + rounded / 2 > self.size:
                cost, rounded = self.measure(f"{head}{text[start : piece.end]}{tail}"), 1
            if previous and cost > self.size:
                yield start, piece.start, "", ""
                room = min(self.overlap, self.size - piece.cost)
                start, cost = piece.start, around + piece.cost
                if not previous.atomic and room > 0:
                    left = self._overlap_start(text, previous, room)
                    with_overlap = self.measure(text[left : piece.end])
                    if with_overlap <= self.size:
                        start, cost = left, with_overlap
            previous = piece
        if previous:
            yield start, previous.end, "", ""

    def _parts(self, text: str, block: _Piece) -> Iterator[_Part]:
        """Cut a fence or table between its lines; each part is framed as the whole was, by the
        lines above its rows and the one that closes it."""
        start, end = block.start, block.start + len(text[block.start : block.end].rstrip())
        first, last = start, end  # of its rows
        for _ in range(_HEADER_LINES[block.large]):
            first = text.find("\n", first, end) + 1 or end
        if block.large == Kind.CODE and closes_fence(text[text.rfind("\n", 0, end) + 1 : end]):
            last = max(first, text.rfind("\n", first - 1, end))
        head, tail = text[start:first], text[last:end]
        around = self.measure(head + tail)
        if around > self.size // 2:  # there would be little room for anything else
            head, tail, first, last, around = "", "", block.start, block.end, 0
        for start, end, *_ in self._pack(text, self._rows(text, first, last, around), head, tail):
            is_first, is_last = start == first, end == last
            yield (
                block.start if is_first else start,
                block.end if is_last else end,
                "" if is_first else head,
                "" if is_last else tail,
            )

    def _rows(self, text: str, start: int, last: int, around: int) -> Iterator[_Piece]:
        """Yield the lines of a block, and parts of those that are too long for a chunk."""
        while start < last:
            end = text.find("\n", start, last) + 1 or last
            cost = self.measure(text[start:end])
            if around + cost + _ROUNDED <= 2 * self.size:
                yield _Piece(start, end, cost, atomic=True)
            else:
                for piece in self._sentences(text, start, end):
                    yield piece._replace(atomic=True)
            start = end

    def _overlap_start(self, text: str, piece: _Piece, room: int) -> int:
        """Return where the last sentences of `piece` that cost at most `room` begin."""
        overlap = piece.end
        for start, _ in reversed([*sentence_spans(text[piece.start : piece.end])]):
            if self.measure(text[piece.start + start : piece.end]) > room:
                break
            overlap = piece.start + start
        return overlap


_ENDS = "。．！？」』）】”’"  # a sentence may begin behind one of these without a space


class ChunkLines(NamedTuple):
    """The text of a chunk by lines: `own` are those of the note, of which `first` is the number of
    the first; `head` and `tail` frame a part of a long fence or table, and stand elsewhere in the
    note."""

    first: int
    own: list[str]
    head: list[str]
    tail: list[str]

    @property
    def last(self) -> int:
        """The number of its last own line."""
        return self.first + len(self.own) - 1


def chunk_lines(text: str, meta: Mapping[str, Any]) -> ChunkLines:
    """Return a chunk's text by lines.

    :param meta: its `line_start`, `line_end` and `repeated`, as a `Chunk` has them.
    """
    first, last = int(meta.get("line_start", 1)), int(meta.get("line_end", 1))
    lines, repeated = text.split("\n"), int(meta.get("repeated", 0))
    end = repeated + last - first + 1
    return ChunkLines(first, lines[repeated:end], lines[:repeated], lines[end:])


def joined_lines(chunks: Iterable[ChunkLines]) -> dict[int, str]:
    """Return the lines of a note that chunks of it hold, by their numbers."""
    lines: dict[int, str] = {}
    for chunk in chunks:
        for number, line in enumerate(chunk.own, chunk.first):
            lines[number] = joined_line(lines.get(number, ""), line)
    return lines


def merged_text(chunks: Sequence[ChunkLines]) -> str:
    """Return the text of chunks of one note, in their order in it, without what two of them hold.

    Where lines of the note lie between two of them, one empty line does.
    """
    lines, merged = joined_lines(chunks), [*chunks[0].head]
    for number, line in lines.items():
        is_behind_gap = number > chunks[0].first and number - 1 not in lines
        merged += ["", line] if is_behind_gap else [line]
    return "\n".join([*merged, *chunks[-1].tail])


def joined_line(line: str, more: str) -> str:
    """Join two parts of a line, which may overlap: long lines are cut between sentences."""
    if not line or more.startswith(line):
        return more
    if more in line:
        return line
    most = min(len(line), len(more))
    shared = next((n for n in range(most, 0, -1) if _is_shared(line, more[:n])), 0)
    gap = "" if shared or not (line + more).isascii() else " "
    return f"{line}{gap}{more[shared:]}"


def _is_shared(line: str, beginning: str) -> bool:
    """Return whether a part of a line ends with a sentence, or with words, that another begins
    with."""
    before = line[-len(beginning) - 1 : -len(beginning)]
    return line.endswith(beginning) and (not before or before.isspace() or before in _ENDS)
