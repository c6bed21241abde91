"""Which shard a store reads or writes: a published snapshot, or its own staging index."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import qdrant_edge as qe

from rag.exceptions import IndexUnavailableError
from rag.index.index_errors import damaged_index
from rag.index.index_snapshot import IndexSnapshot
from rag.index.snapshots import SHARD, IndexDirectory
from rag.stores.base.access import Access
from rag.stores.edge.layout.dimension_tables import small_tables, sort_tables
from rag.stores.edge.layout.field_indexes import drop_null_indexes
from rag.stores.edge.layout.journal import restart
from rag.stores.edge.layout.private_copy import openable
from rag.stores.edge.layout.snapshot_copy import copy_for_readers
from rag.stores.edge.shard import (
    StoreError,
    create_shard,
    guard,
    has_many_segments,
    load_shard,
    load_work,
    merge,
    merge_widely,
)
from rag.support.disk_space import disk_full, is_of_full_disk
from rag.support.process_exit import keep

# Fresh points are indexed in memory, some 15 KB each, until a merge writes them out, and the
# engine gives back what it mapped and allocated only when the shard is closed: merging and
# reopening as points come keeps the writer's memory low.
_MERGE_EVERY = 8_000
# To open a shard for all words takes four times as long as for those of a query; who has asked as
# often as this will go on asking.
_NARROW = 3


class ShardAccess(Access):
    """Opens and closes the shards of one index, for one writer and any number of readers.

    It reads the current snapshot, or, from the first write on, its own staging index.

    :param directory: the folder of the index.
    """

    def __init__(self, directory: IndexDirectory) -> None:
        super().__init__(directory)
        self._work: qe.EdgeShard | None = None
        self._unmerged = 0
        # The snapshot's shard, as often as it was opened; the last is read. Closing one takes
        # longer than reading, so that those before it stay as long as the snapshot does.
        self._readers: list[qe.EdgeShard] = []
        self._known: frozenset[int] | None = frozenset()  # the last one's dimensions; None: all
        self._may_open_whole = True  # until it is closed, perhaps before a thread gets to it

    # -- writing -----------------------------------------------------------------------

    def _prepare_writing(self) -> None:
        """Do nothing: `work` opens the staging index when it is first written to."""

    def work(self) -> qe.EdgeShard:
        """Return the staging index, opened for writing.

        :raises LockedError: when another process is writing.
        """
        with self.mutex:
            if self._work is None:
                self.begin_writing()
                path = self.directory.work / SHARD
                self.directory.require_reserve()
                self.directory.working.mark.begin()
                self.directory.working.open_shard()
                self._work = load_work(path) if path.exists() else create_shard(path)
            return self._work

    def count_written(self, points: int) -> None:
        """Take note of points written, and merge when there are enough of them."""
        self._unmerged += points
        if self._unmerged >= _MERGE_EVERY:
            merge(self.work(), self._unmerged)
            self._unmerged = 0
            self.close_work()

    def close_work(self) -> None:
        with self.mutex:
            if self._work is not None:
                shard, self._work = self._work, None
                with guard("flush the index"):
                    shard.flush()  # close() swallows what goes wrong here
                    shard.close()

    def publish(self, number: int | None = None) -> None:
        """Make the staging index the current snapshot, if it can be read as one.

        :param number: the snapshot's number; by default the next one.
        :raises IndexingError: when the disk has no room.
        :raises StoreError: when it cannot be read.
        """
        with self.mutex:
            shard = self.work()
            merge(shard, self._unmerged)
            with guard("count"):
                info = shard.info()
            self.close_work()
            if has_many_segments(info):
                info = merge_widely(self.directory.work / SHARD)
            self.directory.require_reserve()
            with guard("begin a new journal"):
                restart(self.directory.work / SHARD)
            sort_tables(self.directory.work / SHARD)
            points = info.points_count
            try:
                drop_null_indexes(self.directory.work / SHARD)
                self.directory.publish(
                    number or self.directory.newest() + 1,
                    points,
                    partial(copy_for_readers, points=points),
                )
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                raise StoreError("the staging index is damaged", repr(error)) from error

    # -- reading -----------------------------------------------------------------------

    def shard(self, dimensions: frozenset[int] = frozenset()) -> qe.EdgeShard | None:
        """Return the shard to read, or `None` when nothing was ever written.

        :param dimensions: those of the lexical space that it will be asked for, all of them.
        """
        with self.mutex:
            if self._work is not None:
                return self._work
            if self.reads_work:
                return self.work()
            snapshot = self._hold()
            if snapshot is None:
                return None
            if not self._readers or not (self._known is None or dimensions <= self._known):
                self._open_reader(snapshot, dimensions)
            return self._readers[-1]

    def open_whole(self) -> None:
        """Open the current snapshot for all dimensions, for who will ask for many.

        :raises IndexUnavailableError: as for `shard`.
        """
        with self.mutex:
            if not self._may_open_whole or self._readers:
                return
            if snapshot := self._hold():
                self._open_reader(snapshot, None)

    @property
    def reads_work(self) -> bool:
        return self._writing is not None and self.holds_points()

    def has_unknown_points(self) -> bool:
        return False  # the manifest and the shard are published together

    def remove_unknown_points(self) -> None:
        """Do nothing: there are none."""

    def holds_points(self) -> bool:
        return (self.directory.work / SHARD).exists()

    def home(self) -> Path | None:
        """Return the folder of the index that `shard` reads."""
        with self.mutex:
            if self.reads_work:
                return self.directory.work
            snapshot = self._hold()
            return snapshot.path if snapshot else None

    def _close_points(self) -> None:
        self._may_open_whole = False
        try:
            self.close_work()
        finally:
            if keep(*self._readers):  # nobody asks them any more: a writer may remove their files
                self._readers = []

    def _open_reader(self, snapshot: IndexSnapshot, dimensions: frozenset[int] | None) -> None:
        """Open a snapshot's shard: for the dimensions asked for at first, then for all.

        :param dimensions: `None` are all.
        """
        is_narrow = dimensions is not None and len(self._readers) < _NARROW
        wanted = (dimensions or frozenset()).union(self._known or ()) if is_narrow else None
        try:
            if not self._readers:
                snapshot.check()
            shard, self._known = _load(snapshot.path / SHARD, wanted)
            self._readers.append(shard)
            with guard("count"):
                found, expected = shard.info().points_count, snapshot.points
        except (IndexUnavailableError, OSError, ValueError) as error:
            self._close_reader()
            if is_of_full_disk(error):
                raise disk_full(self.directory.path, details=str(error)) from error
            if isinstance(error, IndexUnavailableError) and not isinstance(error, StoreError):
                raise
            raise damaged_index(self.directory.path, str(error)) from error
        if found != expected:
            self._close_reader()
            raise damaged_index(self.directory.path, f"{found} of {expected} points")

    def _close_reader(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers, self._known = [], frozenset()
        super()._close_reader()


def _load(
    shard: Path, dimensions: frozenset[int] | None
) -> tuple[qe.EdgeShard, frozenset[int] | None]:
    """Open a snapshot's shard for some dimensions; return with it those it then knows.

    `None` are all.
    """
    tables = {} if dimensions is None else small_tables(shard, dimensions)
    with openable(shard, tables) as folder:
        is_shard = folder == shard.absolute()
        return load_shard(folder), dimensions if tables and not is_shard else None
