"""The lock of the one process that writes an index."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO

from rag.exceptions import LockedError, Remedy

_BRIEF = " briefly"
_PATIENCE, _PAUSE = 30.0, 0.02  # seconds


def acquire(path: Path, wait: bool = False, brief: bool = False) -> IO[bytes]:
    """Return the file of the lock, held until it is closed; the process's end closes it too.

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
            hint="Try again later, or wait for it.",
            remedy=Remedy.WAIT,
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
