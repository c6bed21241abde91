"""The part of the manifest that knows which notes link to which.

A link is kept as it is written, and resolved when somebody asks, against the notes that are indexed
then: so it follows notes that are renamed, added or deleted. The table `links` holds, for what the
link and every name of its note have in common (`link_key`), the notes with such a link.
"""

from __future__ import annotations

import json
import posixpath
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from rag.index.links.matching import NamedNote, leads_to_a_file, link_key, matching_notes
from rag.index.links.names import spelling_key
from rag.index.note_rows import NoteRow

SCHEMA = """
CREATE TABLE links (key TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (key, id)) WITHOUT ROWID;
CREATE INDEX links_by_note ON links (id);
"""
_NOTE = "notes.id, vault, path, title, aliases"


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
            {"vault": one.vault, "path": one.path, "title": one.title}
            for one in (self.source, *self.notes)
        ]
        state = "ok" if self.is_clear else "ambiguous" if notes else "broken"
        return {
            "from": source,
            "line": self.line,
            "target": self.target,
            "state": state,
            "to": notes,
        }


class LinkTables:
    """The links between notes. Its writing methods are part of the manifest's own transactions."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, list[NamedNote]] = {}  # by target

    # -- writing -----------------------------------------------------------------------

    def put(self, identity: str, targets: Iterable[str]) -> None:
        """Record what a note links to, in the place of what it did before."""
        self.drop(identity)
        keys = {link_key(target) for target in targets}
        self._db.executemany("INSERT INTO links VALUES (?, ?)", [(key, identity) for key in keys])

    def drop(self, identity: str) -> None:
        """Forget the links of a note."""
        self._db.execute("DELETE FROM links WHERE id = ?", (identity,))

    # -- reading -----------------------------------------------------------------------

    def resolve(self, target: str, vault: str, path: str) -> list[NamedNote]:
        """Return the notes that a link leads to: one; several when they answer equally; none.

        :param target: what the link names, without heading.
        :param vault: that of the note with the link, and `path` its path there.
        """
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

    def links_to(
        self, note: NamedNote | NoteRow, among: Collection[str] | None = None
    ) -> list[Link]:
        """Return the links of other notes to a note, by the vault and path of these.

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
            if [one.id for one in link.notes] == [note.id]
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
        """Yield the links of a note, of certain keys where such are given."""
        for target, line in links.items():
            if (keys is None or link_key(target) in keys) and not leads_to_a_file(target):
                yield Link(source, target, line, self.resolve(target, source.vault, source.path))


def _note(identity: str, vault: str, path: str, title: str, aliases: str) -> NamedNote:
    return NamedNote(identity, vault, path, title, tuple(json.loads(aliases)))
