"""The folder of an index: one writer, any number of readers, whole snapshots only.

    index.lock    held by the one writer
    work/         the next snapshot, while it is written
    parts/        segments on their way into its shard
    gen-7/        a snapshot: a shard and a manifest; never written again
    gen-7/checksums   what its files held when it was published (`rag.index.shard_files`)
    CURRENT       the name of the snapshot to read
    DAMAGED       what a reader found wrong: the next `rag index` makes the index anew
    SERVER        where the points are, when a server holds them: then there are no shards here

To write: take the lock, copy the current snapshot to work/ (what the engine never writes again gets
a second name instead), change that, close it, sync it, rename it to gen-8, replace CURRENT; gen-7
goes when no reader holds it. Wherever a writer is killed or the power fails, readers see gen-7 or
gen-8, whole, and the next writer begins with what they see. To read: lock the snapshot in CURRENT,
and open what it holds. The folder, and each in it that is ever deleted, has a mark
(`rag.support.files`): that of a snapshot is what its readers lock.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING

from rag.exceptions import (
    INDEX_FROM_NOTES,
    IndexUnavailableError,
    LockedError,
    UsageError,
)
from rag.index.shard_files import find_damage, is_fixed, is_unlisted, write_checksums
from rag.support.closing import Closing
from rag.support.disk_space import (
    LITTLE,
    RESERVE,
    copy_tree,
    disk_in_view,
    disk_usage,
    require_room,
)
from rag.support.files import (
    MARK,
    claim_data_folder,
    make_owned,
    read_file,
    regular_file,
    remove,
    replace_durably,
    sync_folder,
    sync_tree,
)

if TYPE_CHECKING:
    from rag.config import RAGConfig

SHARD, MANIFEST = "shard", "manifest.sqlite3"  # in a snapshot
CURRENT, DAMAGED, SERVER, LOCK = "CURRENT", "DAMAGED", "SERVER", "index.lock"  # beside them
NO_INDEX = "there is no index yet"
NO_INDEX_HINT = "Make one with `rag index FOLDER` (FOLDER holds your .md files)."
BEING_MADE = "It is being made: try again in a moment."
_OF_INDEX = r"CURRENT|DAMAGED|SERVER|[a-z]+\.lock|gen-\d+|work|parts|scans|vectors\.sqlite3.*"
_NUMBER = re.compile(r"gen-(\d+)")
_GROWTH = 12  # bytes that a first index takes, at most, for a byte of the notes
_BRIEF, _PATIENCE, _PAUSE = " briefly", 30.0, 0.02  # of a writer that lets go in some seconds


def damaged_index(path: Path, details: str) -> IndexUnavailableError:
    """Return the error that says that an index is damaged, and what mends it; leave word of it for
    the next `rag index`, which then makes the index anew. Files that may not be read are no damage.

    :param path: the folder of the index.
    """
    for file in path.rglob("*"):
        if not os.access(file, os.R_OK) and os.path.lexists(file):
            hint = f"`chmod -R u+rwX {quote(str(path))}` makes it readable, if it is yours."
            return IndexUnavailableError(f"{file} cannot be read", details, hint=hint)
    with suppress(OSError):  # it may be somebody else's
        replace_durably(path / DAMAGED, details.encode("utf-8", "replace"))
    return IndexUnavailableError(f"the index at {path} is damaged", details, hint=INDEX_FROM_NOTES)


@dataclass(eq=False)
class IndexSnapshot(Closing):
    """A snapshot that this process holds against removal, by a lock; `close` lets it go."""

    path: Path
    lock: IO[bytes]

    def close(self) -> None:
        self.lock.close()


class IndexDirectory:
    """The files of one index.

    :param path: its folder; made when something is written.
    :param home: the data folder that it lies in.
    """

    def __init__(self, path: str | Path, home: Path | None = None) -> None:
        self.path = Path(path)
        self.home = home
        self.work = self.path / "work"
        self.parts = self.path / "parts"
        self._lock: IO[bytes] | None = None
        self._holders = 0
        self.has_work = False  # whether `work/` is this writer's next snapshot
        self.notes_size = 0  # bytes of the notes that are to be written

    @classmethod
    def of(cls, config: RAGConfig) -> IndexDirectory:
        """Return that of the configured index."""
        return cls(config.index_dir, config.data_dir)

    # -- readers -----------------------------------------------------------------------

    def current(self) -> str | None:
        """Return the name of the snapshot to read; `None` when there is none. Where CURRENT is
        damaged, it is a name that no snapshot has."""
        try:
            name = read_file(self.path / CURRENT).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
        return name if _NUMBER.fullmatch(name) else "gen-0"

    def damage(self) -> list[str]:
        """Return what is damaged: what a reader has reported, and files of the current snapshot
        that do not hold what was published, as far as their size or time tells."""
        name = self.current()
        damaged = find_damage(self.path / name) if name else []
        with suppress(OSError):
            damaged.append(read_file(self.path / DAMAGED).decode("utf-8", "replace"))
        return damaged

    def open_current(self) -> IndexSnapshot:
        """Hold the current snapshot.

        :raises IndexUnavailableError: when there is no index, or none of the name in CURRENT.
        """
        while name := self.current():  # each turn means a snapshot was published meanwhile
            folder = self.path / name
            lock = _open_lock(folder)
            fcntl.flock(lock, fcntl.LOCK_SH)
            is_current = name == self.current()  # else it may be being removed
            if is_current and folder.is_dir():
                return IndexSnapshot(folder, lock)
            lock.close()
            if is_current:
                raise damaged_index(self.path, f"there is no snapshot of the name in {CURRENT}")
        hint = NO_INDEX_HINT
        with suppress(OSError), self.alone(LOCK) as is_alone:
            hint = NO_INDEX_HINT if is_alone else BEING_MADE
        raise IndexUnavailableError(NO_INDEX, str(self.path), hint=hint)

    # -- the writer --------------------------------------------------------------------

    @contextmanager
    def writing(self, wait: bool = False, brief: bool = False) -> Iterator[None]:
        """Be the one writer; the lock goes with the process, however it ends, or with the last to
        leave.

        :param wait: wait for another writer to finish instead of failing with a `LockedError`.
        :param brief: this one will let go in some seconds: others wait so long in any case.
        """
        if self._lock is None:
            with self.disk_in_view():
                self._make()
            self._lock = self._writer_lock(wait, brief)
            self.clear_unfinished()
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self.has_work = False
                self._lock.close()
                self._lock = None

    @contextmanager
    def alone(self, name: str) -> Iterator[bool]:
        """Yield whether this is the one process that holds a lock of that name meanwhile."""
        with open(self.path / name, "a+b", opener=regular_file) as lock:
            yield _is_locked(lock)

    def _make(self) -> None:
        try:  # it holds the notes' text
            if self.home is not None:
                claim_data_folder(self.home)
            make_owned(self.path.resolve(), _OF_INDEX)
        except OSError as error:
            raise UsageError(
                f"cannot make the index folder {self.path}",
                error.strerror or "",
                hint="Name another with RAG_DATA_DIR.",
            ) from error

    def _writer_lock(self, wait: bool, brief: bool) -> IO[bytes]:
        """Return the locked file; parameters and errors are those of `writing`."""
        until = time.monotonic() + _PATIENCE
        with ExitStack() as stack:
            lock = stack.enter_context(open(self.path / LOCK, "a+b", opener=regular_file))
            while not _is_locked(lock, wait):
                lock.seek(0)
                holder = lock.read(64).decode("ascii", "replace").strip()
                if not holder.endswith(_BRIEF) or time.monotonic() > until:
                    holder = f" (process {holder.removesuffix(_BRIEF)})" if holder else ""
                    raise LockedError(
                        f"another process is writing the index{holder}",
                        hint="Try again later, or wait for it with `rag index --wait`.",
                    )
                time.sleep(_PAUSE)
            lock.truncate(0)
            lock.write(f"{os.getpid()}{_BRIEF if brief else ''}".encode())
            lock.flush()
            stack.pop_all()
        return lock

    def newest(self) -> int:
        """Return the highest snapshot number in use, 0 when there is none."""
        names = [self.current() or "", *(path.name for path in self.path.glob("gen-*"))]
        return max((int(match[1]) for match in map(_NUMBER.fullmatch, names) if match), default=0)

    def begin_work(self) -> Path:
        """Return `work/`, which at first holds what the current snapshot does; the lock is held."""
        if not self.has_work:
            with self.disk_in_view():
                make_owned(self.work)
                if self.current():
                    with self.open_current() as current:
                        copy_tree(current.path, self.work, is_unlisted, is_fixed)
            self.has_work = True
        return self.work

    def clear_work(self) -> None:
        """Begin the next snapshot with nothing in it."""
        remove(self.work)
        make_owned(self.work)
        self.has_work = True

    def publish(self, number: int) -> None:
        """Make `work/`, whose shard must be flushed and closed, the current snapshot of a number
        higher than any before, once all of it is on the disk.

        :raises DiskFullError: when the disk has no room for it.
        """
        name, before = f"gen-{number}", self.current()
        with self.disk_in_view():
            write_checksums(self.work, self.path / before if before else None)
            sync_tree(self.work)
            self.work.rename(self.path / name)
            self.has_work = False
            sync_folder(self.path)
            replace_durably(self.path / CURRENT, name.encode())
            (self.path / DAMAGED).unlink(missing_ok=True)
            self.sweep()

    def sweep(self) -> None:
        """Remove snapshots that nobody reads any more."""
        current = self.path / (self.current() or "gen-0")
        if not current.is_dir():  # it is made anew first
            return
        for folder in {*self.path.glob("gen-*")} - {current}:
            with _open_lock(folder) as lock:
                if _is_locked(lock):
                    remove(folder)

    def clear_unfinished(self) -> None:
        """Remove what a killed writer left, and no run goes on with."""
        remove(self.parts)
        if not self.has_work:
            remove(self.work)

    # -- room --------------------------------------------------------------------------

    def size_of_copy(self) -> int:
        """Return the bytes that the next snapshot takes beside the current one."""
        return disk_usage(self.path / (self.current() or self.work.name), is_fixed)

    def room_to_write(self) -> int:
        """Return free bytes that are enough, nearly always, for the notes to be written."""
        if self._lock:
            self.clear_unfinished()
        copies = 2 if self.notes_size else 1  # where notes are written, segments may be merged
        return LITTLE + RESERVE + _GROWTH * self.notes_size + copies * self.size_of_copy()

    def disk_in_view(self) -> AbstractContextManager[None]:
        """Say of what fails on a full disk that the disk is full."""
        return disk_in_view(self.path, self.room_to_write)

    def require_reserve(self) -> None:
        """Raise a DiskFullError where the engine may not have the room to write a batch of points:
        a full disk would end the process."""
        require_room(self.path, RESERVE)


def _open_lock(snapshot: Path) -> IO[bytes]:
    """Open what the readers of a snapshot lock: its mark. Who may not write it may lock it none the
    less; a folder without a mark is never removed."""
    for mode in ("r+b", "rb"):
        with suppress(OSError):
            return open(snapshot / MARK, mode, opener=regular_file)
    return Path(os.devnull).open("rb")


def _is_locked(file: IO[bytes], wait: bool = False) -> bool:
    """Lock an open file, and return whether that was done: nobody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True
