"""Databases: a change that is made whole or not at all, and connections to read or to write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PAGE = 8192  # bytes: the rows of notes, some 600 each, leave less of it empty than of 4,096


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


def connect_unchanged(path: Path) -> sqlite3.Connection:
    """Open a database that nobody writes as long as it is open; it cannot be written here either.

    :raises sqlite3.Error: when it is missing.
    """
    # `immutable` keeps SQLite from making files beside it.
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    # A store hands it to whichever thread searches, one at a time.
    return sqlite3.connect(address, uri=True, check_same_thread=False)


def connect_written(path: Path, is_synced: bool) -> sqlite3.Connection:
    """Open a database that this process alone writes; it is made when it is missing.

    :param is_synced: whether a change that was made survives a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"PRAGMA page_size={_PAGE}")  # of one that is made now
    if not is_synced:
        db.execute("PRAGMA synchronous=OFF")
    return db
