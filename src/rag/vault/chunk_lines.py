"""The lines of a note, as far as chunks of it hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

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
