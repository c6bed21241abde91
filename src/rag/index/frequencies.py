"""How many chunks of an index hold each dimension of the lexical space, and what that weighs.

    idf(t) = ln(1 + (N - n(t) + .5) / (n(t) + .5))

N is the number of chunks, n(t) that of the chunks with t: the weight of Robertson and Spärck Jones
(Relevance Weighting of Search Terms, 1976) without judgements of relevance, and with the 1 that
Lucene adds too, which keeps it above 0. The engine has counts of its own, but those of each shard
and segment for themselves, deleted points among them: two indexes of the same notes would rank
unlike each other.

A file holds, in the order of the machine:

    head        a mark, N, how many dimensions there are in several chunks, how many in one
    several     the dimensions in two chunks or more, in order, 32 bits each
    counts      in how many, 32 bits each
    singles     the dimensions in one chunk, in order, for the writer alone

A reader maps it, and takes a dimension that it does not find for one of a single chunk.
"""

from __future__ import annotations

import math
import struct
from array import array
from bisect import bisect_left
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
_HEAD = struct.Struct("=8sQQQ")
_MARK = b"ragfreq1"
_SIZE = 4  # bytes of a dimension, and of a count
_MOST_HELD = 1 << 20  # dimensions of chunks that are not summed up yet


class Frequencies:
    """The counts of an index, as they are in its file or in memory.

    :param chunks: how many have a lexical vector.
    :param several: the dimensions that more than one of them has, in order; `counts` of how many.
    :param singles: the dimensions that one of them has, in order.
    """

    def __init__(
        self, chunks: int, several: Sequence[int], counts: Sequence[int], singles: Sequence[int]
    ) -> None:
        self.chunks = chunks
        self._several, self._counts, self._singles = several, counts, singles
        self._file: mmap | None = None

    @classmethod
    def empty(cls) -> Frequencies:
        """Return the counts of an index without chunks."""
        return cls(0, (), (), ())

    @classmethod
    def open(cls, path: Path) -> Frequencies:
        """Map a file; `close` lets it go.

        :raises OSError: when it cannot be read.
        :raises ValueError: when it is none of these.
        """
        with open_file(path) as file:
            held = mmap(file.fileno(), 0, access=ACCESS_READ)
        try:
            mark, chunks, several, singles = _HEAD.unpack_from(held)
            sizes = [several, several, singles]
            if mark != _MARK or len(held) != _HEAD.size + _SIZE * sum(sizes):
                raise ValueError(f"{path} holds no frequencies")
        except (struct.error, ValueError) as error:
            held.close()
            raise ValueError(str(error)) from error
        with memoryview(held) as whole, whole[_HEAD.size :] as body, body.cast("I") as numbers:
            found = cls(chunks, *(numbers[a:b] for a, b in _places(sizes)))
        found._file = held
        return found

    def to_bytes(self) -> bytes:
        """Return what its file holds."""
        import numpy as np

        head = _HEAD.pack(_MARK, self.chunks, len(self._several), len(self._singles))
        parts = (self._several, self._counts, self._singles)
        return b"".join([head, *(np.asarray(part, np.uint32).tobytes() for part in parts)])

    def close(self) -> None:
        """Let the file go."""
        for part in (self._several, self._counts, self._singles):
            if isinstance(part, memoryview):
                part.release()
        if self._file is not None:
            self._file.close()

    # -- what a query asks -------------------------------------------------------------

    def of(self, dimension: int) -> int:
        """Return how many chunks have a dimension; 1 for one that none has."""
        at = _place(self._several, dimension)
        return 1 if at is None else self._counts[at]

    def holds(self, dimension: int) -> bool:
        """Return whether any chunk has a dimension."""
        return any(_place(part, dimension) is not None for part in (self._several, self._singles))

    def idf(self, dimension: int) -> float:
        """Return what it tells of a chunk that it has a dimension: more, the fewer have it."""
        count = min(self.of(dimension), self.chunks)
        return math.log1p((self.chunks - count + 0.5) / (count + 0.5))

    def weigh(self, query: SparseVector) -> SparseVector:
        """Return a query whose weights are multiplied by what its dimensions tell."""
        pairs = zip(query.indices, query.values, strict=True)
        return SparseVector(query.indices, [weight * self.idf(index) for index, weight in pairs])

    # -- what a writer changes ---------------------------------------------------------

    def counts(self) -> tuple[Array, Array]:
        """Return all dimensions, in order, and their counts."""
        import numpy as np

        singles = np.asarray(self._singles, np.uint32)
        dimensions = np.concatenate([np.asarray(self._several, np.uint32), singles])
        ones = np.ones(len(singles), np.int64)
        order = np.argsort(dimensions)
        return dimensions[order], np.concatenate([np.asarray(self._counts, np.int64), ones])[order]

    def changed(self, chunks: int, dimensions: Array, changes: Array) -> Frequencies:
        """Return the counts after a change.

        :param chunks: how many more chunks there are.
        :param dimensions: each once, in order; how many chunks more have it is in `changes`.
        :raises ValueError: when fewer than no chunk would have one.
        """
        import numpy as np

        several: Array = np.asarray(self._several, np.uint32)
        counts: Array = np.asarray(self._counts, np.int64)
        singles: Array = np.asarray(self._singles, np.uint32)
        in_several, in_singles = _find(several, dimensions), _find(singles, dimensions)
        before = np.where(in_singles >= 0, 1, 0)
        before[in_several >= 0] = counts[in_several[in_several >= 0]]
        now = before + changes
        if self.chunks + chunks < 0 or (len(now) and now.min() < 0):
            raise ValueError("the frequencies do not fit the chunks")
        gone, is_many, is_one = in_several[in_several >= 0], now > 1, now == 1
        several, counts = np.delete(several, gone), np.delete(counts, gone)
        singles = np.delete(singles, in_singles[in_singles >= 0])
        at, among = (
            np.searchsorted(several, dimensions[is_many]),
            np.searchsorted(singles, dimensions[is_one]),
        )
        parts: list[Array] = [
            np.insert(several, at, dimensions[is_many]),
            np.insert(counts, at, now[is_many]).astype(np.uint32),
            np.insert(singles, among, dimensions[is_one]),
        ]
        return Frequencies(self.chunks + chunks, *(part.data for part in parts))


def _place(dimensions: Sequence[int], dimension: int) -> int | None:
    """Return where a dimension stands among some in order, if it does."""
    at = bisect_left(dimensions, dimension)
    return at if at < len(dimensions) and dimensions[at] == dimension else None


class FrequencyChanges:
    """By how much some writes change the counts of an index."""

    def __init__(self) -> None:
        self.chunks = 0
        self._more, self._fewer = _Occurrences(), _Occurrences()

    def __bool__(self) -> bool:
        return bool(self.chunks or self._more or self._fewer)

    def add(self, vectors: Iterable[SparseVector]) -> None:
        """Count chunks that there are from now on."""
        self.chunks += self._more.add(vectors)

    def remove(self, vectors: Iterable[SparseVector]) -> None:
        """Count chunks no more."""
        self.chunks -= self._fewer.add(vectors)

    def applied_to(self, before: Frequencies) -> Frequencies:
        """Return the counts of an index after these changes.

        :raises ValueError: as for `Frequencies.changed`.
        """
        dimensions, more = self._more.sums()
        gone, fewer = self._fewer.sums()
        dimensions, changes = _sums([dimensions, gone], [more, -fewer])
        return before.changed(self.chunks, dimensions[changes != 0], changes[changes != 0])


class _Occurrences:
    """Dimensions as they come: some are held, and summed up when there are many."""

    def __init__(self) -> None:
        self._held = array("I")
        self._summed: tuple[Array, Array] | None = None

    def __bool__(self) -> bool:
        return bool(self._held or self._summed)

    def add(self, vectors: Iterable[SparseVector]) -> int:
        """Take the dimensions of chunks; return how many chunks have any."""
        chunks = 0
        for vector in vectors:
            if vector.indices:
                self._held.fromlist(vector.indices)
                chunks += 1
        if len(self._held) > _MOST_HELD:
            self._summed = self.sums()
            self._held = array("I")
        return chunks

    def sums(self) -> tuple[Array, Array]:
        """Return the dimensions in order, and how often each came."""
        import numpy as np

        # A copy: an array that somebody looks at cannot grow.
        dimensions, numbers = np.unique(np.array(self._held, np.uint32), return_counts=True)
        if self._summed is None:
            return dimensions, numbers
        return _sums([self._summed[0], dimensions], [self._summed[1], numbers])


def _sums(dimensions: list[Array], numbers: list[Array]) -> tuple[Array, Array]:
    """Add up numbers by their dimensions, which are returned in order."""
    import numpy as np

    found, places = np.unique(np.concatenate(dimensions), return_inverse=True)
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, places, np.concatenate(numbers))
    return found, sums


def _places(sizes: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return where parts of these sizes, one after the other, begin and end."""
    at = 0
    for size in sizes:
        yield at, at + size
        at += size


def _find(known: Array, keys: Array) -> Array:
    """Return where each of some keys is in an array in order, -1 where it is not."""
    import numpy as np

    at = np.searchsorted(known, keys)
    found = np.full(len(keys), -1, np.int64)
    inside = at < len(known)
    is_there = inside.copy()
    is_there[inside] = known[at[inside]] == keys[inside]
    found[is_there] = at[is_there]
    return found
