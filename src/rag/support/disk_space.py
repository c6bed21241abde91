"""Room on a disk: how much there is, and the one error that says that it is full."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag.exceptions import ConnectionError, DiskFullError, IndexUnavailableError, RAGError

# A process ends, by SIGBUS, where the engine gets no block of the disk for what it has mapped. It
# maps more than is known beforehand, where holes take room too (a tmpfs) some 70 MB.
RESERVE = 72 << 20
_LITTLE = 4 << 20  # bytes that the smallest change of an index takes for a while
_NOTHING = 1 << 20  # bytes; of a disk with less than that, whatever the engine fails at fails of it
_GROWTH = 12  # bytes that a first index takes, at most, for a byte of the notes
_MANY = 300_000  # bytes of changed notes, so many that segments are merged
_FULL = (errno.ENOSPC, errno.EDQUOT)
# The engine's errors are text.
_SAID = ("No space left", "Not enough space", "uota exceeded")
_NEEDED = re.compile(r"needed: ([\d.]+) ([KMG])iB")
_UNITS = {"K": 10, "M": 20, "G": 30}
_watched = False


def be_watched() -> None:
    """Say that another process tells what becomes of this one, should it end by SIGBUS: it then
    tries what may fit, and keeps no reserve."""
    global _watched
    _watched = True


def is_watched() -> bool:
    """Whether `be_watched` was said in this process."""
    return _watched


def free_room(folder: str | Path) -> int:
    """Return the free bytes of the disk that a folder is on, or will be."""
    while True:
        try:
            return shutil.disk_usage(folder).free
        except FileNotFoundError:
            folder = Path(folder).parent


def disk_full(folder: str | Path, need: int = 0, details: str = "") -> DiskFullError:
    """Return the error that says how much room is needed, and how much there is.

    :param need: free bytes that would be enough, as far as is known.
    :param details: what the engine or the system said.
    """
    free = free_room(folder)
    if found := _NEEDED.search(details):
        need = max(need, int(float(found[1]) * (1 << _UNITS[found[2]])))
    need = max(need, free + _LITTLE)
    return DiskFullError(
        f"the disk is full: {-(-need >> 20)} MB needed, {free >> 20} MB free at {folder}",
        details,
        hint="Free some room and run the command again, or move the index with RAG_DATA_DIR.",
    )


def require_room(folder: str | Path, need: int) -> None:
    """Make sure that `need` bytes can be written.

    :raises DiskFullError: when they cannot.
    """
    if free_room(folder) < need:
        raise disk_full(folder, need)


def room_to_index(work: Path, size: int, copied: int) -> int:
    """Return free bytes that are enough, nearly always, to index changed notes.

    :param work: the writer's folder.
    :param size: the bytes of the notes.
    :param copied: the bytes that a copy of the folder for readers takes.
    """
    from rag.support.sparse_files import disk_usage

    kept = copied + (disk_usage(work) if size > _MANY else 0)
    return _LITTLE + _GROWTH * size + kept + (RESERVE if _fills_holes(work) else 0)


def _fills_holes(folder: Path) -> bool:
    """Whether a folder is in memory, where the holes of files take room when they are read."""
    with suppress(OSError, ValueError, IndexError):
        device = folder.stat().st_dev
        wanted = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
            if line.split()[2] == wanted:
                return line.partition(" - ")[2].startswith("tmpfs ")
    return False


def is_of_full_disk(error: BaseException, folder: Path | None = None) -> bool:
    """Whether an error, or what it was raised from, says that a disk is full.

    :param folder: that of the index. Where its disk has next to nothing free the engine and SQLite
        fail in many ways, and it is the disk's fault that they do.
    """
    is_vague = isinstance(error, (IndexUnavailableError, sqlite3.Error))
    if is_vague and folder is not None and free_room(folder) < _NOTHING:
        return True
    cause: BaseException | None = error
    while cause is not None:
        is_full = isinstance(cause, OSError) and cause.errno in _FULL
        is_full |= getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        if is_full or any(said in str(cause) for said in _SAID):
            return True
        cause = cause.__cause__
    return False


@contextmanager
def disk_in_view(folder: Path, need: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Raise what goes wrong inside because the disk is full as a `DiskFullError`.

    :param need: tells how many free bytes would be enough, and may make room before.
    """
    try:
        yield
    except (ConnectionError, DiskFullError):
        raise
    except (RAGError, OSError, sqlite3.Error) as error:
        if is_of_full_disk(error, folder):
            enough = need()
            raise disk_full(folder, enough, str(error)) from error
        raise
