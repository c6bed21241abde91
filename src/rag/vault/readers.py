"""Readers of notes, by the suffix of their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Protocol

from rag.vault.note import Note, decode, make_note, read_note, split_lines
from rag.vault.note_dates import FileTimes
from rag.vault.suffixes import BASE, CANVAS, MARKDOWN


class NoteReader(Protocol):
    """What a file type needs: a note of its bytes, and the lines that are shown of it."""

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds; see `rag.vault.note.read_note`."""

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines of a file, as the lines of its chunks are counted."""


class MarkdownReader:
    """Notes in Markdown, with YAML front matter."""

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds."""
        return read_note(raw, vault, path, mtime, birthtime)

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines of a file."""
        return split_lines(decode(raw, []))


class RenderedReader:
    """Files that are no text to read: their notes hold what is to be read of them.

    :param render: returns the lines of a file's text, and adds what is wrong with it to a list.
    """

    def __init__(self, render: Callable[[str, list[str]], list[str]]) -> None:
        self._render = render

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float | None, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds; it is called as the file is."""
        problems: list[str] = []
        lines = self._render(decode(raw, problems), problems)
        return make_note(lines, vault, path, FileTimes(mtime, birthtime), problems)

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines that there are to read of a file."""
        return self._render(decode(raw, []), [])


def _canvas(text: str, problems: list[str]) -> list[str]:
    from rag.vault.formats.canvas import canvas_lines

    return canvas_lines(text, problems)


def _base(text: str, problems: list[str]) -> list[str]:
    from rag.vault.formats.base import base_lines

    return base_lines(text, problems)


# A further file type is an entry here, and its suffix in `suffixes`.
READERS: dict[str, NoteReader] = {
    **dict.fromkeys(MARKDOWN, MarkdownReader()),
    CANVAS: RenderedReader(_canvas),
    BASE: RenderedReader(_base),
}


def reader_of(path: str) -> NoteReader:
    """Return the reader of a file that `is_note`; that of Markdown for any other.

    >>> type(reader_of("work/Rollback.MD")).__name__
    'MarkdownReader'
    """
    return READERS.get(PurePosixPath(path).suffix.lower(), READERS[".md"])


def is_note(name: str) -> bool:
    """Return whether a file of that name is a note.

    >>> is_note("Rollback.md"), is_note(".md"), is_note("Rollback.txt")
    (True, True, False)
    """
    return name.lower().endswith(tuple(READERS))
