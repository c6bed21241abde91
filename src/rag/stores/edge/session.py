"""Which shard a store reads or writes: a published generation, or its own working copy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import qdrant_edge as qe

from rag.exceptions import IndexUnavailableError
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, SHARD, Generation, IndexDirectory, damaged_index
from rag.stores.edge.layout.dimension_tables import small_tables, sort_tables
from rag.stores.edge.layout.field_indexes import drop_null_indexes
from rag.stores.edge.layout.journal import begin_anew
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


class ShardAccess:
    """Opens and closes the shards of one index, for one writer and any number of readers.

    It reads the current generation, or, from the first write on, its own working copy.

    :param directory: the folder of the index.
    """

    def __init__(self, directory: IndexDirectory) -> None:
        self.directory = directory
        self.mutex = threading.RLock()
        self._work: qe.EdgeShard | None = None
        self._unmerged = 0
        self._writing: ExitStack | None = None
        self._generation: Generation | None = None
        # The generation's shard, as often as it was opened; the last is read. Closing one takes
        # longer than reading, so that those before it stay as long as the generation does.
        self._readers: list[qe.EdgeShard] = []
        self._known: frozenset[int] | None = frozenset()  # the last one's dimensions; None: all
        self._manifest: Manifest | None = None
        self._pins = 0

    # -- writing -----------------------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process is.
        """
        with self.mutex:
            if self._writing is None:
                self._close_reader()  # a writer reads its own working copy
                stack = ExitStack()
                stack.enter_context(self.directory.writing(wait))
                self._writing = stack

    def work(self) -> qe.EdgeShard:
        """Return the working copy, opened for writing.

        :raises LockedError: when another process is writing.
        """
        with self.mutex:
            if self._work is None:
                self.begin_writing()
                path = self.directory.work / SHARD
                self.directory.require_reserve()
                self.directory.sync_mark.begin()
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
        """Flush and close the working copy; the lock is kept."""
        with self.mutex:
            if self._work is not None:
                shard, self._work = self._work, None
                with guard("flush the index"):
                    shard.flush()  # close() swallows what goes wrong here
                    shard.close()

    def publish(self, number: int | None = None) -> None:
        """Make the working copy the current generation, if it can be read as one.

        :param number: the generation's number; by default the next one.
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
                begin_anew(self.directory.work / SHARD)
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
                raise StoreError("the working copy is damaged", repr(error)) from error

    # -- reading -----------------------------------------------------------------------

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: a generation, or this writer's own working copy."""
        return self._writing is not None or self.directory.current() is not None

    def shard(self, dimensions: frozenset[int] = frozenset()) -> qe.EdgeShard | None:
        """Return the shard to read, or `None` when nothing was ever written.

        :param dimensions: those of the lexical space that it will be asked for, all of them.
        """
        with self.mutex:
            if self._work is not None:
                return self._work
            if self._reads_work():
                return self.work()
            generation = self._hold()
            if generation is None:
                return None
            if not self._readers or not (self._known is None or dimensions <= self._known):
                self._open_reader(generation, dimensions)
            return self._readers[-1]

    def _reads_work(self) -> bool:
        return self._writing is not None and (self.directory.work / SHARD).exists()

    def _hold(self) -> Generation | None:
        """Return the generation to read: the current one, or that which is pinned."""
        if not (self._pins and self._generation):
            current = self.directory.current()
            if current is None:
                return None
            if self._generation is None or self._generation.name != current:
                self._close_reader()
                self._generation = self.directory.open_current()
        return self._generation

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Go on reading the generation that is current now, whatever is published meanwhile."""
        with self.mutex:
            if not self._pins and self._writing is None:
                self._hold()
            self._pins += 1
        try:
            yield
        finally:
            with self.mutex:
                self._pins -= 1

    def home(self) -> Path | None:
        """Return the folder of the index that `shard` reads."""
        with self.mutex:
            if self._reads_work():
                return self.directory.work
            generation = self._hold()
            return generation.path if generation else None

    def manifest(self) -> Manifest | None:
        """Return the manifest that belongs to the generation being read.

        `None` when there is none: the index was made without one, or is being written here.
        """
        with self.mutex:
            generation = None if self._writing is not None else self._hold()
            if generation is None:
                return None
            path = generation.path / MANIFEST
            if self._manifest is None and path.exists():
                self._manifest = Manifest.open_generation(path)
            return self._manifest

    def close(self) -> None:
        """Let go of the files; unpublished writes stay in the working copy."""
        with self.mutex:
            try:
                self.close_work()
            finally:
                if keep(*self._readers, self._generation):
                    self._readers, self._generation = [], None
                self._close_reader()
                if self._writing is not None:
                    self._writing.close()
                    self._writing = None

    def _open_reader(self, generation: Generation, dimensions: frozenset[int]) -> None:
        """Open a generation's shard: for the dimensions asked for at first, then for all."""
        wanted = dimensions.union(self._known or ()) if len(self._readers) < _NARROW else None
        try:
            if not self._readers:
                generation.check()
            shard, self._known = _load(generation.path / SHARD, wanted)
            self._readers.append(shard)
            with guard("count"):
                found, expected = shard.info().points_count, generation.points
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
        for opened in (self._manifest, *self._readers, self._generation):
            if opened is not None:
                opened.close()
        self._manifest = self._generation = None
        self._readers, self._known = [], frozenset()


def _load(
    shard: Path, dimensions: frozenset[int] | None
) -> tuple[qe.EdgeShard, frozenset[int] | None]:
    """Open a generation's shard for some dimensions; return with it those it then knows.

    `None` are all.
    """
    tables = {} if dimensions is None else small_tables(shard, dimensions)
    with openable(shard, tables) as folder:
        is_shard = folder == shard.absolute()
        return load_shard(folder), dimensions if tables and not is_shard else None
