"""Databases: a change that is made whole or not at all, whether one is damaged, and one whose file
somebody else has too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag.support.durable_files import replace_durably
from rag.support.sparse_files import copy_file

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


def connect_unchanged(path: Path) -> sqlite3.Connection:
    """Open a database that nobody writes as long as it is open; it cannot be written here either.

    :raises sqlite3.Error: when it is missing.
    """
    # `immutable` keeps SQLite from making files beside it.
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    # A store hands it to whichever thread searches, one at a time.
    return sqlite3.connect(address, uri=True, check_same_thread=False)


class WrittenDatabase:
    """A database that one process may write. While its file has another name too, by which others
    may read it, it is only read; a copy takes its place when it is to be written.

    :param path: its file, made when it is missing, as its folder is.
    :param is_synced: whether a change that was made survives a power cut.
    """

    def __init__(self, path: Path, is_synced: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._is_synced = path, is_synced
        self._is_shared = _is_shared(path)
        self._before: list[sqlite3.Connection] = []  # whoever reads may still do so
        self.connection = connect_unchanged(path) if self._is_shared else self._connect()

    def own(self) -> sqlite3.Connection:
        """Return the connection, to a file that nobody else has.

        :raises OSError: when it cannot be copied; then all is as it was.
        """
        if self._is_shared:
            _unshare(self._path, self._is_synced)
            self._before.append(self.connection)
            self.connection, self._is_shared = self._connect(), False
        return self.connection

    def close(self) -> None:
        for db in (self.connection, *self._before):
            db.close()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None)
        db.execute(f"PRAGMA page_size={_PAGE}")  # of one that is made now
        if not self._is_synced:
            db.execute("PRAGMA synchronous=OFF")
        return db


def _is_shared(path: Path) -> bool:
    with suppress(OSError):
        return path.stat().st_nlink > 1
    return False


def _unshare(path: Path, is_synced: bool) -> None:
    """Put a copy in the place of a file, which stays as it is by its other names."""
    if is_synced:
        replace_durably(path, path.read_bytes())
        return
    staged = path.with_name(f"{path.name}.tmp")
    try:
        copy_file(path, staged)
        staged.replace(path)
    except OSError:
        with suppress(OSError):
            staged.unlink()
        raise
