"""The points of an index, with the manifest beside them: one writer, any number of readers.

Nothing here needs Haystack, which takes half a second to import: who will search begins to open
the points before.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from rag.index.frequencies import FREQUENCIES, Frequencies
from rag.index.index_errors import damaged_index
from rag.index.index_snapshot import IndexSnapshot
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores.base.points import Fields, Filter, Point, PointQuery


class IndexPoints(ABC):
    """The points of one index, as the embedded engine or a server keeps them.

    What is read is the current snapshot, or, once writing has begun, what is written. Where nothing
    was ever written there are no points.

    :param directory: the folder of the index.
    """

    is_synced = False  # whether what is written survives a power cut before it is published

    def __init__(self, directory: IndexDirectory) -> None:
        self.directory = directory
        self.mutex = threading.RLock()  # held over steps that must not mix with another thread's
        self._writing: ExitStack | None = None
        self._snapshot: IndexSnapshot | None = None
        self._manifest: Manifest | None = None
        self._frequencies: Frequencies | None = None
        self._pins = 0

    # -- opening and closing -----------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process is.
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
            snapshot = self._published()
            if snapshot is None:
                return None
            path = snapshot.path / MANIFEST
            if self._manifest is None and path.exists():
                self._manifest = Manifest.open_snapshot(path)
            return self._manifest

    def snapshot_name(self) -> str | None:
        """Return the name of the snapshot being read; `None` when there is none."""
        with self.mutex:
            snapshot = self._published()
            return snapshot.name if snapshot else None

    def _published(self) -> IndexSnapshot | None:
        """Return the snapshot being read, `None` where what is written is read."""
        return None if self._writing is not None else self._hold()

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

    @abstractmethod
    def publish(self, number: int) -> None:
        """Make what was written the current snapshot, of that number.

        :raises IndexingError: when the disk has no room, or a server holds less.
        """

    def close_work(self) -> None:  # noqa: B027
        """Flush and close the staging index; the lock is kept."""

    def close(self) -> None:
        """Release files and connections; unpublished writes are lost, save those on a server."""
        with self.mutex:
            try:
                self._close_points()
            finally:
                self._close_reader()
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
    def search(self, queries: Sequence[PointQuery]) -> list[list[Point]]:
        """Return what each query finds, the order of equal scores left open."""

    @abstractmethod
    def scroll(
        self,
        limit: int,
        offset: str | None = None,
        where: Filter | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        """Return `limit` points in order of id, and the offset of the next, `None` at the end."""

    def pages(
        self,
        size: int,
        offset: str | None = None,
        where: Filter | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
    ) -> Iterator[tuple[list[Point], str | None]]:
        """Yield what `scroll` returns, until the end."""
        while True:
            points, offset = self.scroll(size, offset, where, fields=fields, vectors=vectors)
            yield points, offset
            if offset is None:
                return

    @abstractmethod
    def newest(self, limit: int, where: Filter | None, fields: list[str]) -> list[Point]:
        """Return the points that were created last."""

    @abstractmethod
    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        """Return those of some points that there are.

        :param vectors: the spaces whose vectors are read too; there must be such.
        """

    @abstractmethod
    def count(self, where: Filter | None = None) -> int:
        """Return how many points a filter selects."""

    @abstractmethod
    def dense_size(self) -> int | None:
        """Return the size of embeddings, `None` where there is no place for any."""

    def expect(self, dimensions: Iterable[int]) -> None:  # noqa: B027
        """Make ready for queries with these dimensions of the lexical space."""

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

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Delete points; unknown ids are passed over."""

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
        size = self.dense_size()
        if size is None and len(sizes) == 1:
            self.add_dense_space(sizes.pop())
        elif sizes != {size}:
            raise ValueError(f"embeddings of {sorted(sizes)} dimensions; the index holds {size}")
