"""What notes are called, and which notes link to which: parts of the manifest.

A link is kept as it is written, and resolved when somebody asks, against the notes that are indexed
then: so it follows notes that are renamed, added or deleted. The table `links` holds, for what the
link and every name of its note have in common (`link_key`), the notes with such a link.
"""

from __future__ import annotations

import json
import posixpath
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

from rag.text.tokenizer import name_key, spelling_key
from rag.vault.markdown import MARKDOWN, SUFFIXES

SCHEMA = """
CREATE TABLE names (
    id TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id, key)
) WITHOUT ROWID;
CREATE INDEX names_by_key ON names (key);
CREATE TABLE links (key TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (key, id)) WITHOUT ROWID;
CREATE INDEX links_by_note ON links (id);
"""
_NOTE = "notes.id, vault, path, title, aliases"
_OTHER_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")


# -- which note a link means -----------------------------------------------------------


class NamedNote(NamedTuple):
    """A note and what it is called; `path` is relative to its vault."""

    id: str
    vault: str
    path: str
    title: str
    aliases: tuple[str, ...]


@lru_cache(1 << 14)  # of each link of each note that may lead somewhere
def link_key(name: str) -> str:
    """Return what a link and a name of its note have in common: the last part of either, without
    the suffix of a note, in lower case and without accents."""
    return spelling_key(_bare(name.rstrip("/").rpartition("/")[2]))


def leads_to_a_file(target: str) -> bool:
    """Return whether a link leads to a picture or another file that is no note."""
    return bool(_OTHER_FILE.search(target)) and not target.lower().endswith(SUFFIXES)


def matching_notes(
    target: str, vault: str, folder: str, notes: Sequence[NamedNote]
) -> list[NamedNote]:
    """Return the notes that a link of a note in a folder of a vault leads to: one; several when
    they answer equally; none.

    Notes of its own vault go before others; then a path from the note with the link, one from the
    vault, the end of a path (a file name is one), a title, an alias."""
    own = [note for note in notes if note.vault == vault]
    others = [note for note in notes if note.vault != vault]
    for some, within in ((own, folder), (others, None)):
        for answers in _readings(target, within):
            if matches := [note for note in some if answers(note)]:
                if target.lower().endswith(SUFFIXES):
                    return matches
                # A link that names no suffix means notes in Markdown, where there are some.
                return [m for m in matches if m.path.lower().endswith(MARKDOWN)] or matches
    return []


def _readings(target: str, folder: str | None) -> Iterator[Callable[[NamedNote], bool]]:
    """Yield what tells the notes that a link may mean, the surest first."""
    wanted = name_key(target)
    whole = wanted.lstrip("/")
    if folder is not None:
        path = name_key(posixpath.normpath(posixpath.join(folder, target)))
        if not path.startswith("..") and not target.startswith("/"):
            yield lambda note: path in _paths(note.path)
        if target.startswith("."):  # it is a path from the note, and nothing else
            return
        yield lambda note: whole in _paths(note.path)
    yield lambda note: any(
        path.endswith(f"/{whole}") for path in _paths(f"/{note.vault}/{note.path}")
    )
    yield lambda note: wanted == name_key(note.title)
    yield lambda note: wanted in map(name_key, note.aliases)


def _paths(path: str) -> tuple[str, str]:
    """Return what a path is compared by: with its suffix and without."""
    return name_key(path), name_key(_bare(path))


def _bare(path: str) -> str:
    suffix = next((end for end in SUFFIXES if path.lower().endswith(end)), "")
    return path.removesuffix(path[len(path) - len(suffix) :]) if suffix else path


# -- links -----------------------------------------------------------------------------


class Link(NamedTuple):
    """A link of the note `source`: what it names, the line where it stands first, from 1, and the
    notes that answer to it: none, one, or several equally."""

    source: NamedNote
    target: str
    line: int
    notes: list[NamedNote]

    @property
    def is_clear(self) -> bool:
        """Whether it leads to one note."""
        return len(self.notes) == 1

    def to_json(self) -> dict[str, Any]:
        """Return `from`, the note with the link (`vault`, `path`, `title`), the `line` where it
        stands, its `target`, its `state` (`ok`, `ambiguous` or `broken`), and `to`, the notes that
        it may mean."""
        source, *notes = [
            {"vault": note.vault, "path": note.path, "title": note.title}
            for note in (self.source, *self.notes)
        ]
        state = "ok" if self.is_clear else "ambiguous" if notes else "broken"
        head = {"from": source, "line": self.line, "target": self.target}
        return {**head, "state": state, "to": notes}


class LinkTables:
    """The links between notes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, list[NamedNote]] = {}  # by target

    def resolve(self, target: str, vault: str, path: str) -> list[NamedNote]:
        """Return the notes that a link, without heading, of the note at a path leads to: one;
        several when they answer equally; none."""
        if target not in self._known:
            rows = self._db.execute(
                f"SELECT DISTINCT {_NOTE} FROM names CROSS JOIN notes ON notes.id = names.id"
                " WHERE key IN (?, ?) ORDER BY vault, path",
                (spelling_key(target), link_key(target)),
            )
            self._known[target] = [_note(*row) for row in rows]
        return matching_notes(target, vault, posixpath.dirname(path), self._known[target])

    def links_from(self, vault: str, path: str) -> list[Link]:
        """Return the links of a note, in the order of its text; those to files that are no notes
        are left out."""
        rows = self._db.execute(
            f"SELECT links, {_NOTE} FROM notes WHERE vault = ? AND path = ?", (vault, path)
        )
        return [link for links, *row in rows for link in self._of(_note(*row), json.loads(links))]

    def links_to(self, note: Any, among: Collection[str] | None = None) -> list[Link]:
        """Return the links of other notes to a note, by the vault and path of these.

        :param note: a `NamedNote`, or a row of the manifest.
        :param among: the ids of the notes whose links are looked at; all, where there are none.
        """
        names = (PurePath(note.path).stem, note.title, *note.aliases)
        keys = {link_key(name) for name in names}
        rows = self._db.execute(
            f"SELECT DISTINCT links, {_NOTE} FROM links CROSS JOIN notes ON notes.id = links.id"
            f" WHERE key IN ({', '.join('?' * len(keys))}) AND notes.id != ? ORDER BY vault, path",
            (*keys, note.id),
        )
        return [
            link
            for links, *row in rows.fetchall()
            if among is None or row[0] in among
            for link in self._of(_note(*row), json.loads(links), keys)
            if [target.id for target in link.notes] == [note.id]
        ]

    def wrong_links(self) -> Iterator[Link]:
        """Yield every link that no note answers to, or several do, by vault and path."""
        rows = self._db.execute(
            f"SELECT links, {_NOTE} FROM notes WHERE links != '{{}}' ORDER BY vault, path"
        )
        for links, *row in rows:
            for link in self._of(_note(*row), json.loads(links)):
                if not link.is_clear:
                    yield link

    def _of(
        self, source: NamedNote, links: Mapping[str, int], keys: set[str] | None = None
    ) -> Iterator[Link]:
        for target, line in links.items():
            if (keys is None or link_key(target) in keys) and not leads_to_a_file(target):
                yield Link(source, target, line, self.resolve(target, source.vault, source.path))


def _note(identity: str, vault: str, path: str, title: str, aliases: str) -> NamedNote:
    return NamedNote(identity, vault, path, title, tuple(json.loads(aliases)))
