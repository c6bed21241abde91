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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import Any, NamedTuple

from rag.vault import limits
from rag.vault.note import Note
from rag.vault.section_cutting import Measure, Section, SectionCutter

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
    cutter = SectionCutter(note, size, overlap, measure)
    cuts = (
        (number, section.heading, cut)
        for number, section in enumerate(_sections(note))
        for cut in cutter.cut(section)
    )
    for number, heading, (text, first, last, repeated) in cuts:
        if len(chunks) == limits.MOST_CHUNKS:
            note.problems.append(limits.too_many("chunks", limits.MOST_CHUNKS))
            break
        # JSON, since a heading may hold any separator one could think of.
        identity = _named(json.dumps([note.vault, note.path, *heading, ordinals[heading]]))
        ordinals[heading] += 1
        lines = first + 1, last + 1
        chunks.append(Chunk(identity, heading, text, *lines, len(chunks), number, repeated))
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


def _sections(note: Note) -> Iterator[Section]:
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
            yield Section(tuple(text for _, text in path if text), start, end)
        if heading:
            while path and path[-1][0] >= heading.level:
                path.pop()
            path.append((heading.level, heading.text))
            start, body = heading.line, heading.last_line + 1
    if not found:
        last_line = max(len(kinds) - 1, 0)
        yield Section((), last_line, last_line)


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


def merged_text(chunks: Iterable[ChunkLines]) -> str:
    """Return the text of chunks of one note, in their order in it, without what two of them hold.

    Where lines of the note lie between two of them, one empty line does.
    """
    merged: list[str] = []
    after = 0  # the number of the line that would be next
    tail: list[str] = []
    for chunk in chunks:
        if not merged:
            merged, after = [*chunk.head], chunk.first
        if chunk.first > after:
            merged.append("")
        for number, line in enumerate(chunk.own, chunk.first):
            if number >= after:
                merged.append(line)
            else:
                at = number - after  # counted from the end
                merged[at] = joined_line(merged[at], line)
        after, tail = max(after, chunk.last + 1), chunk.tail
    return "\n".join([*merged, *tail])


def joined_line(known: str, more: str) -> str:
    """Join two parts of a line, which may overlap: long lines are cut between sentences."""
    if not known or more.startswith(known):
        return more
    if more in known:
        return known
    most = min(len(known), len(more))
    shared = next((n for n in range(most, 0, -1) if _is_shared(known, more[:n])), 0)
    gap = "" if shared or not (known + more).isascii() else " "
    return f"{known}{gap}{more[shared:]}"


def _is_shared(known: str, beginning: str) -> bool:
    """Return whether a part of a line ends with a sentence, or with words, that another begins
    with."""
    before = known[-len(beginning) - 1 : -len(beginning)]
    return known.endswith(beginning) and (not before or before.isspace() or before in _ENDS)
