"""How many chunks of an index hold each dimension of the lexical space, and what that weighs.

    idf(t) = ln(1 + (N - n(t) + .5) / (n(t) + .5))

N is the number of chunks, n(t) that of the chunks with t: the weight of Robertson and Spärck Jones
(Relevance Weighting of Search Terms, 1976) without judgements of relevance, and with the 1 that
Lucene adds too, which keeps it above 0. The engine has counts of its own, but those of each shard
and segment for themselves, deleted points among them: two indexes of the same notes would rank
unlike each other. A dimension that is not there counts as one of a single chunk.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from rag.index.manifest import open_published, open_written
from rag.text.bm25 import SparseVector

_KEPT = 1024  # counts that are kept in memory: a search asks for each several times
FREQUENCIES = "frequencies.sqlite3"  # the name of the file
CHUNKS = -1  # no dimension: how many chunks have any
_SCHEMA = "CREATE TABLE IF NOT EXISTS counts (dimension INTEGER PRIMARY KEY, count INTEGER)"


class Frequencies:
    """The counts of an index, in SQLite; without a database, of an index that holds nothing.

    `chunks` is how many have a lexical vector.
    """

    def __init__(self, db: sqlite3.Connection | None = None) -> None:
        self._db = db or sqlite3.connect(":memory:")
        self._mutex = threading.Lock()  # threads may share a connection, one after the other
        if db is None:
            self._db.execute(_SCHEMA)
        self._count = lru_cache(_KEPT)(self._read_count)
        self.chunks = self._count(CHUNKS)

    @classmethod
    def open(cls, path: Path) -> Frequencies:
        """Open the file of a published snapshot.

        :raises IndexUnavailableError: when it is missing or damaged.
        """
        return cls(open_published(path, "counts"))

    @classmethod
    def open_work(cls, path: Path) -> Frequencies:
        """Open a file to change it; make it when it is missing."""
        db = open_written(path)
        db.execute(_SCHEMA)
        return cls(db)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _read_count(self, dimension: int) -> int:
        query = "SELECT count FROM counts WHERE dimension = ?"
        with self._mutex:
            row = self._db.execute(query, (dimension,)).fetchone()
        return int(row[0]) if row else 0

    def holds(self, dimension: int) -> bool:
        """Return whether any chunk has a dimension."""
        return self._count(dimension) > 0

    def idf(self, dimension: int) -> float:
        """Return what it tells of a chunk that it has a dimension: more, the fewer have it."""
        count = min(self._count(dimension) or 1, self.chunks)
        return math.log1p((self.chunks - count + 0.5) / (count + 0.5))

    def weigh(self, query: SparseVector) -> SparseVector:
        """Return a query whose weights are multiplied by what its dimensions tell."""
        pairs = zip(query.indices, query.values, strict=True)
        return SparseVector(query.indices, [weight * self.idf(index) for index, weight in pairs])

    def change(self, changes: Counter[int]) -> None:
        """Add changes, from `dimension_counts`, to the counts."""
        with self._mutex, self._db:
            self._db.executemany(
                "INSERT INTO counts VALUES (?, ?)"
                " ON CONFLICT (dimension) DO UPDATE SET count = count + excluded.count",
                sorted(changes.items()),
            )
            self._db.execute("DELETE FROM counts WHERE count = 0")
        self._count.cache_clear()
        self.chunks = self._count(CHUNKS)


def dimension_counts(vectors: Iterable[SparseVector | None]) -> Counter[int]:
    """Return in how many chunks each dimension is; under `CHUNKS`, how many chunks have any."""
    counts = Counter[int]()
    for vector in vectors:
        if vector is not None and vector.indices:
            counts.update(vector.indices)
            counts[CHUNKS] += 1
    return counts
