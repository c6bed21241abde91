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
    # Without O_NONBLOCK a pipe is waited for until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(descriptor, "rb")
