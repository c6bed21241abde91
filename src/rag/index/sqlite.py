"""Databases: a change that is made whole or not at all, and whether one is damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit what is done inside, or undo it when that fails.

    :param db: a connection in autocommit mode (`isolation_level=None`).
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # on a full disk SQLite has undone it already
            db.execute("ROLLBACK")
        raise


def verify(db: sqlite3.Connection, table: str = "sqlite_master") -> None:
    """Read all of a database once (20 ms for 10,000 notes): without it a damaged page would show
    in the middle of a search. A damaged one, or one without the table, is closed.

    :raises sqlite3.DatabaseError: when some of it is damaged.
    """
    try:
        db.execute(f"SELECT 1 FROM {table} LIMIT 1")
        [(verdict,)] = db.execute("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
    except sqlite3.Error:
        db.close()
        raise
