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

import _signal  # as for `_socket` in `place`
import _socket
import os
import select
import sys

from rag.daemon import endpoint as place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

PATIENCE = 1.0  # seconds without a word, after which a command runs cold
_SENDING = 5.0  # for a request; the child has nothing else to do than read it
_KILLED = 137  # what a shell says of a process that was killed


def _numbers(*names: str) -> tuple[int, ...]:
    return tuple(number for number in map(vars(_signal).get, names) if number is not None)


# What the terminal sends to all processes of a command, and so must we.
_TO_ALL = _numbers("SIGINT", "SIGQUIT", "SIGHUP", "SIGWINCH")
_TO_ONE = _numbers("SIGTERM", "SIGUSR1", "SIGUSR2")
_STOP = _numbers("SIGTSTP")
_MILD = _numbers("SIGINT", "SIGWINCH")  # a child tells how these ended
_OWN_FILES = ("/dev/fd/", "/dev/tty", "/proc/self/", "/proc/thread-self/")

_OF_THE_SHELL = {"--install-completion", "--show-completion"}


def hand_over(arguments: list[str]) -> int | None:
    """Run a command in the warm process and return its exit code.

    :returns: `None` when there is no warm process, or none for this command: run it here.
    """
    if not place.can_be_warm() or not _can_be_handed_over(arguments):
        return None
    try:
        request = _request(arguments)
        connection = place.connect(place.socket_path(), PATIENCE)
    except (OSError, place.UntrustedError):
        return None
    try:
        child = _ask_for_child(connection)
        return _ForwardedCommand(connection, child).run(request) if child else None
    except (OSError, place.UntrustedError):
        return None
    finally:
        connection.close()


def _can_be_handed_over(arguments: list[str]) -> bool:
    """`warm` governs the warm process, and `serve`, `watch` and `mcp` go on for long. A command
    that names a file descriptor of this process needs this process, and completion is installed for
    the shell that started it."""
    alone = {"serve", "watch", "warm", "mcp"} | _OF_THE_SHELL
    if alone & {*arguments[:1]}:
        return False
    if None in (sys.stdin, sys.stdout, sys.stderr):
        return False
    settings = [value for name, value in os.environ.items() if name.startswith("RAG_")]
    if any(file in text for file in _OWN_FILES for text in (*arguments, *settings)):
        return False
    return not is_in_background()


def is_in_background() -> bool:
    """Return whether the terminal would stop this process for reading from it; a child of the warm
    process, which has no terminal of its own, it would not."""
    try:
        return os.tcgetpgrp(0) != os.getpgrp()
    except OSError:  # no terminal, or not ours
        return False


def _request(arguments: list[str]) -> bytes:
    """Return what a child must know: a head of numbers, the folder, arguments, environment.

    :raises OSError: when there is no working folder any more.
    """
    mask = os.umask(0o077)
    os.umask(mask)
    ignored = [s for s in (*_TO_ALL, *_TO_ONE) if _is_ignored(s)]
    head = " ".join(map(str, (len(arguments), mask, *ignored)))
    variables = [name + b"=" + value for name, value in os.environb.items()]
    texts = [os.fsencode(text) for text in (head, os.getcwd(), *arguments)]
    return b"\0".join([*texts, *variables])


def _ask_for_child(connection: _socket.socket) -> int:
    """Return the process that waits for the request; 0 when there will be none."""
    connection.sendall(b"run\n")
    said = b""
    while not said.endswith(b"\n"):
        heard = connection.recv(64)
        if not heard:
            return 0
        said += heard
    return int(said)


def _is_ignored(number: int) -> bool:
    return bool(_signal.getsignal(number) == _signal.SIG_IGN)


class _ForwardedCommand:
    """A command that a child runs: signals go there, the exit code comes back."""

    def __init__(self, connection: _socket.socket, child: int) -> None:
        self.connection, self.child = connection, child
        self.deadly = 0  # the last signal that may have ended it
        # A signal that comes just before a system call waits for its handler until that returns.
        # This bell is rung for each, so that waiting for it and for the child ends at once.
        self.bell, self.ringer = _socket.socketpair()
        self.bell.setblocking(False)
        self.ringer.setblocking(False)

    def run(self, request: bytes) -> int | None:
        """Return the exit code; `None` when the child did not get its request."""
        try:
            return self._hand_over(request)
        finally:
            _signal.set_wakeup_fd(-1)
            self.bell.close()
            self.ringer.close()

    def _hand_over(self, request: bytes) -> int | None:
        self._forward_signals()
        self.connection.settimeout(_SENDING)
        try:
            streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
            rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)
            self.connection.sendmsg([len(request).to_bytes(4, "big")], [rights])
            self.connection.sendall(request)
        except OSError:
            self._keep_signals()
            return None
        self.connection.settimeout(None)
        return self._wait()

    def _wait(self) -> int | None:
        said = b""
        while not said.endswith(b"\n"):
            select.select([self.connection, self.bell], [], [])
            try:
                self.bell.recv(64)
                continue  # a handler has run by now
            except BlockingIOError:
                pass
            try:
                heard = self.connection.recv(16)
            except ConnectionResetError:
                heard = b""
            if not heard:
                return self._end_alike()
            said += heard
        if said == b"cold\n":
            self._keep_signals()
            return None
        return int(said)

    def _end_alike(self) -> int:
        """The child is gone without a word: end by the signal that ended it."""
        if self.deadly:
            _signal.signal(self.deadly, _signal.SIG_DFL)
            os.kill(os.getpid(), self.deadly)
        os.write(2, b"rag: the process of this command was killed\n")
        return _KILLED

    def _forward_signals(self) -> None:
        _signal.set_wakeup_fd(self.ringer.fileno(), warn_on_full_buffer=False)
        for number in (*_TO_ALL, *_TO_ONE, *_STOP):
            if not _is_ignored(number):
                _signal.signal(number, self._stop if number in _STOP else self._forward)

    def _keep_signals(self) -> None:
        for number in (*_TO_ALL, *_TO_ONE, *_STOP):
            if not _is_ignored(number):
                _signal.signal(number, _signal.SIG_DFL)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)

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
