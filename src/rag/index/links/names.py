"""What notes are called: the table by which a name finds its notes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from rag.text.normalize import fold_accents, name_key

SCHEMA = """
CREATE TABLE names (
    id TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id, key)
) WITHOUT ROWID;
CREATE INDEX names_by_key ON names (key);
"""


class NameTable:
    """Titles, aliases and file names of the notes. Its writing methods are part of the manifest's
    own transactions."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def put(self, identity: str, names: Iterable[str]) -> None:
        """Record what a note is called, in the place of what it was before."""
        self.drop(identity)
        keys = {spelling_key(name): name for name in names}
        self._db.executemany(
            "INSERT INTO names VALUES (?, ?, ?)",
            [(identity, key, name) for key, name in keys.items() if key],
        )

    def drop(self, identity: str) -> None:
        """Forget the names of a note."""
        self._db.execute("DELETE FROM names WHERE id = ?", (identity,))

    def ids(self, *names: str) -> list[str]:
        """Return the ids of the notes with one of some names, in order."""
        marks = ", ".join("?" * len(names))
        rows = self._db.execute(
            f"SELECT DISTINCT id FROM names WHERE key IN ({marks}) ORDER BY id",
            [spelling_key(name) for name in names],
        )
        return [identity for (identity,) in rows]


def spelling_key(name: str) -> str:
    """Return what the spellings of a name have in common, with and without accents."""
    return fold_accents(name_key(name))
