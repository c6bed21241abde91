"""Files that several processes write, one at a time."""

from __future__ import annotations

import fcntl
import time

from rag.exceptions import StorageError

SECONDS = 5.0  # that another process is waited for: it holds a lock for one line
_PAUSE = 0.02


def lock(descriptor: int, what: str, seconds: float = SECONDS) -> None:
    """Lock an open file; closing it lets go, and so does the end of the process.

    :param what: subject and verb of the error: `the facts are`.
    :raises StorageError: when another process does not let go in time.
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
                    hint="Try again; if it stays so, end the other `rag`.",
                ) from None
        time.sleep(_PAUSE)
