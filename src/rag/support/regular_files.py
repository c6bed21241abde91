"""Files that somebody may have put something else in the place of: a folder, a pipe, a device."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; what is none is neither waited for nor read.

    :raises OSError: when it cannot be opened, or is a pipe, a device or a folder.
    """
    stream = open(path, "rb", opener=without_waiting)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return stream


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file; errors are those of `open_file`."""
    with open_file(path) as stream:
        return stream.read()


def without_waiting(path: str, flags: int) -> int:
    """Open a file at once: a pipe would be waited for until somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def strange_kind(path: str | os.PathLike[str]) -> str:
    """Return what is in the place of a regular file, as "a folder"; links are followed.

    :returns: nothing where it is a regular file, is missing, or cannot be examined.
    """
    try:
        return _KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "")  # noqa: PTH116
    except (OSError, ValueError):
        return ""
