"""Where a section of a note is cut into chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rag.vault import limits
from rag.vault.markdown import Frame, Kind, frame_of
from rag.vault.note import Note
from rag.vault.sentences import iter_sentence_spans, sentence_spans

Measure = Callable[[str], int]

_ROUNDED = 2  # what rounding the costs of the parts of a text may come to
_BYTES = 4  # of a character at most
_CHARACTERS = 4  # of a token, about


class Section(NamedTuple):
    """The lines of a note below a heading, counted from 0, with the path of headings above them."""

    heading: tuple[str, ...]
    first: int
    last: int  # exclusive


class _Piece(NamedTuple):
    start: int
    end: int
    cost: int
    atomic: bool
    large: Kind = Kind.BLANK  # of a fence or table that must be cut, which it is


_NO_FRAME = Frame("", "", 0, 0)


class _Part(NamedTuple):
    """A slice of a section, and what is repeated before and behind it."""

    start: int
    end: int
    head: str = ""
    tail: str = ""


class SectionCutter:
    """Cuts the sections of one note; the parameters are those of `rag.vault.chunk_note`."""

    def __init__(self, note: Note, size: int, overlap: int, measure: Measure) -> None:
        self.lines, self.outline = note.lines, note.outline
        self.size, self.overlap, self.measure = size, overlap, measure
        self._sentences_left = limits.MOST_SENTENCES

    def cut(self, section: Section) -> Iterator[tuple[str, int, int, int]]:
        """Yield of each chunk of a section its text, first and last line (from 0), and how many
        lines at the head of its text are repeated."""
        kinds = self.outline.kinds
        first, last = section.first, section.last
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

    # -- pieces: blocks, or parts of blocks too large ------------------------------------

    def _pieces(self, first: int, last: int, text: str) -> Iterator[_Piece]:
        """Cut a section into pieces that may be parted.

        `text` is that of the lines from `first` to before `last`.
        """
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
        for left, right in iter_sentence_spans(text[start:end]):
            if not self._sentences_left:
                yield from self._steps(text, start + left, end)
                return
            self._sentences_left -= 1
            yield from self._halves(text, start + left, start + right)

    def _steps(self, text: str, start: int, end: int) -> Iterator[_Piece]:
        """Yield parts of about the size of a chunk, cut at spaces: sentences are too many."""
        reach = _CHARACTERS * self.size
        while start < end:
            space = text.rfind(" ", start + reach // 2, start + reach) + 1
            middle = min(space or start + reach, end)
            for piece in self._halves(text, start, middle):
                yield piece._replace(atomic=True)
            start = middle

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

    # -- chunks: neighbouring pieces -----------------------------------------------------

    def _pack(
        self, text: str, pieces: Iterable[_Piece], frame: Frame = _NO_FRAME
    ) -> Iterator[_Part]:
        """Join neighbouring pieces while they fit into a chunk, within a frame.

        A fence or table that is too large is parted into chunks of its own.
        """
        start = cost = 0
        # Each of the costs that make up `cost` was rounded; near the limit only measuring tells.
        rounded = 0
        around = self.measure(frame.around(""))
        previous: _Piece | None = None
        for piece in pieces:
            if piece.large:
                if previous:
                    yield _Part(start, piece.start)
                previous = None
                yield from self._parts(text, piece)
                continue
            if previous is None:
                start, cost, rounded = piece.start, around, 1
            cost, rounded = cost + piece.cost, rounded + 1
            if previous and cost + rounded / 2 > self.size:
                cost, rounded = self.measure(frame.around(text[start : piece.end])), 1
            if previous and cost > self.size:
                yield _Part(start, piece.start)
                room = min(self.overlap, self.size - piece.cost)
                start, cost = piece.start, around + piece.cost
                if not previous.atomic and room > 0:
                    left = self._overlap_start(text, previous, room)
                    with_overlap = self.measure(text[left : piece.end])
                    if with_overlap <= self.size:
                        start, cost = left, with_overlap
            previous = piece
        if previous:
            yield _Part(start, previous.end)

    def _parts(self, text: str, block: _Piece) -> Iterator[_Part]:
        """Cut a fence or table between its lines; each part is framed as the whole was."""
        frame = frame_of(text, block.start, block.end, block.large)
        around = self.measure(frame.around(""))
        if around > self.size // 2:  # there would be little room for anything else
            frame, around = Frame("", "", block.start, block.end), 0
        for start, end, *_ in self._pack(text, self._rows(text, frame, around), frame):
            is_first, is_last = start == frame.first, end == frame.last
            yield _Part(
                block.start if is_first else start,
                block.end if is_last else end,
                "" if is_first else frame.head,
                "" if is_last else frame.tail,
            )

    def _rows(self, text: str, frame: Frame, around: int) -> Iterator[_Piece]:
        """Yield the lines within a frame, and parts of those that are too long for a chunk."""
        start, last = frame.first, frame.last
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
        for start, _ in reversed(sentence_spans(text[piece.start : piece.end])):
            if self.measure(text[piece.start + start : piece.end]) > room:
                break
            overlap = piece.start + start
        return overlap
