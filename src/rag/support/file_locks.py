"""Files that several processes write, one at a time."""

from __future__ import annotations

import fcntl
import os
import time

from rag.exceptions import StorageError

SECONDS = 5.0  # that another process is waited for: it holds a lock for one line
_PAUSE = 0.02


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
