"""Lines of notes beside a search: those around a hit, and those that hold a text exactly as it is
written, or a task."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from rag.app.index_state import check_vaults
from rag.app.notes import read_lines
from rag.exceptions import RAGError
from rag.search.components.note_ranker import newest_chunks
from rag.search.components.query_analyzer import understand
from rag.search.filters import MODIFIED, TITLE, check_order, ordered_notes
from rag.search.results import Excerpt, SearchResult

if TYPE_CHECKING:
    from rag.app.workspace import Workspace
    from rag.index.manifest import NoteRow
    from rag.search.results import QueryFilters

_TASK = r"\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+\[{}\](?:\s|$)"
_TASKS = {"open": re.compile(_TASK.format(" ")), "done": re.compile(_TASK.format("[xX]"))}
Test = Callable[[str], object]


def own_lines(result: SearchResult) -> list[str]:
    """Return the lines of a result's chunk, without those that it repeats from further up."""
    return result.content.split("\n")[result.repeated :]


def line_text(result: SearchResult) -> str:
    """Return the line that a result points at."""
    lines = own_lines(result)
    at = result.line - result.line_start
    return lines[at] if 0 <= at < len(lines) else lines[0]


def excerpt_around(snapshot: Workspace, result: SearchResult, around: int) -> Excerpt:
    """Return so many lines before and after the matching one: those of the file where it is as it
    was indexed, else those of the result's chunk."""
    lines, first, note = list[str](), 1, snapshot.note(result.vault, result.file_path)
    with suppress(OSError, RAGError):
        if note:
            now, then = note.file.stat(), note.row
            if (now.st_size, now.st_mtime_ns) == (then.size, then.mtime_ns):
                lines = read_lines(note, snapshot.config)
    if not lines:
        lines, first = own_lines(result), result.line_start
    at = max(0, result.line - first)  # a property stands above the chunk
    start = max(0, at - around)
    return Excerpt(first + start, lines[start : at + around + 1])


class MatchingLines(NamedTuple):
    """A note with all of its lines, and the numbers, from 1, of those that were sought."""

    row: NoteRow
    lines: list[str]
    numbers: list[int]


def holds_text(text: str) -> Test:
    """Return the test of a line that holds a text, in any case."""
    wanted = _folded(text)
    return lambda line: wanted in _folded(line)


def is_task(state: str) -> Test:
    """Return the test of a line that is an `open` or a `done` task."""
    return _TASKS[state].match


def matching_lines(
    snapshot: Workspace, test: Test, filters: QueryFilters | None, order: str = ""
) -> Iterator[MatchingLines]:
    """Yield the notes that filters let through and that have matching lines, newest first.

    Every such note is read when its turn comes; a file that cannot be is passed over.
    """
    check_order(order)
    vaults = filters.vaults if filters else None
    check_vaults(snapshot.config, vaults, snapshot.state.roots)
    store = snapshot.store
    with store.pinned(), snapshot.manifest() as manifest:
        understood = replace(understand(store, "", filters, True), lists=True, order=order)
        newest = newest_chunks(store, understood, max(1, manifest.rows()))
        ids = [chunk.note for chunk in newest]
        if order in (MODIFIED, TITLE):
            ids = ordered_notes(manifest, ids, order)
        places = {name[4]: name[:2] for name in manifest.names()}
    for identity in ids:
        note = snapshot.note(*places[identity]) if identity in places else None
        with suppress(RAGError):
            lines = read_lines(note, snapshot.config) if note else []
            numbers = [number for number, line in enumerate(lines, 1) if test(line)]
            if note and numbers:
                yield MatchingLines(note.row, lines, numbers)


def _folded(text: str) -> str:
    return normalize("NFC", text).casefold()
