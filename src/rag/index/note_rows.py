"""What the manifest holds of a note and of a vault, and how it is kept in SQLite."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rag.support.regular_files import strange_kind

SCHEMA = """
CREATE TABLE notes (
    vault TEXT NOT NULL, path TEXT NOT NULL, file BLOB NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, racy INTEGER NOT NULL,
    hash BLOB NOT NULL, chunks BLOB NOT NULL, failed INTEGER NOT NULL,
    id TEXT NOT NULL, title TEXT NOT NULL, aliases TEXT NOT NULL, tags TEXT NOT NULL,
    created TEXT NOT NULL, modified TEXT NOT NULL, links TEXT NOT NULL, lines INTEGER NOT NULL,
    problems TEXT NOT NULL, fields TEXT NOT NULL, indexed_at TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (vault, path)
) WITHOUT ROWID;
CREATE INDEX notes_by_id ON notes (id);
CREATE INDEX odd_files ON notes (vault, path) WHERE file != CAST(path AS BLOB);
"""
CHUNK = 32  # bytes a chunk takes in `chunks`: its UUID and the hash of its point


class ChunkKey(NamedTuple):
    """A chunk's id and the hash of all that its point holds."""

    id: str
    hash: bytes  # 16 bytes


@dataclass(slots=True)
class NoteRow:
    """One note as the index knows it. Times are nanoseconds since the epoch or ISO text."""

    vault: str
    path: str
    file: str
    size: int
    mtime_ns: int
    racy: bool  # the file was so young when it was read that a later edit may show no new mtime
    hash: bytes
    chunks: list[ChunkKey] = field(default_factory=list)
    failed: bool = False  # it could not be read; chunks of an earlier reading are kept
    id: str = ""
    title: str = ""
    aliases: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    created: str = ""
    modified: str = ""
    links: dict[str, int] = field(default_factory=dict)  # to the first line of each, from 1
    lines: int = 0
    problems: list[str] = field(default_factory=list)
    fields: dict[str, list[str]] = field(default_factory=dict)  # from `searchable_fields`
    indexed_at: str = ""
    state: str = ""  # of a file of another kind; see `rag.vault.documents.Document`

    @property
    def times(self) -> tuple[int, str, str]:
        """When its file was written, and the dates of the note."""
        return self.mtime_ns, self.created, self.modified


COLUMNS = tuple(NoteRow.__dataclass_fields__)
_to_json = json.JSONEncoder(ensure_ascii=False).encode
_JSON = ("aliases", "tags", "links", "problems", "fields")


def to_row(row: NoteRow) -> list[Any]:
    """Return the values of `COLUMNS`."""
    values = []
    for name in COLUMNS:
        value = getattr(row, name)
        if name in _JSON:
            value = _to_json(value)
        elif name == "file":
            value = value.encode("utf-8", "surrogateescape")
        elif name == "chunks":
            value = b"".join(bytes.fromhex(key.id.replace("-", "")) + key.hash for key in value)
        values.append(value)
    return values


def from_row(row: tuple[Any, ...]) -> NoteRow:
    """Make a row of the values of `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    for name in _JSON:
        values[name] = json.loads(values[name])
    values["file"] = decode_file(values["file"])
    blob = values["chunks"]
    values["chunks"] = [
        ChunkKey(str(uuid.UUID(bytes=blob[at : at + 16])), blob[at + 16 : at + CHUNK])
        for at in range(0, len(blob), CHUNK)
    ]
    for name in ("racy", "failed"):
        values[name] = bool(values[name])
    return NoteRow(**values)


def decode_file(name: bytes) -> str:
    """Return the name of a file as Python has it, of what stands in the column `file`."""
    return name.decode("utf-8", "surrogateescape")


# -- vaults ----------------------------------------------------------------------------

Span = tuple[int, int]  # first and last moment, in nanoseconds since the epoch
_MINUTE = 60_000_000_000  # nanoseconds
_FEWEST = 5  # files; fewer may be written by hand
_MOST_SPANS = 8  # that are remembered of a vault
_ROUNDED = 1_000  # nanoseconds, by which a time in seconds may be wrong


@dataclass(frozen=True)
class VaultFacts:
    """The minutes in which the files of a vault were copied (a clone writes all of them within
    moments, and what their times say is no date of a note), and notices of paths in it that are no
    notes."""

    copied: tuple[Span, ...] = ()
    notices: Mapping[str, str] = field(default_factory=dict)


def spans_of_copies(times: Iterable[int], before: Sequence[Span] = ()) -> tuple[Span, ...]:
    """Return the minutes in which a vault was copied, each by its first and last moment: a minute
    in which more than half of its files, and at least 5, were last written (`times`, in
    nanoseconds).

    What was found `before` stays so, though files are edited later; those have times of their own.
    """
    ordered = sorted(times)
    most = max(len(ordered) // 2, _FEWEST - 1)
    for first, last in zip(ordered, ordered[most:], strict=False):
        if last - first <= _MINUTE:
            if _holding(first / 1e9, before):
                break
            return (*before, (first, first + _MINUTE))[-_MOST_SPANS:]
    return tuple(before)


def own_time(seconds: float | None, copied: Sequence[Span]) -> float | None:
    """Return the time of a file; `None` where it is that of a copy, or not known.

    :param seconds: since the epoch.
    """
    return None if seconds is None or _holding(seconds, copied) else seconds


def _holding(seconds: float, spans: Sequence[Span]) -> bool:
    moment = int(seconds * 1e9)
    return any(first - _ROUNDED <= moment <= last + _ROUNDED for first, last in spans)


# -- databases -------------------------------------------------------------------------

_PAGE = 8192  # bytes: the rows of notes, some 600 each, leave less of it empty than of 4,096


def open_published(path: Path) -> sqlite3.Connection:
    """Open a database of a snapshot, which nobody writes, for any thread.

    :raises sqlite3.DatabaseError: when it is missing, or no file: a pipe would be waited for.
    """
    if strange_kind(path):
        raise sqlite3.DatabaseError(path.name)
    # `immutable` keeps SQLite from making files beside it.
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(address, uri=True, check_same_thread=False)


def open_written(path: Path) -> sqlite3.Connection:
    """Open a database that this process alone writes; it is made when it is missing. Its folder is
    synced when it is published."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute(f"PRAGMA page_size={_PAGE}")  # of one that is made now
    db.execute("PRAGMA synchronous=OFF")
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit what is done inside, or undo it when that fails.

    :param db: a connection in autocommit mode (`isolation_level=None`).
    """
    with db:
        db.execute("BEGIN IMMEDIATE")
        yield
