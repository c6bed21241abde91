"""Opening and closing an index: one writer, any number of readers, and the manifest they read."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rag.index.frequencies import FREQUENCIES, Frequencies
from rag.index.index_errors import damaged_index
from rag.index.index_snapshot import IndexSnapshot
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory

Generation = IndexSnapshot  # the name that `rag.stores` exports


class Access(ABC):
    """What the sessions of both stores share: the writer's lock, pins, the manifest, closing.

    It reads the current snapshot of an index until it begins to write.

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

    # -- writing -----------------------------------------------------------------------

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

    @abstractmethod
    def _prepare_writing(self) -> None:
        """Make ready what is written to; the lock is held."""

    @abstractmethod
    def holds_points(self) -> bool:
        """Return whether there is a staging index that may hold points."""

    @abstractmethod
    def has_unknown_points(self) -> bool:
        """Return whether there are points that the manifest does not know."""

    @abstractmethod
    def remove_unknown_points(self) -> None:
        """Remove the points that the manifest does not know."""

    @abstractmethod
    def close_work(self) -> None:
        """Flush and close the staging index; the lock is kept."""

    @abstractmethod
    def publish(self, number: int | None = None) -> None:
        """Make what was written the current snapshot.

        :param number: the snapshot's number; by default the next one.
        :raises IndexingError: when the disk has no room, or a server holds less.
        """

    # -- reading -----------------------------------------------------------------------

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

    def manifest(self) -> Manifest | None:
        """Return the manifest that belongs to the snapshot being read.

        `None` when there is none: the index was made without one, or is being written here.
        """
        with self.mutex:
            snapshot = None if self._writing is not None else self._hold()
            if snapshot is None:
                return None
            path = snapshot.path / MANIFEST
            if self._manifest is None and path.exists():
                self._manifest = Manifest.open_snapshot(path)
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
                snapshot.check(FREQUENCIES)
                try:
                    self._frequencies = Frequencies.open(snapshot.path / FREQUENCIES)
                except (OSError, ValueError) as error:
                    raise damaged_index(self.directory.path, str(error)) from error
            return self._frequencies

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

    # -- closing -----------------------------------------------------------------------

    def close(self) -> None:
        """Release files and connections; unpublished writes stay in the staging index."""
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
