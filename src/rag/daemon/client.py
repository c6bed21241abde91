"""Handing a command over to the warm process, in the manner of Mercurial's `chg`.

What is said on the socket, line by line:

    client    run
    child     PID           which was forked for this connection
    client    a request     with the three standard streams; from here on it is done by that child
                            and by nobody else
    child     CODE          the exit code, after all output; or "cold": it could not take the
                            client's place, and has begun nothing

Until the request is sent the client may change its mind and run the command itself; that is what
it does when it hears nothing for `PATIENCE`. A child that gets no request ends.
"""

from __future__ import annotations

import _signal  # as for `_socket` in `endpoint`
import _socket
import marshal
import os
import sys

from rag.daemon import endpoint as place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    Handler = Callable[[int, FrameType | None], Any] | int

PATIENCE = 1.0  # seconds without a word, after which a command runs cold
_SENDING = 5.0  # for a request; the child has nothing else to do than read it
_KILLED = 137  # what a shell says of a process that was killed


# What the terminal sends to all processes of a command, and so must we; and what goes to one.
_TO_ALL = (_signal.SIGINT, _signal.SIGQUIT, _signal.SIGHUP, _signal.SIGWINCH)
_TO_ONE = (_signal.SIGTERM, _signal.SIGUSR1, _signal.SIGUSR2)
_MILD = (_signal.SIGINT, _signal.SIGWINCH)  # a child tells how these ended
# A command that names a file of this process needs this process.
_OWN_FILES = ("/dev/fd/", "/dev/tty", "/proc/self/", "/proc/thread-self/")
# `warm` governs the warm process, and `serve`, `watch` and `mcp` go on for long. Completion is
# installed for the shell that started this process.
_COLD = {"serve", "watch", "warm", "mcp", "--install-completion", "--show-completion"}


def hand_over(arguments: list[str]) -> int | None:
    """Run a command in the warm process and return its exit code.

    :returns: `None` when there is no warm process, or none for this command: run it here.
    """
    if not place.can_be_warm() or _COLD & {*arguments[:1]}:
        return None
    settings = [value for name, value in os.environ.items() if name.startswith("RAG_")]
    names_own_file = any(file in text for file in _OWN_FILES for text in (*arguments, *settings))
    if names_own_file or None in (sys.stdin, sys.stdout, sys.stderr):
        return None
    try:
        request = _request(arguments)
        connection = place.connect(place.socket_path(), PATIENCE)
    except (OSError, place.UntrustedError):
        return None
    try:
        connection.sendall(b"run\n")
        child = int(_line(connection) or 0)  # which waits for the request; 0 for none
        return _ForwardedCommand(connection, child).run(request) if child else None
    except (OSError, place.UntrustedError):
        return None
    finally:
        connection.close()


def _request(arguments: list[str]) -> bytes:
    """Return what a child must know: arguments, folder, mask, ignored signals and environment."""
    mask = os.umask(0o077)
    os.umask(mask)
    ignored = [int(number) for number in (*_TO_ALL, *_TO_ONE) if _is_ignored(number)]
    return marshal.dumps((arguments, os.getcwdb(), mask, ignored, [*os.environb.items()]))


def _line(connection: _socket.socket) -> bytes:
    """Return the next line that is said on a connection; nothing where its end comes before."""
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(64)
        if not part:
            return b""
        line += part
    return line


def _is_ignored(number: int) -> bool:
    return bool(_signal.getsignal(number) == _signal.SIG_IGN)


class _ForwardedCommand:
    """A command that a child runs: signals go there, the exit code comes back."""

    def __init__(self, connection: _socket.socket, child: int) -> None:
        self.connection, self.child = connection, child
        self.deadly = 0  # the last signal that may have ended it

    def run(self, request: bytes) -> int | None:
        """Return the exit code; `None` when the child has begun nothing."""
        self._handle_signals(self._forward, self._stop)
        try:
            self.connection.settimeout(_SENDING)
            streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
            rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)
            self.connection.sendmsg([len(request).to_bytes(4, "big")], [rights])
            self.connection.sendall(request)
            self.connection.settimeout(None)
        except OSError:
            word = b"cold\n"
        else:
            try:
                word = _line(self.connection)  # in which the child tells how it ended
            except ConnectionResetError:  # it was killed
                word = b""
        if word == b"cold\n":
            self._handle_signals(_signal.SIG_DFL, _signal.SIG_DFL)
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
            return None
        if word:
            return int(word)
        if self.deadly:  # the child is gone without a word: end by the signal that ended it
            _signal.signal(self.deadly, _signal.SIG_DFL)
            os.kill(os.getpid(), self.deadly)
        os.write(2, b"rag: the process of this command was killed\n")
        return _KILLED

    def _handle_signals(self, forward: Handler, stop: Handler) -> None:
        for number in (*_TO_ALL, *_TO_ONE, _signal.SIGTSTP):
            if not _is_ignored(number):
                _signal.signal(number, stop if number == _signal.SIGTSTP else forward)

    def _forward(self, number: int, _: FrameType | None) -> None:
        if number not in _MILD:
            self.deadly = number
        self._send(number, to_all=number in _TO_ALL)

    def _stop(self, number: int, _: FrameType | None) -> None:
        """Ctrl-Z. A child has no terminal of its own, where only this signal stops it."""
        self._send(_signal.SIGSTOP, to_all=True)
        _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)
        _signal.signal(number, self._stop)
        self._send(_signal.SIGCONT, to_all=True)  # `fg` and `bg` have woken us

    def _send(self, number: int, to_all: bool) -> None:
        try:
            os.killpg(self.child, number) if to_all else os.kill(self.child, number)
        except OSError:  # it has ended; `contextlib` takes long to import
            pass
