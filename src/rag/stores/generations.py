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
    SERVER        where the points are, when a server holds them: then there are no shards here

A generation appears by a rename and is announced by replacing CURRENT, so a reader sees the
old one or the new one, whole, wherever a writer is killed. Loading a shard writes into its
folder: nothing here ever loads one that another process may have open for writing.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rag.exceptions import IndexUnavailableError, LockedError, UsageError
from rag.stores.reader_copy import copied_size, copy_for_readers
from rag.stores.room import RESERVE, disk_in_view, is_watched, require_room
from rag.stores.shard_files import CONFIG

SHARD = "shard"
MANIFEST = "manifest.sqlite3"
SERVER = "SERVER"
_POINTS = "points"
_STAMP = "stamp"
_SIZES = "sizes"
_PASSING = (CONFIG, "tracker_journal.dat")

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
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.work = self.path / "work"
        self.parts = self.path / "parts"
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
        """Open what a reader locks; nothing where it is missing and may not be made.

        Who may not write it may lock it none the less. On a disk that is read only nobody removes
        a generation.
        """
        path = self.path / f"{name}.lock"
        for file, mode in ((path, "ab"), (path, "rb")):
            with suppress(OSError):
                return file.open(mode)
        return Path(os.devnull).open("rb")

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
        :raises DiskFullError: when the disk has no room for the copy.
        """
        name = f"gen-{number}"
        staged = self.path / f".{name}.tmp"
        if staged.exists():
            shutil.rmtree(staged)
        with disk_in_view(self.path, self._room_to_publish):
            copy_for_readers(self.work, staged, SHARD)
        (staged / _POINTS).write_text(str(points), "ascii")
        (staged / _SIZES).write_text(json.dumps(_sizes(staged / SHARD)), "utf-8")
        if (staged / MANIFEST).exists():
            (staged / _STAMP).write_text(_stamp(staged / MANIFEST), "ascii")
        # Made by a reader it might lack a block of a full disk, and of one that is read only.
        (self.path / f"{name}.lock").touch()
        staged.rename(self.path / name)
        pointer = self.path / ".CURRENT.tmp"
        pointer.write_text(name, "ascii")
        pointer.replace(self.path / "CURRENT")
        self.sweep()

    def sweep(self) -> None:
        """Remove generations that nobody reads any more, and what killed writers left."""
        current = self.current()
        self.clear_unfinished()
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

    def clear_unfinished(self) -> None:
        """Remove what no run goes on with: parts, and generations that were not completed."""
        self.clear_parts()
        for staged in self.path.glob(".gen-*.tmp"):
            shutil.rmtree(staged, ignore_errors=True)

    def clear_work(self) -> None:
        """Forget the writer's own state; it is rebuilt from the notes."""
        shutil.rmtree(self.work, ignore_errors=True)

    def clear_parts(self) -> None:
        """Remove the segments that no shard took in."""
        shutil.rmtree(self.parts, ignore_errors=True)

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
