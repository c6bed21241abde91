"""Opening the files of a vault, which may have become anything since they were listed."""

from __future__ import annotations

import errno
import os
from stat import S_ISREG
from typing import BinaryIO


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; what is none is neither waited for nor read.

    :raises OSError: when it cannot be opened, or is a pipe, a device or a folder.
    """
    stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if not S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return stream


def _without_waiting(path: str, flags: int) -> int:
    """Open a file at once: a pipe would be waited for until somebody writes to it."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
