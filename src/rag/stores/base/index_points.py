"""The points of an index, with its manifest and document frequencies beside them: one writer, any
number of readers."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.index.frequencies import FREQUENCIES, Frequencies, FrequencyChanges
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory, IndexSnapshot, damaged_index
from rag.stores.base.points import (
    SPARSE,
    Fields,
    Filter,
    Point,
    PointQuery,
    dense_vector,
    sparse_vector,
    weight,
)
from rag.support.durable_files import replace_durably
from rag.text.bm25 import SparseVector

if TYPE_CHECKING:
    from haystack.dataclasses.sparse_embedding import SparseEmbedding

_PAGE = 1000


class IndexPoints(ABC):
    """The points of one index, as the embedded engine or a server keeps them.

    What is read is the current snapshot, or, once writing has begun, what is written. Where nothing
    was ever written there are no points.

    :param directory: the folder of the index.
    """

    def __init__(self, directory: IndexDirectory) -> None:
        self.directory = directory
        self.counts = ChunkCounts(self)
        self.mutex = threading.RLock()  # held over steps that must not mix with another thread's
        self._writing: ExitStack | None = None
        self._snapshot: IndexSnapshot | None = None
        self._manifest: Manifest | None = None
        self._frequencies: Frequencies | None = None
        self._pins = 0

    # -- opening and closing -----------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process of this machine is.
        :raises UsageError: when a server's collection holds what this index did not write.
        :raises ConnectionError: when a server does not answer.
        """
        with self.mutex:
            if self._writing is not None:
                return
            self._close_reader()  # a writer reads what it writes
            with ExitStack() as stack:
                stack.enter_context(self.directory.writing(wait))
                self._prepare_writing()
                self._writing = stack.pop_all()

    def _prepare_writing(self) -> None:  # noqa: B027
        """Make ready what is written to; the lock is held."""

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: a snapshot, or what this writer writes."""
        return self._writing is not None or self.directory.current() is not None

    @property
    def is_shared(self) -> bool:
        """Whether all who read the index can see the current snapshot."""
        return True

    @property
    def reads_work(self) -> bool:
        """Whether what is read is what this writer writes."""
        return self._writing is not None

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Go on reading the snapshot that is current now, whatever is published meanwhile."""
        with self.mutex:
            if not self._pins and self._writing is None:
                self._hold()
            self._pins += 1
        try:
            yield
        finally:
            with self.mutex:
                self._pins -= 1

    def _hold(self) -> IndexSnapshot | None:
        """Return the snapshot to read: the current one, or that which is pinned."""
        if not (self._pins and self._snapshot):
            current = self.directory.current()
            if current is None:
                return None
            if self._snapshot is None or self._snapshot.name != current:
                self._close_reader()
                self._snapshot = self.directory.open_current()
        return self._snapshot

    def manifest(self) -> Manifest | None:
        """Return the manifest of the snapshot being read; `None` when there is none: the index was
        made without one, or is being written here."""
        with self.mutex:
            snapshot = None if self._writing is not None else self._hold()
            if snapshot and self._manifest is None and (snapshot.path / MANIFEST).exists():
                self._manifest = Manifest.open_snapshot(snapshot.path / MANIFEST)
            return self._manifest

    def snapshot_name(self) -> str | None:
        """Return the name of the snapshot being read; `None` when there is none."""
        with self.mutex:
            snapshot = None if self._writing is not None else self._hold()
            return snapshot.name if snapshot else None

    def frequencies(self) -> Frequencies:
        """Return the document frequencies of the snapshot being read.

        :raises IndexUnavailableError: when they are missing or damaged.
        """
        with self.mutex:
            snapshot = self._hold()
            if snapshot is None:
                return Frequencies.empty()
            if self._frequencies is None:
                try:
                    self._frequencies = Frequencies.open(snapshot.path / FREQUENCIES)
                except (OSError, ValueError) as error:
                    raise damaged_index(self.directory.path, str(error)) from error
            return self._frequencies

    def publish(self, number: int | None = None) -> None:
        """Make what was written what readers see.

        :param number: the snapshot's number; by default the next one.
        :raises IndexingError: when the disk has no room, or a server holds less.
        """
        with self.mutex:
            self.begin_writing()
            unknown = self.unknown_points()
            for start in range(0, len(unknown), _PAGE):
                self.delete_points(unknown[start : start + _PAGE])
            self.counts.write()
            self._publish(number or self.directory.newest() + 1)

    @abstractmethod
    def _publish(self, number: int) -> None:
        """Make the staging index the current snapshot, of that number."""

    def close_work(self) -> None:  # noqa: B027
        """Flush and close the staging index; the lock is kept."""

    def release(self) -> None:
        """Release the staging index, which may then be removed; the lock is kept."""
        try:
            self.close_work()
        finally:
            self.counts.forget()

    def close(self) -> None:
        """Release files and connections; unpublished writes are lost, save those on a server."""
        with self.mutex, ExitStack() as stack:
            stack.callback(self._end_writing)
            stack.callback(self._close_reader)
            stack.callback(self._close_points)
            stack.callback(self.counts.forget)
            self.close_work()
            self.counts.keep()

    def _end_writing(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    @abstractmethod
    def _close_points(self) -> None:
        """Close what holds the points."""

    def _close_reader(self) -> None:
        for opened in (self._manifest, self._frequencies, self._snapshot):
            if opened is not None:
                opened.close()
        self._manifest = self._frequencies = self._snapshot = None

    # -- reading points ----------------------------------------------------------------

    @abstractmethod
    def search_points(self, queries: Sequence[PointQuery]) -> list[list[Point]]:
        """Return the hits of each query, the order of equal scores left open."""

    @abstractmethod
    def scroll(
        self,
        limit: int,
        offset: str | None = None,
        where: Filter | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
        is_newest: bool = False,
    ) -> tuple[list[Point], str | None]:
        """Return `limit` points in order of id, and the offset of the next, `None` at the end.

        :param is_newest: those that were created last instead, and no offset.
        """

    def point_pages(
        self, size: int, offset: str | None = None, where: Filter | None = None, **how: Any
    ) -> Iterator[tuple[list[Point], str | None]]:
        """Yield what `scroll` returns, until the end."""
        while True:
            points, offset = self.scroll(size, offset, where, **how)
            yield points, offset
            if offset is None:
                return

    @abstractmethod
    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        """Return those of some points that there are.

        :param vectors: the spaces whose vectors are read too; there must be such.
        """

    @abstractmethod
    def count_points(self, where: Filter | None = None) -> int:
        """Return how many points a filter selects."""

    @property
    @abstractmethod
    def embedding_dim(self) -> int | None:
        """The size of the embeddings, or `None` when the index holds none."""

    def expect(self, dimensions: Iterable[int]) -> None:  # noqa: B027
        """Make ready for queries with these dimensions of the lexical space.

        The embedded engine opens an index for those that a query has, and again for others: who
        is going to ask several queries says so, and it is opened once for all.
        """

    @abstractmethod
    def holds_points(self) -> bool:
        """Return whether there is a staging index that may hold points."""

    def unknown_points(self) -> list[str]:
        """Return the ids of the points being written that no note of the manifest has."""
        return []

    # -- writing points ----------------------------------------------------------------

    @abstractmethod
    def reserve(self, size: int) -> None:
        """Become the writer, and make sure that so many bytes can be written.

        :raises LockedError: when another process is writing.
        :raises IndexingError: when there is no room.
        """

    @abstractmethod
    def upsert(self, points: Sequence[Point]) -> None:
        """Write points, over those of the same id."""

    def write_points(self, points: Sequence[Point]) -> None:
        """Write points, over those of the same id, and count them."""
        with self.mutex:
            self.reserve(sum(map(weight, points)))
            self.fit_dense_space(row for point in points for row in point.embeddings or ())
            with self.counts.changing([point.id for point in points], points):
                self.upsert(points)

    def delete_points(self, ids: Sequence[str]) -> None:
        """Delete points, and count them no more; unknown ids are passed over."""
        with self.mutex, self.counts.changing(ids):
            self._delete(ids)

    @abstractmethod
    def _delete(self, ids: Sequence[str]) -> None:
        """Delete points."""

    @abstractmethod
    def update_vectors(self, vectors: Mapping[str, list[list[float]]]) -> None:
        """Give points, by id, the embeddings of their sentences; all else of them stays."""

    @abstractmethod
    def add_dense_space(self, size: int) -> None:
        """Make room for embeddings of that size, any number a point."""

    @abstractmethod
    def drop_dense_space(self) -> None:
        """Forget all embeddings, and their size."""

    def fit_dense_space(self, embeddings: Iterable[Sequence[float]]) -> None:
        """Make room for embeddings, or check their size: a wrong one would leave half written.

        :raises ValueError: when they are not all of the size that the index holds.
        """
        sizes = {len(embedding) for embedding in embeddings}
        if not sizes:
            return
        size = self.embedding_dim
        if size is None and len(sizes) == 1:
            self.add_dense_space(sizes.pop())
        elif sizes != {size}:
            raise ValueError(f"embeddings of {sorted(sizes)} dimensions; the index holds {size}")


class ChunkCounts:
    """The document frequencies of a store: kept with every write, multiplied into every query.

    A writer's are in a file of the staging index. It is removed before the first write, and written
    again at the end: where a writer was killed there is none, and all points are counted anew.
    """

    def __init__(self, points: IndexPoints) -> None:
        self.points = points
        self._staged: Frequencies | None = None  # of the staging index, without `_changes`
        self._changes = FrequencyChanges()
        self._is_removed = False  # the file; without `_staged` the points are counted then

    # -- reading -----------------------------------------------------------------------

    def query_for(
        self,
        query: SparseEmbedding | list[float],
        limit: int,
        where: Filter | None,
        fields: Fields = False,
    ) -> PointQuery:
        """Return the query for the points nearest to a vector; words are weighed by their IDF."""
        if isinstance(query, list):
            return PointQuery(dense_vector(query), limit, where, fields)
        vector = sparse_vector(query)
        with self.points.mutex:
            return PointQuery(self._in_use().weigh(vector), limit, where, fields)

    def rarity(self, dimension: int) -> float:
        """Return the inverse document frequency of a dimension, 0 or more."""
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
        if self._staged is not None and self._changes:
            try:
                self._staged = self._changes.applied_to(self._staged)
            except ValueError:
                self._staged = None
        if self._staged is None:
            self._staged = self._counted()
        self._changes = FrequencyChanges()
        return self._staged

    def _counted(self) -> Frequencies:
        """Count all points."""
        frequencies = Frequencies.empty()
        for points, _ in self.points.point_pages(_PAGE, fields=False, vectors=True):
            changes = FrequencyChanges()
            changes.add(_vectors(points))
            frequencies = changes.applied_to(frequencies)
        return frequencies

    # -- writing -----------------------------------------------------------------------

    @contextmanager
    def changing(self, ids: Sequence[str], written: Sequence[Point] = ()) -> Iterator[None]:
        """Count no more the points of some ids, which are deleted or written over meanwhile.

        :param written: the points that take their places.
        """
        self._begin()
        replaced: list[Point] = []
        if self._staged is not None and (self._staged.chunks or self._changes):
            replaced = self.points.retrieve([*dict.fromkeys(ids)], fields=False, vectors=[SPARSE])
        try:
            yield
        except BaseException:  # some of it may have been done
            self._staged = None
            raise
        self._changes.remove(_vectors(replaced))
        self._changes.add(_vectors({point.id: point for point in written}.values()))

    def add(self, part: Path) -> None:
        """Count the points of segments that are moved in; the file holds their frequencies."""
        self._begin()
        if self._staged is not None:
            added = Frequencies.open(part)
            self._staged = self.now().changed(added.chunks, *added.counts())
            added.close()

    def take(self, frequencies: Frequencies) -> None:
        """Take over the counts of another store, whose points are those that will be published."""
        self._begin()
        self._staged = Frequencies.empty().changed(frequencies.chunks, *frequencies.counts())
        self._changes = FrequencyChanges()

    def _begin(self) -> None:
        """Read the file, and remove it: from now on it would not be true."""
        self.points.begin_writing()
        self._read()
        if not self._is_removed:
            self.points.directory.begin_work()
            self._file.unlink(missing_ok=True)
            self._is_removed = True

    def _read(self) -> None:
        if self._staged is not None or self._is_removed:
            return
        self.points.directory.begin_work()
        try:
            self._staged = Frequencies.open(self._file)
        except (OSError, ValueError):
            self._staged = None if self.points.holds_points() else Frequencies.empty()
            self._is_removed = True

    # -- the end -----------------------------------------------------------------------

    def write(self) -> None:
        """Write the file, if it does not say the same already."""
        frequencies = self.now()
        if self._is_removed:
            self._file.parent.mkdir(exist_ok=True)
            replace_durably(self._file, frequencies.to_bytes())
            self._is_removed = False

    def keep(self) -> None:
        """Write the file if all that was written here was counted; else leave it away."""
        if self._staged is not None:
            self.write()

    def forget(self) -> None:
        """Believe what the staging index says when it is asked next."""
        if self._staged is not None:
            self._staged.close()
        self._staged, self._changes, self._is_removed = None, FrequencyChanges(), False

    @property
    def _file(self) -> Path:
        return self.points.directory.work / FREQUENCIES


def _vectors(points: Iterable[Point]) -> Iterator[SparseVector]:
    return (point.sparse for point in points if point.sparse is not None)
