"""Readers of notes, by the suffix of their files."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Protocol

from rag.vault.note import Note, decode, read_note, split_lines


class NoteReader(Protocol):
    """What a file type needs: a note of its bytes, and the lines that are shown of it."""

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds; see `rag.vault.note.read_note`."""

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines of a file, as the lines of its chunks are counted."""


class MarkdownReader:
    """Notes in Markdown, with YAML front matter."""

    def read(
        self, raw: bytes, vault: str, path: str, mtime: float, birthtime: float | None = None
    ) -> Note:
        """Return the note that a file holds."""
        return read_note(raw, vault, path, mtime, birthtime)

    def lines(self, raw: bytes) -> list[str]:
        """Return the lines of a file."""
        return split_lines(decode(raw, []))


# A further file type is an entry here. Suffixes are in lower case.
READERS: dict[str, NoteReader] = {".md": MarkdownReader()}


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
