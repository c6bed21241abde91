"""The folder of an index: one writer, any number of readers, whole generations only.

    index.lock    held by the one writer
    work/         the writer's own shard and manifest; nobody else opens it
    parts/        segments on their way into the writer's shard
    gen-7/        a generation: a closed copy of work/ that is never written again
    gen-7/narrow-x/  links to its shard, while a reader opens it for the words of a query
    gen-7/stamp   what its manifest's file is known by, so that it need not be verified
    gen-7/sizes   how long the files of its shard are
    gen-7.lock    held, shared, by every reader of gen-7
    CURRENT       the name of the generation to read
    WRITING       while work/ may hold what is not synced: the run of the machine it is written in
    SERVER        where the points are, when a server holds them: then there are no shards here

A generation appears by a rename and is announced by replacing CURRENT, so a reader sees the
old one or the new one, whole, wherever a writer is killed. All of it is synced before, and the one
before it goes last, so that the same holds where the machine goes down. Loading a shard writes into
its folder: nothing here ever loads one that another process may have open for writing.

The folder, and each in it that is ever deleted, bears a mark (`rag.owned`).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rag.durable import boot, replace_durably, sync_folder, sync_tree
from rag.exceptions import IndexingError, IndexUnavailableError, LockedError, UsageError
from rag.owned import claim_data_folder, claim_index_folder, make_owned, remove
from rag.stores.reader_copy import copy_for_readers
from rag.stores.shard_files import CONFIG
from rag.stores.sparse_copy import disk_usage

if TYPE_CHECKING:
    from rag.config import RAGConfig

SHARD = "shard"
MANIFEST = "manifest.sqlite3"
SERVER = "SERVER"
_POINTS = "points"
_STAMP = "stamp"
_SIZES = "sizes"
_WRITING = "WRITING"
_PASSING = (CONFIG, "tracker_journal.dat")
_NUMBER = re.compile(r"\.?gen-(\d+)(?:\.lock|\.tmp)?")
_RESERVE = 64 << 20  # bytes left free on the disk, beyond what a step is known to write

NO_INDEX = "there is no index yet"
NO_INDEX_HINT = "Make one with `rag index FOLDER` (FOLDER holds your .md files)."


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

    def close(self) -> None:
        self._lock.close()

    def __enter__(self) -> Generation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        self._is_changing = False

    @classmethod
    def of(cls, config: RAGConfig) -> IndexDirectory:
        """Return that of the configured index."""
        return cls(config.index_dir, config.data_dir)

    # -- readers -----------------------------------------------------------------------

    def current(self) -> str | None:
        """Return the name of the generation to read, or `None` when there is none.

        It is the one announced. Where that cannot be, since a disk lost something, it is the newest
        of those that can.
        """
        announced = self.announced()
        if announced and _NUMBER.fullmatch(announced) and self.is_whole(announced):
            return announced
        names = map(_name, sorted(self._numbers(), reverse=True))
        return next(filter(self.is_whole, names), announced)

    def announced(self) -> str | None:
        """Return the name that CURRENT holds, which nothing may bear; `None` when there is none."""
        try:
            return (self.path / "CURRENT").read_text("ascii", "replace").strip() or None
        except FileNotFoundError:
            return None

    def is_whole(self, name: str) -> bool:
        """Tell whether the files that a generation cannot do without are there, and not empty."""
        parts = [MANIFEST]
        if not (self.path / SERVER).exists():
            parts += [f"{SHARD}/{CONFIG}", f"{SHARD}/segments"]
        with suppress(OSError, ValueError):
            int((self.path / name / _POINTS).read_text("ascii"))
            return all(_holds_something(self.path / name / part) for part in parts)
        return False

    def is_intact(self, name: str) -> bool:
        """Tell whether the files of a generation's shard are all there and as long as they were.

        The engine notes what is deleted in place, and readers change none; of a generation that
        an older program published nothing is known.
        """
        generation = self.path / name
        with suppress(OSError, ValueError):
            sizes = json.loads((generation / _SIZES).read_bytes())
            return bool(_sizes(generation / SHARD) == sizes)
        return True

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
        """Return the highest generation number that anything bears, 0 when nothing does."""
        return max(self._numbers(), default=0)

    def _numbers(self) -> set[int]:
        with suppress(FileNotFoundError):
            names = [self.announced() or "", *(path.name for path in self.path.iterdir())]
            return {int(match[1]) for match in map(_NUMBER.fullmatch, names) if match}
        return set()

    def begin_changes(self) -> None:
        """Note that `work/` is about to be changed: until `settle` it may hold what the disk
        does not."""
        if not self._is_changing:
            replace_durably(self.path / _WRITING, boot().encode())
            self._is_changing = True

    def settle(self) -> None:
        """Sync `work/` if it was changed here; its shard must be flushed and closed."""
        if self._is_changing:
            sync_tree(self.work)
            # Where this is undone by a power cut, work/ is made anew without need, and no worse.
            (self.path / _WRITING).unlink(missing_ok=True)
            self._is_changing = False

    @property
    def was_cut_off(self) -> bool:
        """Whether the machine went down while `work/` was changed. No count would tell: a note
        may be there with the text that it had before."""
        with suppress(FileNotFoundError):
            return (self.path / _WRITING).read_text("ascii", "replace") != boot()
        return False

    def publish(
        self, number: int, points: int, check: Callable[[Path], None] = lambda generation: None
    ) -> None:
        """Make `work/`, whose shard must be flushed and closed, the current generation.

        The one before stays until this one is safe on the disk.

        :param number: the generation's number, higher than any before.
        :param points: how many points the shard holds; readers compare.
        :param check: fails when the generation, whose folder it is given, cannot be read.
        :raises IndexingError: when the disk has no room for the copy.
        """
        name = _name(number)
        staged = self.path / f".{name}.tmp"
        remove(staged)
        self.require_space(disk_usage(self.work))
        self.settle()
        make_owned(staged)
        copy_for_readers(self.work, staged, SHARD)
        (staged / _POINTS).write_text(str(points), "ascii")
        (staged / _SIZES).write_text(json.dumps(_sizes(staged / SHARD)), "utf-8")
        if (staged / MANIFEST).exists():
            (staged / _STAMP).write_text(_stamp(staged / MANIFEST), "ascii")
        check(staged)
        sync_tree(staged)
        staged.rename(self.path / name)
        sync_folder(self.path)
        replace_durably(self.path / "CURRENT", name.encode())
        self.sweep()

    def sweep(self) -> None:
        """Remove generations that nobody reads any more, and what killed writers left."""
        current = self.current()
        self.clear_parts()
        for staged in self.path.glob(".gen-*.tmp"):
            remove(staged)
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

    def clear_work(self) -> None:
        """Forget the writer's own state; it is rebuilt from the notes."""
        remove(self.work)
        make_owned(self.work)
        if not self._is_changing:
            (self.path / _WRITING).unlink(missing_ok=True)

    def clear_parts(self) -> None:
        """Remove the segments that no shard took in."""
        remove(self.parts)

    def make_parts(self) -> None:
        """Make the folder for segments on their way into the shard."""
        make_owned(self.parts)

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


def _holds_something(path: Path) -> bool:
    facts = path.stat()
    return stat.S_ISDIR(facts.st_mode) or facts.st_size > 0


def _name(number: int) -> str:
    return f"gen-{number}"


def _sizes(shard: Path) -> dict[str, int]:
    """Return the size of every file of a shard but those that the engine rewrites or drops when
    it opens one."""
    files = (file for file in shard.rglob("*") if file.name not in _PASSING and file.is_file())
    return {str(file.relative_to(shard)): file.stat().st_size for file in files}


def is_as_published(manifest: Path) -> bool:
    """Whether a generation's manifest is the file that was published, not written to since.

    Where the folder was copied it is another file. Then nothing is known of it.
    """
    try:
        return (manifest.parent / _STAMP).read_text("ascii") == _stamp(manifest)
    except (OSError, ValueError):
        return False


def _stamp(file: Path) -> str:
    """Return what tells a file from any other, and from itself once it is changed."""
    facts = file.stat()
    return f"{facts.st_ino} {facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"
