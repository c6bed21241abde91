"""The manifest: what the index knows of every note, in SQLite.

It lives in the writer's folder and is published with each snapshot, so that a reader's
manifest and shard always belong together. Beside the notes it holds the document frequencies.

A note's row is written when the store has its chunks. What a killed run wrote goes with its work
folder.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from rag.index.catalog import SCHEMA, TAGS, CatalogTables, link_key
from rag.index.snapshots import MANIFEST, IndexDirectory, damaged_index
from rag.support.closing import Closing
from rag.support.files import strange_kind
from rag.text.bm25 import LEXICAL_VERSION, SparseVector
from rag.text.tokenizer import spelling_key
from rag.vault.chunking import CHUNKER_VERSION
from rag.vault.discovery import Span

if TYPE_CHECKING:
    from rag.config import RAGConfig

_NOTES = """
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
_SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE vaults (name TEXT PRIMARY KEY, root TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counts (dimension INTEGER PRIMARY KEY, count INTEGER NOT NULL);
{_NOTES}{SCHEMA}"""
# To check so many files a second time takes as long as to publish that it was done.
_MANY_CHECKS = 300
# Raise it when points written by an older version would not be read right.
SCHEMA_VERSION = 10
# What SQLite reports of a damaged file; where it quotes bytes that are no text, Python cannot read
# what it says.
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
_KEPT_COUNTS = 1024  # counts that are kept in memory: a search asks for each several times
CHUNKS = -1  # no dimension: how many chunks have any


# -- notes ----------------------------------------------------------------------------

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


def _to_row(note: NoteRow) -> list[Any]:
    """Return the values of `COLUMNS`."""
    row = {name: getattr(note, name) for name in COLUMNS}
    row |= {name: _to_json(row[name]) for name in _JSON}
    chunks = (bytes.fromhex(key.id.replace("-", "")) + key.hash for key in note.chunks)
    return [*(row | {"file": os.fsencode(note.file), "chunks": b"".join(chunks)}).values()]


def _from_row(values: tuple[Any, ...]) -> NoteRow:
    row = dict(zip(COLUMNS, values, strict=True))
    row |= {name: json.loads(row[name]) for name in _JSON}
    row |= {name: bool(row[name]) for name in ("racy", "failed")}
    blob = row["chunks"]
    row["chunks"] = [
        ChunkKey(str(UUID(bytes=blob[at : at + 16])), blob[at + 16 : at + CHUNK])
        for at in range(0, len(blob), CHUNK)
    ]
    return NoteRow(**row | {"file": os.fsdecode(row["file"])})


# -- the manifest ---------------------------------------------------------------------


@contextmanager
def telling_damage(folder: Path) -> Iterator[None]:
    """Raise what cannot be read of a manifest as the error of `damaged_index`."""
    try:
        yield
    except (*DAMAGE, json.JSONDecodeError) as error:
        raise damaged_index(folder, str(error)) from error


def _open_written(path: Path) -> sqlite3.Connection:
    """Open a database that this process alone writes; it is made when it is missing. What is not
    committed is lost; its folder is synced when it is published."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, check_same_thread=False)
    db.execute("PRAGMA synchronous=OFF")
    return db


class Manifest(Closing):
    """Open it with `open_writer` or `open_work` (one writer) or `open_snapshot` (any reader).

    :param begin: begins the next snapshot and returns its folder: where the manifest is then.
    """

    def __init__(self, db: sqlite3.Connection, begin: Callable[[], Path] | None = None) -> None:
        self._db, self._begin = db, begin
        self._before: list[sqlite3.Connection] = []  # rows of it may still be read

    @classmethod
    def open_work(cls, path: Path) -> Manifest:
        """Open a manifest to write it; make it when it is missing."""
        db = _open_written(path)
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'notes'").fetchone():
            db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        return cls(db)

    @classmethod
    def open_writer(cls, directory: IndexDirectory) -> Manifest:
        """Open the writer's manifest: that of the current snapshot until it is first changed.

        :raises sqlite3.DatabaseError: when the file is no manifest.
        :raises IndexUnavailableError: when there is something else in its place.
        """
        name = directory.current()
        if name is None or directory.has_work:
            return cls.open_work(directory.begin_work() / MANIFEST)
        published = cls.open_snapshot(directory.path / name / MANIFEST)
        return cls(published._db, directory.begin_work)

    @classmethod
    def empty(cls) -> Manifest:
        """Return the manifest of an index that holds nothing, in memory."""
        db = sqlite3.connect(":memory:")
        db.executescript(_SCHEMA)
        return cls(db)

    @classmethod
    def open_snapshot(cls, path: Path) -> Manifest:
        """Open the manifest of a snapshot, which nobody writes, for any thread.

        :raises IndexUnavailableError: when it is missing or damaged.
        """
        with telling_damage(path.parent.parent):
            if strange_kind(path):  # a pipe would be waited for
                raise sqlite3.DatabaseError(path.name)
            # `immutable` keeps SQLite from making files beside it.
            address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
            db = sqlite3.connect(address, uri=True, check_same_thread=False)
            db.execute("SELECT 1 FROM notes LIMIT 1")
            return cls(db)

    def close(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it is closed already
            self._db.commit()
        for db in (self._db, *self._before):
            db.close()

    # -- facts about the whole ---------------------------------------------------------

    def get(self, key: str, default: str = "") -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return (row and row[0]) or default

    def set(self, **facts: str) -> None:
        if news := {key: value for key, value in facts.items() if self.get(key) != value}:
            self._own().executemany("REPLACE INTO meta VALUES (?, ?)", news.items())

    def vaults(self) -> dict[str, str]:
        """Return the folder of every indexed vault."""
        return dict(self._db.execute("SELECT name, root FROM vaults ORDER BY name"))

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return the number of notes and chunks by vault."""
        query = f"SELECT vault, count(*), sum(length(chunks)) / {CHUNK} FROM notes"
        rows = self._db.execute(f"{query} WHERE length(chunks) > 0 GROUP BY vault ORDER BY vault")
        return {vault: (notes, chunks) for vault, notes, chunks in rows}

    def rows(self, where: str = "1", *values: Any) -> int:
        """Return the number of notes that an SQL condition selects, those without chunks too."""
        [[count]] = self._db.execute(f"SELECT count(*) FROM notes WHERE {where}", values)
        return int(count)

    def totals(self) -> tuple[int, int]:
        """Return the number of notes and chunks of all vaults."""
        counts = self.counts().values()
        return sum(notes for notes, _ in counts), sum(chunks for _, chunks in counts)

    def kept_totals(self) -> tuple[int, int]:
        """Return the totals of a snapshot, which were kept when it was published."""
        kept = self.get("totals").split()
        return (int(kept[-2]), int(kept[-1])) if kept else self.totals()

    # -- notes -------------------------------------------------------------------------

    def stats(self, vault: str) -> dict[str, tuple[int, int, bool]]:
        """Return by path what a file looked like: size, mtime_ns, and whether it must be read
        again whatever it looks like now."""
        query = "SELECT path, size, mtime_ns, racy OR failed FROM notes WHERE vault = ?"
        rows = self._db.execute(query, (vault,))
        return {path: (size, mtime, bool(again)) for path, size, mtime, again in rows}

    def states(self, vault: str) -> dict[str, str]:
        """Return what became of the files of a vault that were not simply read, by path."""
        state = "CASE WHEN failed THEN 'unreadable' ELSE state END"
        query = f"SELECT path, {state} FROM notes WHERE vault = ? AND (failed OR state != '')"
        return dict(self._db.execute(query, (vault,)).fetchall())

    def odd_files(self) -> dict[tuple[str, str], str]:
        """Return by vault and path the files whose name on disk is not their path (not NFC)."""
        query = "SELECT vault, path, file FROM notes WHERE file != CAST(path AS BLOB)"
        return {(v, path): os.fsdecode(file) for v, path, file in self._db.execute(query)}

    def note(self, vault: str, path: str) -> NoteRow | None:
        """Return one note."""
        return next(self.notes("vault = ? AND path = ?", vault, path), None)

    def notes(
        self, where: str = "1", *values: Any, order: str = "vault, path"
    ) -> Iterator[NoteRow]:
        """Yield the notes that an SQL condition selects."""
        query = f"SELECT {', '.join(COLUMNS)} FROM notes WHERE {where} ORDER BY {order}"
        return map(_from_row, self._db.execute(query, values))

    def names(self, *called: str) -> list[tuple[str, str, str, list[str], str]]:
        """Return vault, path, title, aliases and id of every indexed note, or of those with one of
        some names as title, alias or file name."""
        among = " AND id IN (SELECT value FROM json_each(?))" if called else ""
        query = f"SELECT vault, path, title, aliases, id FROM notes WHERE length(chunks) > 0{among}"
        ids = [json.dumps(self.catalogue.named(*called))] if called else []
        rows = self._db.execute(f"{query} ORDER BY vault, path", ids)
        return [(v, p, t, json.loads(a), i) for v, p, t, a, i in rows]

    def notes_by_chunk(self) -> dict[bytes, str]:
        """Return the id of the note of every chunk, by the chunk's id as 16 bytes."""
        rows = self._db.execute("SELECT chunks, id FROM notes")
        return {
            blob[at : at + 16]: note for blob, note in rows for at in range(0, len(blob), CHUNK)
        }

    @property
    def catalogue(self) -> CatalogTables:
        """What the notes have: tags, front matter values, words, and links as they lead now."""
        return CatalogTables(self._db)

    @cached_property
    def frequencies(self) -> Frequencies:
        """In how many chunks each dimension of the lexical space is."""
        return Frequencies(self._db)

    # -- the writer's steps ------------------------------------------------------------

    def commit_write(self, rows: Iterable[NoteRow]) -> None:
        """Record what the shard now holds of these notes."""
        replace = f"REPLACE INTO notes VALUES ({', '.join('?' * len(COLUMNS))})"
        db = self._own()
        for row in rows:
            db.execute(replace, _to_row(row))
            self._drop(row.id)
            if not row.chunks:
                continue
            fields = row.fields | {TAGS: row.tags}
            facts = {(name, value) for name, values in fields.items() for value in values}
            called = (*row.aliases, PurePath(row.path).stem, row.title)
            names = {spelling_key(name): name for name in called}
            names.pop("", None)
            keys = {link_key(target) for target in row.links}
            insert = db.executemany
            insert("INSERT INTO facts VALUES (?, ?, ?)", [(*fact, row.id) for fact in facts])
            insert("INSERT INTO names VALUES (?, ?, ?)", [(row.id, *n) for n in names.items()])
            insert("INSERT INTO links VALUES (?, ?)", [(key, row.id) for key in keys])

    def refresh(self, rows: Sequence[NoteRow], is_news: bool) -> None:
        """Record that unchanged notes need no second check, if that is news to readers, there is
        something to publish, or they are many."""
        if is_news or not self._begin or len(rows) >= _MANY_CHECKS:
            self.commit_write(rows)

    def forget(self, vault: str, paths: Iterable[str]) -> None:
        """Drop notes whose chunks are gone from the shard."""
        db = self._own()
        for path in paths:
            if row := self.note(vault, path):
                self._drop(row.id)
                db.execute("DELETE FROM notes WHERE vault = ? AND path = ?", (vault, path))

    def add_words(self, words: Collection[str]) -> None:
        """Add words of the notes, those that are there already too."""
        if words:
            insert = "INSERT OR IGNORE INTO words VALUES (?)"
            self._own().executemany(insert, ((word,) for word in words))

    def set_vault(self, name: str, root: str) -> None:
        """Record where a vault's notes are."""
        if self.vaults().get(name) != root:
            self._own().execute("REPLACE INTO vaults VALUES (?, ?)", (name, root))

    def drop_vault(self, name: str) -> None:
        """Forget a vault that has no notes any more."""
        self._own().execute("DELETE FROM vaults WHERE name = ?", (name,))
        self._db.execute("DELETE FROM meta WHERE key = ?", (_FACTS + name,))

    def _drop(self, identity: str) -> None:
        for table in ("facts", "names", "links"):
            self._db.execute(f"DELETE FROM {table} WHERE id = ?", (identity,))

    def _own(self) -> sqlite3.Connection:
        """Return the connection to a file that this process alone writes."""
        if self._begin:
            path, self._begin = self._begin() / MANIFEST, None
            self._before.append(self._db)
            self._db = _open_written(path)
        return self._db


# -- frequencies -----------------------------------------------------------------------


class Frequencies:
    """How many chunks of an index hold each dimension of the lexical space (`count`), and what that
    weighs. `chunks` is how many have any.

        idf(t) = ln(1 + (N - n(t) + .5) / (n(t) + .5))

    N is the number of chunks, n(t) that of the chunks with t: the weight of Robertson and Spärck
    Jones (Relevance Weighting of Search Terms, 1976) without judgements of relevance, and with the
    1 that Lucene adds too, which keeps it above 0. The engine has counts of its own, but those of
    each shard and segment for themselves, deleted points among them: two indexes of the same notes
    would rank unlike each other. A dimension that is not there counts as one of a single chunk.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._mutex = threading.Lock()  # threads may share a connection, one after the other
        self.count = lru_cache(_KEPT_COUNTS)(self._read_count)
        self.chunks = self.count(CHUNKS)

    def _read_count(self, dimension: int) -> int:
        query = "SELECT count FROM counts WHERE dimension = ?"
        with self._mutex:
            row = self._db.execute(query, (dimension,)).fetchone()
        return int(row[0]) if row else 0

    def holds(self, dimension: int) -> bool:
        """Return whether any chunk has a dimension."""
        return self.count(dimension) > 0

    def idf(self, dimension: int) -> float:
        """Return what it tells of a chunk that it has a dimension: more, the fewer have it."""
        count = min(self.count(dimension) or 1, self.chunks)
        return math.log1p((self.chunks - count + 0.5) / (count + 0.5))

    def weigh(self, query: SparseVector) -> SparseVector:
        """Return a query whose weights are multiplied by what its dimensions tell."""
        pairs = zip(query.indices, query.values, strict=True)
        return SparseVector(query.indices, [weight * self.idf(index) for index, weight in pairs])

    def change(self, changes: Counter[int]) -> None:
        """Add changes, from `dimension_counts`, to the counts."""
        add = "ON CONFLICT (dimension) DO UPDATE SET count = count + excluded.count"
        with self._mutex, self._db:
            self._db.executemany(f"INSERT INTO counts VALUES (?, ?) {add}", sorted(changes.items()))
            self._db.execute("DELETE FROM counts WHERE count = 0")
        self.count.cache_clear()
        self.chunks = self.count(CHUNKS)


def dimension_counts(
    vectors: Iterable[SparseVector | None], before: Counter[int] | None = None
) -> Counter[int]:
    """Return in how many chunks each dimension is; under `CHUNKS`, how many chunks have any. They
    are added to those `before`, which is quicker than to add two counters."""
    counts = Counter() if before is None else before
    held = [vector.indices for vector in vectors if vector and vector.indices]
    counts.update(chain.from_iterable(held))
    counts[CHUNKS] += len(held)
    return counts


# -- fingerprint -----------------------------------------------------------------------


def fingerprint(config: RAGConfig) -> str:
    """Return all that decides what the same notes become in the index, as JSON."""
    index = config.index
    facts = {
        "schema": SCHEMA_VERSION,
        "tokenizer": LEXICAL_VERSION,
        "chunker": CHUNKER_VERSION,
        "chunk_size": index.chunk_size,
        "chunk_overlap": index.chunk_overlap,
        "max_note_mb": index.max_note_mb,
        "max_file_mb": index.max_file_mb,
        "only": index.only,
        "embedding_model": "",
        **({"ocr": True} if index.ocr else {}),
    }
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str)


def readable(fingerprint: str) -> bool:
    """Return whether an index of that fingerprint can be searched by this program."""
    facts = json.loads(fingerprint or "{}")
    return (facts.get("schema"), facts.get("tokenizer")) == (SCHEMA_VERSION, LEXICAL_VERSION)


# -- vaults ----------------------------------------------------------------------------


@dataclass(frozen=True)
class VaultFacts:
    """The minutes in which the files of a vault were copied, and notices of paths in it that are no
    notes."""

    copied: tuple[Span, ...] = ()
    notices: Mapping[str, str] = field(default_factory=dict)


_FACTS = "vault "  # before a vault's name: the key of the facts about it


def read_facts(manifest: Manifest, vault: str) -> VaultFacts:
    """Return what is known of a vault."""
    held = json.loads(manifest.get(_FACTS + vault, "{}"))
    spans = tuple((first, last) for first, last in held.get("copied", ()))
    return VaultFacts(spans, held.get("notices", {}))


def record_facts(manifest: Manifest, vault: str, facts: VaultFacts) -> None:
    """Record what is known of a vault."""
    if facts != read_facts(manifest, vault):
        held = {"copied": facts.copied, "notices": dict(facts.notices)}
        manifest.set(**{_FACTS + vault: json.dumps(held, ensure_ascii=False)})


# -- readers --------------------------------------------------------------------------


@contextmanager
def published_manifest(directory: IndexDirectory) -> Iterator[Manifest]:
    """Open the manifest that readers see, and hold its snapshot meanwhile.

    :raises IndexUnavailableError: when there is no index, or its manifest is damaged.
    """
    with (
        directory.open_current() as snapshot,
        Manifest.open_snapshot(snapshot.path / MANIFEST) as manifest,
    ):
        yield manifest
