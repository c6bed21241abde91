"""Writing so that a power cut leaves what was there before, or what was written, and nothing else.

A file is safe when it and the folder that names it were synced. `sync_tree` does it for a folder
before it is renamed, `replace_durably` for one file. Where a file system cannot sync a folder, it
needs no such call.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# As many files are synced at once: the file system then writes its journal once for several.
_THREADS = 4
_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY)


def replace_durably(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put a file in the place of another, which may be missing; what is read is one or the other.

    :param mode: the permissions of the new file, less those of the umask.
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


def sync_folder(path: Path) -> None:
    """Make the names in a folder safe: what was made, renamed or removed there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _sync(descriptor, to_the_disk=True)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Make all that a folder holds safe: the content of every file, and every name."""
    from concurrent.futures import ThreadPoolExecutor

    paths: list[str] = []
    for base, folders, names in os.walk(folder):
        paths += [f"{base}/{name}" for name in folders + names]
    with ThreadPoolExecutor(_THREADS) as threads:
        for _ in threads.map(_sync_paths, [paths[n::_THREADS] for n in range(_THREADS)]):
            pass  # to raise what they raised
    sync_folder(folder)


def _sync_paths(paths: list[str]) -> None:
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                continue  # a link has no content of its own; a socket is none of ours
            raise
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)


def _sync(descriptor: int, to_the_disk: bool = False) -> None:
    """Write out an open file or folder.

    :param to_the_disk: what the disk itself holds back, too: on macOS that takes another call,
        which counts for all that was synced before.
    """
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
