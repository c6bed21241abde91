"""The folder of an index: one writer, any number of readers, whole snapshots only.

    index.lock    held by the one writer
    work/         the writer's own shard and manifest; nobody else opens it
    work/checksums, work/stamps     the same of it, as it was closed
    work/frequencies  how many chunks hold each term; it is away while they are written
    work/writing  somebody may have written to it since
    parts/        segments on their way into the writer's shard
    gen-7/        a snapshot: a closed copy of work/ that is never written again
    gen-7/rag-narrow-x/  links to its shard, while a reader opens it for the words of a query; in
                  memory instead where the system has a folder for that
    gen-7/frequencies  the same of the snapshot
    gen-7/checksums, gen-7/stamps   what its files hold, and look like since that was seen
    gen-7.lock    held, shared, by every reader of gen-7
    CURRENT       the name of the snapshot to read
    UNSYNCED      the run of the machine in which work/, which is not synced, was written last
    SERVER        where the points are, when a server holds them: then there are no shards here

A snapshot appears by a rename and is announced by replacing CURRENT, so a reader sees the
old one or the new one, whole, wherever a writer is killed. All of it is synced before, and the one
before it goes last, so that the same holds where the machine goes down. Loading a shard writes into
its folder: nothing here ever loads one that another process may have open for writing.

The folder, and each in it that is ever deleted, has a mark (`rag.support.owned_folders`).
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rag.exceptions import REBUILD_INDEX, IndexUnavailableError, UsageError
from rag.index.checksums import Record, Seen, find_damage
from rag.index.index_errors import NO_INDEX, NO_INDEX_HINT, not_a_file
from rag.index.index_snapshot import POINTS, IndexSnapshot
from rag.index.shard_files import CONFIG, discard
from rag.index.staging_files import Copied, WorkingFiles, copied_size, copy_folder
from rag.support.disk_space import RESERVE, disk_in_view, is_watched, require_room
from rag.support.durable_files import replace_durably, sync_folder, sync_tree
from rag.support.file_locks import lock_index
from rag.support.owned_folders import (
    MARK,
    claim_data_folder,
    claim_index_folder,
    make_owned,
    remove,
)
from rag.support.regular_files import read_file, strange_kind
from rag.support.sparse_files import Checksum, checksum

if TYPE_CHECKING:
    from rag.config import RAGConfig

SHARD = "shard"
MANIFEST = "manifest.sqlite3"
SERVER = "SERVER"
LINKED = "rag-narrow-"  # how the name of a folder of links to a shard begins
MEMORY = "/dev/shm"  # where they are made, where the system has it
CURRENT = "CURRENT"
_LOCK = "index.lock"
_NUMBER = re.compile(r"\.?gen-(\d+)(?:\.lock|\.tmp)?")
_OPENING = 3600.0  # seconds that nobody needs to open a shard, even if it is stopped meanwhile

Copy = Callable[[Path, Path, str, Mapping[str, Checksum]], Copied]


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

    @classmethod
    def of(cls, config: RAGConfig) -> IndexDirectory:
        """Return that of the configured index."""
        return cls(config.index_dir, config.data_dir)

    @cached_property
    def working(self) -> WorkingFiles:
        """The files of the working copy; readers do without."""
        return WorkingFiles(self.work, MANIFEST)

    # -- readers -----------------------------------------------------------------------

    def current(self) -> str | None:
        """Return the name of the snapshot to read, or `None` when there is none.

        It is the one announced. Where that cannot be, since a disk lost something, it is the newest
        of those that can.
        """
        announced = self.announced()
        if announced and _NUMBER.fullmatch(announced) and self.is_whole(announced):
            return announced
        names = map(_name, sorted(self._numbers(), reverse=True))
        return next(filter(self.is_whole, names), announced)

    def announced(self) -> str | None:
        """Return the name in CURRENT, though nothing may have it; `None` when there is none.

        :raises IndexUnavailableError: when it is no file.
        """
        file = self.path / CURRENT
        if kind := strange_kind(file):
            raise not_a_file(file, kind)
        try:
            return file.read_text("ascii", "replace").strip() or None
        except FileNotFoundError:
            return None

    def strange_files(self) -> Iterator[tuple[Path, str]]:
        """Yield what is in the place of CURRENT or of a lock, and what it is: "a folder"."""
        for file in (self.path / _LOCK, self.path / CURRENT, *self.path.glob("gen-*.lock")):
            if kind := strange_kind(file):
                yield file, kind

    def is_whole(self, name: str) -> bool:
        """Return whether the files that a snapshot cannot do without are there, and not empty."""
        parts = [MANIFEST]
        if not (self.path / SERVER).exists():
            parts += [f"{SHARD}/{CONFIG}", f"{SHARD}/segments"]
        with suppress(OSError, ValueError):
            int(read_file(self.path / name / POINTS))
            return all(_holds_something(self.path / name / part) for part in parts)
        return False

    def damage(self, all_read: bool = False, seen: Seen | None = None) -> list[str] | None:
        """Return the files of the current snapshot that do not hold what was published.

        :param all_read: do not believe the files' stamps.
        :param seen: files that were read a moment ago.
        :returns: `None` where nothing is known, or where there is no snapshot.
        """
        name = self.current()
        return find_damage(self.path / name, all_read=all_read, seen=seen) if name else None

    def open_current(self) -> IndexSnapshot:
        """Hold the current snapshot.

        :raises IndexUnavailableError: when there is no index.
        """
        for _ in range(1000):  # each turn means a whole snapshot was published meanwhile
            name = self.current()
            if name is None:
                break
            if not (self.path / name).is_dir():
                if name != self.current():
                    continue
                raise IndexUnavailableError(
                    f"the index at {self.path} names a snapshot that is gone ({name})",
                    hint=REBUILD_INDEX,
                )
            lock = self._reader_lock(name)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if (self.path / name).is_dir():
                return IndexSnapshot(self.path / name, lock)
            lock.close()
        raise IndexUnavailableError(NO_INDEX, str(self.path), hint=NO_INDEX_HINT)

    def _reader_lock(self, name: str) -> IO[bytes]:
        """Open what a reader locks; nothing where it is missing and may not be made.

        Who may not write it may lock it none the less. On a disk that is read only nobody removes
        a snapshot, and neither where something else is in the place of the file.
        """
        path = self.path / f"{name}.lock"
        for mode in () if strange_kind(path) else ("ab", "rb"):
            with suppress(OSError):
                return path.open(mode)
        return Path(os.devnull).open("rb")

    # -- the writer --------------------------------------------------------------------

    @contextmanager
    def writing(self, wait: bool = False, brief: bool = False) -> Iterator[None]:
        """Be the one writer; the lock goes with the process, however it ends.

        Within one `IndexDirectory` it may be taken again; the last to leave lets go.

        :param wait: wait for another writer to finish instead of failing.
        :param brief: this one will let go in some seconds: others wait so long in any case.
        :raises LockedError: when another process is the writer.
        :raises IndexUnavailableError: when something else is in the place of a file.
        """
        if self._lock is None:
            self._lock = self._acquire(wait, brief)
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._lock.close()
                self._lock = None

    def _acquire(self, wait: bool, brief: bool) -> IO[bytes]:
        self._make()
        for file, kind in self.strange_files():
            raise not_a_file(file, kind)
        return lock_index(self.path / _LOCK, wait, brief)

    def _make(self) -> None:
        try:  # it holds the notes' text
            if self.home is not None:
                claim_data_folder(self.home)
            claim_index_folder(self.path)
        except OSError as error:
            raise UsageError(
                f"cannot make the index folder {self.path}",
                error.strerror or "",
                hint="Name another with RAG_DATA_DIR.",
            ) from error

    def newest(self) -> int:
        """Return the highest snapshot number in use, 0 when there is none."""
        return max(self._numbers(), default=0)

    def _numbers(self) -> set[int]:
        with suppress(FileNotFoundError):
            names = [self.announced() or "", *(path.name for path in self.path.iterdir())]
            return {int(match[1]) for match in map(_NUMBER.fullmatch, names) if match}
        return set()

    def publish(self, number: int, points: int, copy: Copy = copy_folder) -> None:
        """Make `work/`, whose shard must be flushed and closed, the current snapshot.

        The one before stays until this one is safe on the disk.

        :param number: the snapshot's number, higher than any before.
        :param points: how many points the shard holds; readers compare.
        :param copy: copies `work/`, as `copy_folder` does, and fails when the copy cannot be read.
        :raises DiskFullError: when the disk has no room for the copy.
        """
        with self._staged(number, self._room_to_publish) as staged:
            copied = copy(self.work, staged, SHARD, self.working.known)
            record = self._complete(staged, number, points, copied.copy)
        # First: a staging index that lost what was announced must not be taken for what it was.
        self.working.publish(copied.work, record)
        self._announce(number)
        # To remove the snapshot before has changed what the system says of files it shared.
        self.working.stamp(record)

    def import_files(self, number: int, points: int, fill: Callable[[Path], None]) -> None:
        """Make files from elsewhere the current snapshot; the staging index stays as it is.

        :param number: the snapshot's number, higher than any before.
        :param points: how many points belong to it.
        :param fill: writes the files into a folder.
        :raises DiskFullError: when the disk has no room for them.
        """
        with self._staged(number, lambda: RESERVE) as staged:
            fill(staged)
            files = [path for path in staged.iterdir() if path.name != MARK]
            sums = {path.name: checksum(path) for path in files}
            self._complete(staged, number, points, sums)
        self._announce(number)

    @contextmanager
    def _staged(self, number: int, room: Callable[[], int]) -> Iterator[Path]:
        """Make the folder that becomes a snapshot, once all of it is on the disk."""
        name = _name(number)
        staged = self.path / f".{name}.tmp"
        remove(staged)
        with disk_in_view(self.path, room):
            make_owned(staged)
            yield staged
            sync_tree(staged)
        # Made by a reader it might lack a block of a full disk, and of one that is read only.
        (self.path / f"{name}.lock").touch()
        staged.rename(self.path / name)
        sync_folder(self.path)

    def _complete(
        self, staged: Path, number: int, points: int, sums: Mapping[str, Checksum]
    ) -> Record:
        (staged / POINTS).write_text(str(points), "ascii")
        record = Record(self.path / _name(number), {**sums, POINTS: checksum(staged / POINTS)})
        record.write(staged)
        return record

    def _announce(self, number: int) -> None:
        replace_durably(self.path / CURRENT, _name(number).encode())
        self.sweep()

    def sweep(self) -> None:
        """Remove snapshots that nobody reads any more, and what killed writers left."""
        current = self.current()
        self.clear_unfinished()
        links = Path(MEMORY).glob(f"{LINKED}*")
        for left in (*self.path.glob(f"gen-*/{LINKED}*"), *self.path.glob("gen-*/*.tmp"), *links):
            with suppress(OSError):  # it may be gone meanwhile
                seen = left.lstat()
                if seen.st_uid == os.getuid() and time.time() - seen.st_mtime > _OPENING:
                    discard(left)
        if not current or not (self.path / current).is_dir():  # any may be the best there is
            return
        for old in self.path.glob("gen-*"):
            name = old.name.removesuffix(".lock")
            if name == current:
                continue
            lock_file = self.path / f"{name}.lock"
            with lock_file.open("ab") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                remove(self.path / name)
                with suppress(FileNotFoundError):
                    lock_file.unlink()

    def clear_unfinished(self) -> None:
        """Remove what no run goes on with: parts, and snapshots that were not completed."""
        self.clear_parts()
        for staged in self.path.glob(".gen-*.tmp"):
            remove(staged)

    def clear_work(self) -> None:
        """Forget the writer's own state; it is rebuilt from the notes."""
        remove(self.work)
        make_owned(self.work)
        self.working.mark.forget()

    def clear_parts(self) -> None:
        """Remove the segments that no shard took in."""
        remove(self.parts)

    def make_parts(self) -> None:
        """Make the folder for segments on their way into the shard."""
        make_owned(self.parts)

    def _room_to_publish(self) -> int:
        """Return the bytes that a copy of `work/` takes at most, and take back half of one."""
        self.clear_unfinished()
        return copied_size(self.work)

    def require_reserve(self, need: int = 0) -> None:
        """Make sure that the engine can write `need` bytes, for which a full disk would end the
        process, unless another process says so then.

        :raises DiskFullError: when it may not be able to.
        """
        if not is_watched():
            require_room(self.path, need + RESERVE)


def _holds_something(path: Path) -> bool:
    facts = path.stat()
    return stat.S_ISDIR(facts.st_mode) or facts.st_size > 0


def _name(number: int) -> str:
    return f"gen-{number}"
