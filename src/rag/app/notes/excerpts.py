"""The lines around a hit, for those who want more than a snippet and less than a note."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.app.notes.hits import own_lines
from rag.exceptions import RAGError

if TYPE_CHECKING:
    from rag.app.snapshot import Snapshot
    from rag.search.results import SearchResult


@dataclass(frozen=True)
class Excerpt:
    """Lines of a note, of which `first` is the number of the first."""

    first: int
    lines: list[str]


def read_excerpts(
    snapshot: Snapshot, results: Sequence[SearchResult], around: int
) -> list[Excerpt]:
    """Return the lines around each result.

    They are those of the file where it is as it was indexed, else those of the result's chunk.

    :param around: how many lines before the matching one, and how many after it.
    """
    return [_excerpt(snapshot, result, around) for result in results]


def _excerpt(snapshot: Snapshot, result: SearchResult, around: int) -> Excerpt:
    lines, first = _unchanged_lines(snapshot, result), 1
    if not lines:
        lines, first = own_lines(result), result.line_start
    at = max(0, result.line - first)  # a property stands above the chunk
    start = max(0, at - around)
    return Excerpt(first + start, lines[start : at + around + 1])


def _unchanged_lines(snapshot: Snapshot, result: SearchResult) -> list[str]:
    """Return the lines of a result's file; none when it was changed since, or is not here."""
    from rag.app.notes import read_lines

    found = snapshot.note(result.vault, result.file_path)
    with suppress(OSError, RAGError):
        if found:
            now, then = found.file.stat(), found.row
            if (now.st_size, now.st_mtime_ns) == (then.size, then.mtime_ns):
                return read_lines(found)
    return []
