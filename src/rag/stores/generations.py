"""The folder of an index: one writer, any number of readers, whole generations only.

    index.lock    held by the one writer
    work/         the writer's own shard and manifest; nobody else opens it
    work/checksums, work/stamps     the same of it, as it was closed
    work/writing  somebody may have written to it since
    parts/        segments on their way into the writer's shard
    gen-7/        a generation: a closed copy of work/ that is never written again
    gen-7/narrow-x/  links to its shard, while a reader opens it for the words of a query
    gen-7/checksums, gen-7/stamps   what its files hold, and look like since that was seen
    gen-7.lock    held, shared, by every reader of gen-7
    CURRENT       the name of the generation to read
    SERVER        where the points are, when a server holds them: then there are no shards here

A generation appears by a rename and is announced by replacing CURRENT, so a reader sees the
old one or the new one, whole, wherever a writer is killed. Loading a shard writes into its
folder: nothing here ever loads one that another process may have open for writing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rag.exceptions import IndexingError, IndexUnavailableError, LockedError, UsageError
from rag.stores.checksums import Record, Seen, find_damage
from rag.stores.reader_copy import copy_for_readers
from rag.stores.shard_files import CONFIG
from rag.stores.sparse_copy import checksum, disk_usage
from rag.stores.working_files import WorkingFiles

SHARD = "shard"
MANIFEST = "manifest.sqlite3"
SERVER = "SERVER"
_POINTS = "points"
_NARROW = "narrow-*"
_OPENING = 60.0  # seconds that nobody needs to open a shard
_RESERVE = 64 << 20  # bytes left free on the disk, beyond what a step is known to write

NO_INDEX = "there is no index yet"
NO_INDEX_HINT = "Make one with `rag index FOLDER` (FOLDER holds your .md files)."


def damaged_index(path: Path, details: str) -> IndexUnavailableError:
    """Return the error that says that an index is damaged, and what mends it."""
    return IndexUnavailableError(
        f"the index at {path} is damaged", details, hint="`rag index` makes it anew from the notes."
    )


class Generation:
    """A generation that this process holds against removal; `close` lets it go."""

    def __init__(self, path: Path, lock: IO[bytes]) -> None:
        self.path = path
        self._lock = lock

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def points(self) -> int:
        """The number of points its shard was published with."""
        return int((self.path / _POINTS).read_text("ascii"))

    def check(self, *wanted: str) -> bool:
        """Make sure that its files hold what was published, as far as their stamps tell.

        :param wanted: only these; by default all.
        :returns: false where nothing is known, since an older program published it.
        :raises IndexUnavailableError: when one does not.
        """
        wrong = find_damage(self.path, *wanted)
        if wrong:
            raise damaged_index(self.path.parent, f"{self.name}/{wrong[0]}")
        return wrong is not None

    def close(self) -> None:
        self._lock.close()

    def __enter__(self) -> Generation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class IndexDirectory:
    """The files of one index.

    :param path: its folder; made when something is written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.work = self.path / "work"
        self.parts = self.path / "parts"
        self.working = WorkingFiles(self.work, MANIFEST)
        self._lock: IO[bytes] | None = None
        self._holders = 0

    # -- readers -----------------------------------------------------------------------

    def current(self) -> str | None:
        """Return the name of the generation to read, or `None` when there is none."""
        try:
            return (self.path / "CURRENT").read_text("ascii", "replace").strip() or None
        except FileNotFoundError:
            return None

    def is_whole(self, name: str) -> bool:
        """Tell whether the files that a generation cannot do without are there."""
        parts = [_POINTS, MANIFEST]
        if not (self.path / SERVER).exists():
            parts += [f"{SHARD}/{CONFIG}", f"{SHARD}/segments"]
        return all((self.path / name / part).exists() for part in parts)

    def damage(self, all_read: bool = False, seen: Seen | None = None) -> list[str] | None:
        """Return the files of the current generation that do not hold what was published.

        :param all_read: do not believe the files' stamps.
        :param seen: files that were read a moment ago.
        :returns: `None` where nothing is known, or where there is no generation.
        """
        name = self.current()
        return find_damage(self.path / name, all_read=all_read, seen=seen) if name else None

    def open_current(self) -> Generation:
        """Hold the current generation.

        :raises IndexUnavailableError: when there is no index.
        :raises UsageError: when its folder may not be written.
        """
        for _ in range(1000):  # each turn means a whole generation was published meanwhile
            name = self.current()
            if name is None:
                break
            if not (self.path / name).is_dir():
                if name != self.current():
                    continue
                raise IndexUnavailableError(
                    f"the index at {self.path} names a generation that is gone ({name})",
                    hint="Make it anew with `rag index --rebuild`.",
                )
            lock = self._reader_lock(name)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if (self.path / name).is_dir():
                return Generation(self.path / name, lock)
            lock.close()
        raise IndexUnavailableError(NO_INDEX, str(self.path), hint=NO_INDEX_HINT)

    def _reader_lock(self, name: str) -> IO[bytes]:
        try:
            return (self.path / f"{name}.lock").open("ab")
        except OSError as error:  # the engine, too, opens only what it may write
            raise UsageError(
                f"the index at {self.path} may not be written, and so not be opened",
                error.strerror or "",
                hint="Make its folder writable, or copy it and name the copy with RAG_DATA_DIR.",
            ) from error

    # -- the writer --------------------------------------------------------------------

    @contextmanager
    def writing(self, wait: bool = False) -> Iterator[None]:
        """Be the one writer; the lock goes with the process, however it ends.

        Within one `IndexDirectory` it may be taken again; the last to leave lets go.

        :param wait: wait for another writer to finish instead of failing.
        :raises LockedError: when another process is the writer.
        """
        if self._lock is None:
            self._lock = self._acquire(wait)
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._lock.close()
                self._lock = None

    def _acquire(self, wait: bool) -> IO[bytes]:
        self._make()
        lock = (self.path / "index.lock").open("a+b")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read(64).decode("ascii", "replace").strip()
            lock.close()
            raise LockedError(
                "another `rag index` is running" + (f" (process {holder})" if holder else ""),
                hint="Try again later, or wait for it with `rag index --wait`.",
            ) from None
        except BaseException:
            lock.close()
            raise
        lock.truncate(0)
        lock.write(str(os.getpid()).encode())
        lock.flush()
        return lock

    def _make(self) -> None:
        try:  # it holds the notes' text
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"cannot make the index folder {self.path}",
                error.strerror or "",
                hint="Name another with RAG_DATA_DIR.",
            ) from error

    def newest(self) -> int:
        """Return the highest generation number in use, 0 when there is none."""
        numbers = (path.name.removeprefix("gen-") for path in self.path.glob("gen-*"))
        return max((int(n) for n in numbers if n.isdigit()), default=0)

    def publish(self, number: int, points: int) -> None:
        """Make `work/`, whose shard must be flushed and closed, the current generation.

        :param number: the generation's number, higher than any before.
        :param points: how many points the shard holds; readers compare.
        :raises IndexingError: when the disk has no room for the copy.
        """
        name = f"gen-{number}"
        staged = self.path / f".{name}.tmp"
        if staged.exists():
            shutil.rmtree(staged)
        self.require_space(disk_usage(self.work))
        copied = copy_for_readers(self.work, staged, SHARD, self.working.known)
        (staged / _POINTS).write_text(str(points), "ascii")
        record = Record(self.path / name, {**copied.copy, _POINTS: checksum(staged / _POINTS)})
        record.write(staged)
        staged.rename(self.path / name)
        pointer = self.path / ".CURRENT.tmp"
        pointer.write_text(name, "ascii")
        pointer.replace(self.path / "CURRENT")
        self.sweep()
        self.working.publish(copied.work, record)

    def sweep(self) -> None:
        """Remove generations that nobody reads any more, and what killed writers left."""
        current = self.current()
        self.clear_parts()
        for staged in self.path.glob(".gen-*.tmp"):
            shutil.rmtree(staged, ignore_errors=True)
        for narrow in self.path.glob(f"gen-*/{_NARROW}"):
            with suppress(OSError):
                if time.time() - narrow.stat().st_mtime > _OPENING:
                    shutil.rmtree(narrow, ignore_errors=True)
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
                shutil.rmtree(self.path / name, ignore_errors=True)
                with suppress(FileNotFoundError):
                    lock_file.unlink()

    def clear_work(self) -> None:
        """Forget the writer's own state; it is rebuilt from the notes."""
        shutil.rmtree(self.work, ignore_errors=True)

    def clear_parts(self) -> None:
        """Remove the segments that no shard took in."""
        shutil.rmtree(self.parts, ignore_errors=True)

    def require_space(self, need: int) -> None:
        """Make sure that `need` bytes can be written: a full disk kills the engine's process.

        :raises IndexingError: when they cannot.
        """
        free = shutil.disk_usage(self.path).free
        if free < need + _RESERVE:
            raise IndexingError(
                f"not enough room for the index at {self.path}: "
                f"{(need + _RESERVE) >> 20} MB needed, {free >> 20} MB free",
                hint="Free some room, or move the index with RAG_DATA_DIR.",
            )
