"""Room on a disk: how much there is, and the one error that says that it is full."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.exceptions import DiskFullError, IndexingError, IndexUnavailableError

# The engine ends with its process where it gets no block of the disk for what it has mapped. It
# maps more than is known beforehand, where holes take room too (a tmpfs) some 60 MB.
RESERVE = 64 << 20
_NOTHING = 1 << 20  # bytes; of a disk with less than that, whatever fails fails of it
_FULL = (errno.ENOSPC, errno.EDQUOT)
# The engine's errors are text.
_SAID = ("No space left", "Not enough space", "uota exceeded", "disk is full")


def free_room(folder: str | Path) -> int:
    """Return the free bytes of the disk that a folder is on, or will be."""
    while True:
        try:
            facts = os.statvfs(folder)
            return facts.f_bavail * facts.f_frsize
        except FileNotFoundError:
            folder = Path(folder).parent


def disk_full(folder: str | Path, need: int = 0, details: str = "") -> DiskFullError:
    """Return the error that says how much room is needed, and how much there is.

    :param need: free bytes that would be enough, as far as is known.
    """
    free = free_room(folder)
    needed = max(need, free + _NOTHING)
    return DiskFullError(
        f"the disk is full: {_megabytes(needed)} MB needed, {free >> 20} MB free at {folder}",
        details,
        hint="Free some room and run `rag index` again, or move the index with RAG_DATA_DIR.",
    )


def _megabytes(size: int) -> int:
    return -(-size >> 20)


def require_room(folder: str | Path, need: int) -> None:
    """Make sure that `need` bytes can be written.

    :raises DiskFullError: when they cannot.
    """
    if free_room(folder) < need:
        raise disk_full(folder, need)


def is_of_full_disk(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, says that a disk is full."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL:
            return True
        if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or says_full(str(cause)):
            return True
        cause = cause.__cause__
    return False


def says_full(text: str) -> bool:
    """Whether the engine's text of an error speaks of a full disk."""
    return any(said in text for said in _SAID)


@contextmanager
def disk_in_view(folder: Path, need: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Raise what goes wrong inside because the disk is full as a `DiskFullError`.

    :param need: tells how many free bytes would be enough.
    """
    try:
        yield
    except DiskFullError as error:
        raise disk_full(folder, need(), error.details) from error
    except (IndexUnavailableError, IndexingError, OSError, sqlite3.Error) as error:
        is_cause = is_of_full_disk(error)
        # Where nothing is free they say it in many ways: a file that cannot be mapped, or made.
        if isinstance(error, (IndexUnavailableError, sqlite3.Error)):
            is_cause = is_cause or free_room(folder) < _NOTHING
        if is_cause:
            raise disk_full(folder, need(), str(error)) from error
        raise
