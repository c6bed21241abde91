"""Vectors by the text they were made from, so that no text is embedded twice.

An index is rebuilt, notes are renamed, chunks are cut elsewhere and cut back: the vectors
outlive all that. Only the writer opens this file; losing it costs time and nothing else.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from rag.support.closing import Closing
from rag.support.vector_digest import pack_vectors, unpack_vectors

VECTORS = "vectors.sqlite3"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    space TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, UNIQUE (space, text)
);
"""


class VectorCache(Closing):
    """Vectors of texts, by the space they are of, in 8 bits a number as the store keeps them.

    :param path: the file, which is made anew when it is missing or damaged; where it cannot be
        written, vectors are kept in memory.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self._path)
            db.execute(_SCHEMA)
        except (OSError, sqlite3.OperationalError):  # it cannot be written
            db = sqlite3.connect(":memory:")
            db.execute(_SCHEMA)
        except sqlite3.DatabaseError:
            for file in self._path.parent.glob(f"{self._path.name}*"):  # its journals too
                file.unlink()
            return self._open()
        return db

    @contextmanager
    def _spared(self) -> Iterator[None]:
        """Let no fault of the file end a run: a full disk loses what came last, damage all."""
        try:
            yield
        except sqlite3.OperationalError:
            return
        except sqlite3.DatabaseError:
            self._db.close()
            self._db = self._open()

    def get(self, space: str, texts: Iterable[str]) -> dict[str, list[float]]:
        """Return the vectors that are known, by text."""
        vectors, key = {}, _key(space).hex()
        query = "SELECT vector FROM vectors WHERE space = ? AND text = ?"
        with self._spared():
            for text in texts:
                if row := self._db.execute(query, (key, _key(text))).fetchone():
                    vectors[text] = unpack_vectors(row[0], 1)[0].tolist()
        return vectors

    def put(self, space: str, vectors: Mapping[str, list[float]]) -> None:
        """Keep the vectors of some texts."""
        key = _key(space).hex()
        rows = [(key, _key(text), pack_vectors(vector)) for text, vector in vectors.items()]
        with self._spared(), self._db:
            self._db.executemany("REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def trim(self, space: str, limit: int) -> None:
        """Forget the vectors of other spaces, and of this one all but the newest `limit`."""
        with self._spared(), self._db:
            self._db.execute("DELETE FROM vectors WHERE space != ?", (_key(space).hex(),))
            self._db.execute(
                "DELETE FROM vectors WHERE rowid <= "
                "(SELECT rowid FROM vectors ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (limit,),
            )

    def __len__(self) -> int:
        count: int = self._db.execute("SELECT count(*) FROM vectors").fetchone()[0]
        return count

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
