"""Lines of notes that hold a text exactly as it is written, or a task, read from the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple
from unicodedata import normalize

from rag.app.index_state import check_vaults
from rag.app.notes import read_lines
from rag.app.snapshot import Snapshot
from rag.exceptions import RAGError
from rag.index.note_rows import NoteRow
from rag.search.filter_listing import newest_notes
from rag.search.ordering import MODIFIED, TITLE, check_order, ordered_notes
from rag.search.results import QueryFilters
from rag.search.understanding.query_understanding import understand

_TASK = r"\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+\[{}\](?:\s|$)"
_TASKS = {"open": re.compile(_TASK.format(" ")), "done": re.compile(_TASK.format("[xX]"))}
Test = Callable[[str], object]


class MatchingLines(NamedTuple):
    """A note with all of its lines, and the numbers, from 1, of those that were sought."""

    row: NoteRow
    lines: list[str]
    numbers: list[int]


def holds_text(text: str) -> Test:
    """Return the test of a line that holds a text, in any case."""
    wanted = _form(text)
    return lambda line: wanted in _form(line)


def is_task(state: str) -> Test:
    """Return the test of a line that is a task.

    :param state: `open` or `done`.
    """
    return _TASKS[state].match


def matching_lines(
    snapshot: Snapshot, test: Test, filters: QueryFilters | None, order: str = ""
) -> Iterator[MatchingLines]:
    """Yield the notes that filters let through and that have matching lines, newest first.

    Every such note is read when its turn comes; a file that cannot be is passed over.

    :param order: of the notes; see `rag.search.ordering`.
    :raises UsageError: for a vault that is not in the index, or no such order.
    """
    check_order(order)
    check_vaults((filters or QueryFilters()).vaults, snapshot.state.roots)
    store = snapshot.store
    with store.pinned(), snapshot.manifest() as manifest:
        understood = replace(understand(store, "", filters, True), lists=True, order=order)
        ids = newest_notes(store, understood, understood.filters, max(1, manifest.rows()))
        if order in (MODIFIED, TITLE):
            ids = ordered_notes(manifest, ids, order)
        places = {name[4]: name[:2] for name in manifest.names()}
    for identity in ids:
        note = snapshot.note(*places[identity]) if identity in places else None
        with suppress(RAGError):
            lines = read_lines(note) if note else []
            numbers = [number for number, line in enumerate(lines, 1) if test(line)]
            if note and numbers:
                yield MatchingLines(note.row, lines, numbers)


def _form(text: str) -> str:
    return normalize("NFC", text).casefold()
