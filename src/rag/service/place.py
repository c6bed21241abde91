"""Where the warm process listens, and whom both of its ends trust.

The client imports this before anything else, so it stands on `os`, `sys` and `socket` alone.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from binascii import crc32

# An address of a Unix socket has 104 bytes on some systems, 108 on others, the last one zero.
_LONGEST = 103
_OFF = ("0", "false")
# macOS has no SO_PEERCRED. Level and name of its twin, and where the user stands in the answer.
_LOCAL_PEERCRED = (0, 1)


class UntrustedError(Exception):
    """The folder or the other end of the socket belongs to somebody else."""


def can_be_warm() -> bool:
    """Whether this system has what a warm process needs, and the environment does not forbid it.

    A Python with options of its own (`-O`, `-W`, `-X`) runs cold: the parent has others.
    """
    if os.environ.get("RAG_WARM", "").strip().lower() in _OFF:
        return False
    if sys.flags.optimize or sys.warnoptions or sys._xoptions:
        return False
    return all((hasattr(os, "fork"), hasattr(socket, "AF_UNIX"), hasattr(socket, "send_fds")))


def folder() -> str:
    """Return the folder of the sockets, in the user's runtime folder.

    Without one it is a folder in the place for temporary files that bears the user's number.
    """
    user = os.geteuid()
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}"):
        found = os.path.join(place, "rag")
        if os.path.isabs(place) and len(os.fsencode(found)) <= _LONGEST - 20 and _is_own(place):
            return found
    temporary = os.environ.get("TMPDIR", "")
    found = os.path.join(temporary if os.path.isabs(temporary) else "/tmp", f"rag-{user}")
    return found if len(os.fsencode(found)) <= _LONGEST - 20 else f"/tmp/rag-{user}"


def _is_own(path: str) -> bool:
    try:
        return os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False


def socket_path() -> str:
    """Return the socket for commands like this one.

    Another Python, another installation or another setting of Python's own (`PYTHONPATH`, ...)
    would run another program, so that it has a socket of its own.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    settings = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("PYTHON"))
    parts = (sys.executable, sys.version, package, sys.getfilesystemencoding(), *settings)
    return os.path.join(folder(), f"{crc32(os.fsencode(chr(0).join(parts))):08x}.sock")


def configuration_path() -> str:
    """Return the configuration file that the environment names, or nothing."""
    named = os.environ.get("RAG_CONFIG", "")
    return os.path.abspath(named) if named else ""


def check_folder(path: str) -> None:
    """Make sure that nobody else can have put a socket there.

    :raises UntrustedError: when it belongs to somebody else or is open to others.
    :raises FileNotFoundError: when there is no such folder.
    """
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise UntrustedError(f"{path} is not a folder of yours")
    if found.st_mode & 0o077:
        raise UntrustedError(f"others may enter {path}")


def peer_of(connection: socket.socket) -> int:
    """Return the process at the other end; 0 where the system does not tell.

    :raises UntrustedError: when it belongs to another user, or the system does not tell whose
        it is.
    """
    if hasattr(socket, "SO_PEERCRED"):
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        process, user = (int.from_bytes(told[at : at + 4], sys.byteorder) for at in (0, 4))
    elif sys.platform == "darwin":
        told = connection.getsockopt(*_LOCAL_PEERCRED, 76)
        process, user = 0, int.from_bytes(told[4:8], sys.byteorder)
    else:
        raise UntrustedError("this system does not tell whose a connection is")
    if user != os.geteuid():
        raise UntrustedError(f"the other end belongs to user {user}")
    return process


def connect(path: str, seconds: float) -> socket.socket:
    """Connect to a warm process.

    :param seconds: how long any step on this connection may take.
    :raises UntrustedError: when it may be somebody else's.
    :raises OSError: when nobody listens there.
    """
    check_folder(os.path.dirname(path))
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(path)
        peer_of(connection)
    except BaseException:
        connection.close()
        raise
    return connection
