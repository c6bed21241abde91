"""Files that several processes write, one at a time."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO

from rag.exceptions import LockedError, StorageError

SECONDS = 5.0  # that another process is waited for: it holds a lock for one line
_PAUSE = 0.02
_BRIEF = " briefly"
_PATIENCE = 30.0  # seconds, with who says so


def lock(descriptor: int, what: str, seconds: float = SECONDS) -> None:
    """Lock an open file; closing it lets go, and so does the end of the process.

    :param what: subject and verb of the error: `the facts are`.
    :raises StorageError: when another process does not release it in time.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise StorageError(
                    f"{what} being written by another process",
                    hint="Try again; if it stays so, end the process that has it.",
                ) from None
        time.sleep(_PAUSE)


def append(descriptor: int, line: bytes) -> None:
    """Add a line to an open file; what somebody did not write to its end stays a line of its own.

    :raises OSError: when not all of it could be written.
    """
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        line = b"\n" + line
    if os.write(descriptor, line) < len(line):
        raise OSError("the disk is full")


def lock_index(path: Path, wait: bool = False, brief: bool = False) -> IO[bytes]:
    """Be the one process that writes an index; return the file of the lock, held until it is
    closed, by the process's end too.

    :param wait: wait for another writer to finish instead of failing.
    :param brief: this process will let go in some seconds: others wait so long in any case.
    :raises LockedError: when another process is the writer.
    """
    lock = path.open("a+b")
    try:
        if not wait:
            _outwait_brief(lock)
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        holder = _holder(lock).removesuffix(_BRIEF)
        lock.close()
        raise LockedError(
            "another process is writing the index" + (f" (process {holder})" if holder else ""),
            hint="Try again later, or wait for it with `rag index --wait`.",
        ) from None
    except BaseException:
        lock.close()
        raise
    lock.truncate(0)
    lock.write(f"{os.getpid()}{_BRIEF if brief else ''}".encode())
    lock.flush()
    return lock


def _outwait_brief(lock: IO[bytes]) -> None:
    """Wait while a writer has the lock that will let go in some seconds."""
    until = time.monotonic() + _PATIENCE
    while _holder(lock).endswith(_BRIEF) and time.monotonic() < until:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        else:
            return


def _holder(lock: IO[bytes]) -> str:
    lock.seek(0)
    return lock.read(64).decode("ascii", "replace").strip()
