"""How many chunks of a store hold each dimension of the lexical space: kept with every write, and
multiplied into every query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag.index.frequencies import FREQUENCIES, Frequencies, FrequencyChanges
from rag.stores.base.index_points import IndexPoints
from rag.stores.base.points import (
    SPARSE,
    Fields,
    Filter,
    Point,
    PointQuery,
    dense_vector,
    sparse_vector,
)
from rag.support.durable_files import replace_durably
from rag.text.bm25 import SparseVector

if TYPE_CHECKING:
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

_PAGE = 1000


class ChunkCounts:
    """The document frequencies of a store.

    The writer's are in a file of the staging index. It is taken away before the first write, and
    written again when the points are: where a writer was killed there is none, and all points are
    counted anew.

    :param points: what is counted.
    """

    def __init__(self, points: IndexPoints) -> None:
        self.points = points
        self._known: Frequencies | None = None  # of the staging index, without `_changes`
        self._changes = FrequencyChanges()
        self._is_read = False  # whether the staging index was asked for them
        self._is_written = True  # whether its file says the same

    # -- reading -----------------------------------------------------------------------

    def query_for(
        self,
        query: SparseEmbedding | list[float],
        limit: int,
        where: Filter | None,
        fields: Fields = False,
    ) -> PointQuery:
        """Query the points nearest to a vector, the words of which count for what they tell."""
        if isinstance(query, list):
            return PointQuery(dense_vector(query), limit, where, fields)
        vector = sparse_vector(query)
        with self.points.mutex:
            return PointQuery(self._in_use().weigh(vector), limit, where, fields)

    def rarity(self, dimension: int) -> float:
        """Return what it tells of a chunk that it has a dimension: its inverse document frequency,
        0 or more."""
        with self.points.mutex:
            return self._in_use().idf(dimension)

    def holds(self, dimension: int) -> bool:
        """Return whether any chunk has a dimension."""
        with self.points.mutex:
            return self._in_use().holds(dimension)

    def _in_use(self) -> Frequencies:
        return self.now() if self.points.reads_work else self.points.frequencies()

    def now(self) -> Frequencies:
        """Return those of the staging index."""
        self._read()
        known = self._known
        if known is None:
            known = self._counted()
        elif self._changes:
            try:
                known = self._changes.applied_to(known)
            except ValueError:
                known = self._counted()
        self._known, self._changes = known, FrequencyChanges()
        return known

    def _counted(self) -> Frequencies:
        """Count the points."""
        self._is_written = False
        known, changes = Frequencies.empty(), FrequencyChanges()
        for points, _ in self.points.pages(_PAGE, fields=False, vectors=True):
            changes.add(_vectors(points))
            known, changes = changes.applied_to(known), FrequencyChanges()
        return known

    # -- writing -----------------------------------------------------------------------

    @contextmanager
    def changing(self, ids: Sequence[str], written: Sequence[Point] = ()) -> Iterator[None]:
        """Count no more the points of some ids, which are deleted or written over meanwhile.

        :param written: the points that take their places.
        """
        self._begin()
        is_empty = self._known is not None and not (self._known.chunks or self._changes)
        gone: list[Point] = []
        if self._known is not None and not is_empty:
            gone = self.points.retrieve([*dict.fromkeys(ids)], fields=False, vectors=[SPARSE])
        with self._or_forgotten():
            yield
        self._changes.remove(_vectors(gone))
        self._changes.add(_vectors({point.id: point for point in written}.values()))

    @contextmanager
    def importing(self, part: Path) -> Iterator[None]:
        """Count the points of a part of the index that is taken in meanwhile.

        :param part: the file of its frequencies.
        """
        self._begin()
        with self._or_forgotten():
            yield
        if self._known is None:
            return
        try:
            added = Frequencies.open(part)
            self._known = self.now().changed(added.chunks, *added.counts())
            added.close()
        except (OSError, ValueError):
            self._known = None

    def take(self, found: Frequencies) -> None:
        """Take over the counts of another store, whose points are those that will be published."""
        self._begin()
        self._known = Frequencies.empty().changed(found.chunks, *found.counts())
        self._changes = FrequencyChanges()

    @contextmanager
    def _or_forgotten(self) -> Iterator[None]:
        """Count all points anew if something fails: some of it may have been done."""
        try:
            yield
        except BaseException:
            self._known = None
            raise

    def _begin(self) -> None:
        """Read the file, and take it away: from now on it would not be true."""
        self.points.begin_writing()
        self._read()
        if self._is_written:
            self.points.directory.begin_work()
            self._file.unlink(missing_ok=True)
            self._is_written = False

    def _read(self) -> None:
        if self._is_read:
            return
        self.points.directory.begin_work()
        try:
            self._known = Frequencies.open(self._file)
        except (OSError, ValueError):
            self._known = None if self.points.holds_points() else Frequencies.empty()
            self._is_written = False
        self._is_read, self._changes = True, FrequencyChanges()

    # -- the end -----------------------------------------------------------------------

    def write(self) -> None:
        """Write the file, if it does not say the same already."""
        known = self.now()
        if self._is_written:
            return
        self._file.parent.mkdir(exist_ok=True)
        if self.points.is_synced:
            replace_durably(self._file, known.to_bytes())
        else:
            staged = self._file.with_suffix(".tmp")
            staged.write_bytes(known.to_bytes())
            staged.replace(self._file)
        self._is_written = True

    def keep(self) -> None:
        """Write the file if all that was written here was counted; else leave it away."""
        if self._is_read and self._known is not None:
            self.write()

    def forget(self) -> None:
        """Believe what the staging index says when it is asked next."""
        if self._known is not None:
            self._known.close()
        self._known, self._is_read, self._is_written = None, False, True

    @property
    def _file(self) -> Path:
        return self.points.directory.work / FREQUENCIES


def _vectors(points: Iterable[Point]) -> Iterator[SparseVector]:
    return (point.sparse for point in points if point.sparse is not None)
