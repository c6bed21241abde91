"""Where the warm process listens, and whom both of its ends trust.

The client imports this before anything else, so it stands on `os`, `sys` and modules written in C:
`socket` is `_socket` with names for its numbers, which take longer to make than a child to fork.
"""

from __future__ import annotations

import _socket
import os
import sys
from binascii import crc32

from rag.support.runtime_folder import UntrustedError as UntrustedError
from rag.support.runtime_folder import check_folder as check_folder
from rag.support.runtime_folder import folder as folder

TYPE_CHECKING = False  # `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OFF = ("0", "false")
# Where the home, the settings and the data folder are.
_PLACES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "RAG_CONFIG", "RAG_DATA_DIR")
# Python reads these when it starts, and Typer and Haystack when they are imported.
_READ_AT_START = ("PYTHON", "TYPER_", "_TYPER_", "HAYSTACK_")
# Level and name of what macOS has instead of SO_PEERCRED.
_LOCAL_PEERCRED, _LOCAL_PEERPID = (0, 1), (0, 2)
_FLAGS = ("optimize", "dev_mode", "bytes_warning", "ignore_environment", "no_user_site")


def can_be_warm() -> bool:
    """Return whether this system has what a warm process needs, and the environment allows it.

    A Python with options of its own (`-O`, `-W`, `-X`, ...) runs cold.
    """
    if os.environ.get("RAG_WARM", "").strip().lower() in _OFF:
        return False
    if sys.warnoptions or sys._xoptions or any(getattr(sys.flags, flag) for flag in _FLAGS):
        return False
    return all(map(hasattr, (os, _socket, _socket.socket), ("fork", "AF_UNIX", "sendmsg")))


def socket_path(environment: Mapping[str, str] = os.environ) -> str:
    """Return the socket for commands like this one.

    Its name begins with `name_of` the home, data folder and installation. The rest stands for what
    is read but once, when a program starts, and for what a process has from the one that began it:
    groups, priority, limits, another root (as in a container that shares the runtime folder).
    """
    settings = sorted(f"{k}={v}" for k, v in environment.items() if k.startswith(_READ_AT_START))
    rest = _checksum(sys.getfilesystemencoding(), *settings, *_heritage()) & 0xFFFFFF
    return os.path.join(folder(), f"{name_of(environment)}{rest:06x}.sock")


def name_of(environment: Mapping[str, str] = os.environ) -> str:
    """Return what the names of all sockets of a home, data folder and installation begin with."""
    places = [os.path.abspath(named) if (named := environment.get(p)) else "" for p in _PLACES]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return f"{_checksum(*places, sys.executable, sys.version, package):08x}"


def _checksum(*parts: object) -> int:
    return crc32(os.fsencode(chr(0).join(map(str, parts))))


def _heritage() -> Iterator[object]:
    yield from (sys.flags.utf8_mode, os.getegid(), sorted(os.getgroups()))
    yield os.getpriority(os.PRIO_PROCESS, 0)
    if hasattr(os, "sched_getaffinity"):
        yield sorted(os.sched_getaffinity(0))
    root = os.stat("/")
    yield from (root.st_dev, root.st_ino)
    import resource

    names = (name for name in dir(resource) if name.startswith("RLIMIT_"))
    yield [resource.getrlimit(getattr(resource, name)) for name in names]


def peer_of(connection: _socket.socket) -> int:
    """Return the process at the other end.

    :raises UntrustedError: when it belongs to another user, or the system does not tell whose
        it is.
    """
    if sys.platform == "linux":
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        process, user = (int.from_bytes(peer[at : at + 4], sys.byteorder) for at in (0, 4))
    elif sys.platform == "darwin":
        user = int.from_bytes(connection.getsockopt(*_LOCAL_PEERCRED, 76)[4:8], sys.byteorder)
        process = int.from_bytes(connection.getsockopt(*_LOCAL_PEERPID, 4), sys.byteorder)
    else:
        raise UntrustedError("this system does not tell whose a connection is")
    if user != os.geteuid():
        raise UntrustedError(f"the process at the other end belongs to user {user}")
    return process


def connect(path: str, seconds: float) -> _socket.socket:
    """Connect to a warm process.

    :param seconds: how long any step on this connection may take.
    :raises UntrustedError: when it may be somebody else's.
    """
    check_folder(os.path.dirname(path))
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(path)
        peer_of(connection)
    except BaseException:
        connection.close()
        raise
    return connection
