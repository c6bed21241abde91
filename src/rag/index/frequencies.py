"""How many chunks of an index hold each dimension of the lexical space, and what that weighs.

    idf(t) = ln(1 + (N - n(t) + .5) / (n(t) + .5))

N is the number of chunks, n(t) that of the chunks with t: the weight of Robertson and Spärck Jones
(Relevance Weighting of Search Terms, 1976) without judgements of relevance, and with the 1 that
Lucene adds too, which keeps it above 0. The engine has counts of its own, but those of each shard
and segment for themselves, deleted points among them: two indexes of the same notes would rank
unlike each other.

A file holds, in the order of the machine: a mark, N and the number of dimensions (8 bytes each),
the dimensions in order (32 bits each), and in how many chunks each is (32 bits each). A reader maps
it, and takes a dimension that is not there for one of a single chunk.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.support.regular_files import open_file
from rag.text.bm25 import SparseVector

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

FREQUENCIES = "frequencies"  # the name of the file
CHUNKS = -1  # no dimension
_HEAD = struct.Struct("=8sQQ")
_MARK = b"ragfreq2"


class Frequencies:
    """The counts of an index, as they are in its file or in memory.

    :param chunks: how many have a lexical vector.
    :param dimensions: those that any of them has, in order; `counts` of how many.
    """

    def __init__(
        self, chunks: int = 0, dimensions: Sequence[int] = (), counts: Sequence[int] = ()
    ) -> None:
        self.chunks = chunks
        self._dimensions, self._counts = dimensions, counts
        self._file: mmap | None = None

    @classmethod
    def open(cls, path: Path) -> Frequencies:
        """Map a file; `close` lets it go.

        :raises OSError: when it cannot be read.
        :raises ValueError: when it is none of these.
        """
        with open_file(path) as file:
            content = mmap(file.fileno(), 0, access=ACCESS_READ)
        mark, chunks, size = (
            _HEAD.unpack_from(content) if len(content) >= _HEAD.size else (b"", 0, 0)
        )
        if mark != _MARK or len(content) != _HEAD.size + 8 * size:
            content.close()
            raise ValueError(f"{path} holds no frequencies")
        with memoryview(content) as whole, whole[_HEAD.size :] as body, body.cast("I") as numbers:
            frequencies = cls(chunks, numbers[:size], numbers[size:])
        frequencies._file = content
        return frequencies

    def to_bytes(self) -> bytes:
        """Return what its file holds."""
        import numpy as np

        head = _HEAD.pack(_MARK, self.chunks, len(self._dimensions))
        parts = (self._dimensions, self._counts)
        return b"".join([head, *(np.asarray(part, np.uint32).tobytes() for part in parts)])

    def close(self) -> None:
        """Let the file go."""
        for part in (self._dimensions, self._counts):
            if isinstance(part, memoryview):
                part.release()
        if self._file is not None:
            self._file.close()

    # -- what a query asks -------------------------------------------------------------

    def of(self, dimension: int) -> int:
        """Return how many chunks have a dimension; 1 for one that none has."""
        place = self._place(dimension)
        return 1 if place is None else self._counts[place]

    def holds(self, dimension: int) -> bool:
        """Return whether any chunk has a dimension."""
        return self._place(dimension) is not None

    def idf(self, dimension: int) -> float:
        """Return what it tells of a chunk that it has a dimension: more, the fewer have it."""
        count = min(self.of(dimension), self.chunks)
        return math.log1p((self.chunks - count + 0.5) / (count + 0.5))

    def weigh(self, query: SparseVector) -> SparseVector:
        """Return a query whose weights are multiplied by what its dimensions tell."""
        pairs = zip(query.indices, query.values, strict=True)
        return SparseVector(query.indices, [weight * self.idf(index) for index, weight in pairs])

    def _place(self, dimension: int) -> int | None:
        place = bisect_left(self._dimensions, dimension)
        is_there = place < len(self._dimensions) and self._dimensions[place] == dimension
        return place if is_there else None

    # -- what a writer changes ---------------------------------------------------------

    def counts(self) -> tuple[Array, Array]:
        """Return all dimensions, in order, and their counts."""
        import numpy as np

        return np.array(self._dimensions, np.uint32), np.array(self._counts, np.int64)

    def changed(self, changes: Counter[int]) -> Frequencies:
        """Return the counts after a change, from `dimension_counts`.

        :raises ValueError: when fewer than no chunk would have a dimension.
        """
        import numpy as np

        dimensions = np.fromiter(changes.keys(), np.int64, len(changes))
        counts = np.fromiter(changes.values(), np.int64, len(changes))
        is_real = dimensions != CHUNKS
        return self._merged(changes[CHUNKS], dimensions[is_real].astype(np.uint32), counts[is_real])

    def merged(self, other: Frequencies) -> Frequencies:
        """Return the counts of the chunks of both."""
        return self._merged(other.chunks, *other.counts())

    def _merged(self, chunks: int, dimensions: Array, changes: Array) -> Frequencies:
        import numpy as np

        own, counts = self.counts()
        own, places = np.unique(np.concatenate([own, dimensions]), return_inverse=True)
        sums = np.zeros(len(own), np.int64)
        np.add.at(sums, places, np.concatenate([counts, changes]))
        if self.chunks + chunks < 0 or (sums < 0).any():
            raise ValueError("the frequencies do not fit the chunks")
        own, sums = own[sums > 0], sums[sums > 0].astype(np.uint32)
        return Frequencies(self.chunks + chunks, own.data, sums.data)


def dimension_counts(vectors: Iterable[SparseVector]) -> Counter[int]:
    """Return in how many chunks each dimension is; under `CHUNKS`, how many chunks have any."""
    counts = Counter[int]()
    for vector in vectors:
        if vector.indices:
            counts.update(vector.indices)
            counts[CHUNKS] += 1
    return counts
