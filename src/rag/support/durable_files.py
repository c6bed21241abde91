"""Writing so that a power cut leaves what was there before, or what was written, and nothing else,
and so that several processes write one after the other.

A file is safe when it and the folder that names it were synced. `sync_tree` does it for a folder
before it is renamed, `replace_durably` for one file. Where a file system cannot sync a folder, it
needs no such call.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag.exceptions import StorageError

SECONDS = 5.0  # that another process is waited for: it holds a lock for one line
_PAUSE = 0.02
# As many files are synced at once: the file system then writes its journal once for several.
_THREADS = 4
_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY)


def replace_durably(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put a file in the place of another, which may be missing; what is read is one or the other.

    :raises OSError: when it cannot be written; then the other is as it was.
    """
    beside = path.with_name(f".{path.name}.tmp")
    with suppress(FileNotFoundError):  # one that was left may be a link, or be open to others
        beside.unlink()
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        _sync(file.fileno(), to_the_disk=True)
    beside.replace(path)
    sync_folder(path.parent)


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Let one process after the other read and replace the files of a folder, as far as its file
    system can lock it.

    :raises OSError: when there is no such folder.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


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


def sync_folder(path: Path) -> None:
    """Make the names in a folder safe: what was made, renamed or removed there."""
    _sync_path(path, os.O_DIRECTORY, to_the_disk=True)


def sync_tree(folder: Path) -> None:
    """Make all that a folder holds safe: the content of every file, and every name."""
    from concurrent.futures import ThreadPoolExecutor

    paths = [
        f"{base}/{name}" for base, folders, names in os.walk(folder) for name in folders + names
    ]
    with ThreadPoolExecutor(_THREADS) as threads:
        [*threads.map(_sync_path, paths)]  # raises what they raised
    sync_folder(folder)


def _sync_path(path: str | Path, flags: int = os.O_NOFOLLOW, to_the_disk: bool = False) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return  # a link has no content of its own; a socket is none of ours
        raise
    try:
        _sync(descriptor, to_the_disk)
    finally:
        os.close(descriptor)


def _sync(descriptor: int, to_the_disk: bool = False) -> None:
    """Write out an open file or folder; `to_the_disk` what the disk itself holds back, too: on
    macOS that takes another call, which counts for all that was synced before."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None and to_the_disk:
        with suppress(OSError):  # not every disk knows it
            fcntl.fcntl(descriptor, full)
            return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
