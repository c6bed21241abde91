"""Handing a command over to the warm process, in the manner of Mercurial's `chg`.

What is said on the socket, line by line:

    client    run CONFIGURATION         the file that RAG_CONFIG names, or nothing
    parent    .                         "I am alive, there are others before you"; any number
    parent    PID                       the child that was forked for this connection
    client    a request                 with the three standard streams; from here on it is done
                                        by that child and by nobody else
    child     CODE                      the exit code, after all output; or "cold": it could not
                                        take the client's place, and has begun nothing

Until the request is sent the client may change its mind and run the command itself; that is what
it does when it hears nothing for `PATIENCE`, unless the parent only waits for a processor, as when
many commands come at once: to run cold would take ten times what it waits for. A child that gets
no request ends.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from contextlib import suppress
from types import FrameType

from rag.service import place

PATIENCE = 0.05  # seconds without a word, after which a command runs cold
_STARVED = 40  # times as long, while the parent wants a processor and has none
_SENDING = 5.0  # for a request; the child has nothing else to do than read it
_KILLED = 137  # what a shell says of a process that was killed
# What the terminal sends to all processes of a command, and so must we.
_TO_ALL = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGWINCH")
_OWN_FILES = ("/dev/fd/", "/dev/tty", "/proc/self/", "/proc/thread-self/")
_TO_ONE = ("SIGTERM", "SIGUSR1", "SIGUSR2")


def hand_over(arguments: list[str]) -> int | None:
    """Run a command in the warm process and return its exit code.

    :returns: `None` when there is no warm process, or none for this command: run it here.
    """
    if not place.can_be_warm() or not _can_be_handed_over(arguments):
        return None
    try:
        request = _request(arguments)
        with place.connect(place.socket_path(), PATIENCE) as connection:
            child = _ask_for_child(connection)
            if not child:
                return None
            return _Errand(connection, child).run(request)
    except (OSError, place.UntrustedError):
        return None


def _can_be_handed_over(arguments: list[str]) -> bool:
    """`serve` governs the warm process; a file of this process's own is nobody else's."""
    if arguments[:1] == ["serve"] or None in (sys.stdin, sys.stdout, sys.stderr):
        return False
    settings = [value for name, value in os.environ.items() if name.startswith("RAG_")]
    if any(file in text for file in _OWN_FILES for text in (*arguments, *settings)):
        return False
    return not _is_in_background()


def _is_in_background() -> bool:
    """Who reads from a terminal in the background is stopped; a child, which has none, is not."""
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
    ignored = [s for s in _numbers((*_TO_ALL, *_TO_ONE)) if signal.getsignal(s) == signal.SIG_IGN]
    head = " ".join(map(str, (len(arguments), mask, *ignored)))
    variables = [name + b"=" + value for name, value in os.environb.items()]
    texts = [os.fsencode(text) for text in (head, os.getcwd(), *arguments)]
    return b"\0".join([*texts, *variables])


def _ask_for_child(connection: socket.socket) -> int:
    """Return the process that waits for the request; 0 when there will be none."""
    connection.sendall(b"run " + os.fsencode(place.configuration_path()) + b"\n")
    said = b""
    while not said.endswith(b"\n"):
        heard = _next_word(connection)
        if not heard:
            return 0
        said += heard
    line = said.strip(b".\n")
    return int(line) if line.isdigit() else 0


def _next_word(connection: socket.socket) -> bytes:
    """Return what the parent says next.

    :raises TimeoutError: when it says nothing, though it could.
    """
    patience, is_starved, turns = connection.gettimeout(), True, 0
    while is_starved and turns < _STARVED:
        try:
            return connection.recv(64)
        except TimeoutError:
            is_starved, turns = place.wants_processor(place.peer_of(connection)), turns + 1
        try:  # it may have come while this process had no processor either
            connection.settimeout(0)
            return connection.recv(64)
        except BlockingIOError:
            pass
        finally:
            connection.settimeout(patience)
    raise TimeoutError


def _numbers(names: tuple[str, ...]) -> list[signal.Signals]:
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


class _Errand:
    """A command that a child runs: signals go there, the exit code comes back."""

    def __init__(self, connection: socket.socket, child: int) -> None:
        self.connection, self.child = connection, child
        self.deadly = 0  # the last signal that may have ended it
        # A signal that comes just before a system call waits for its handler until that returns.
        # This bell is rung for each, so that waiting for it and for the child ends at once.
        self.bell, self.ringer = socket.socketpair()
        self.bell.setblocking(False)
        self.ringer.setblocking(False)

    def run(self, request: bytes) -> int | None:
        """Return the exit code; `None` when the child did not get its request."""
        with self.bell, self.ringer:
            try:
                return self._hand_over(request)
            finally:
                signal.set_wakeup_fd(-1)

    def _hand_over(self, request: bytes) -> int | None:
        self._forward_signals()
        self.connection.settimeout(_SENDING)
        try:
            socket.send_fds(self.connection, [len(request).to_bytes(4, "big")], [0, 1, 2])
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
            with suppress(BlockingIOError):
                self.bell.recv(64)
                continue  # a handler has run by now
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
            signal.signal(self.deadly, signal.SIG_DFL)
            os.kill(os.getpid(), self.deadly)
        os.write(2, b"rag: the process of this command was killed\n")
        return _KILLED

    def _forward_signals(self) -> None:
        signal.set_wakeup_fd(self.ringer.fileno(), warn_on_full_buffer=False)
        for number in _numbers((*_TO_ALL, *_TO_ONE)):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._forward)
        if hasattr(signal, "SIGTSTP") and signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
            signal.signal(signal.SIGTSTP, self._stop)

    def _keep_signals(self) -> None:
        for number in _numbers((*_TO_ALL, *_TO_ONE, "SIGTSTP")):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _forward(self, number: int, _: FrameType | None) -> None:
        if number not in (signal.SIGINT, signal.SIGWINCH):  # a child tells how that ended
            self.deadly = number
        self._send(number, to_all=signal.Signals(number).name in _TO_ALL)

    def _stop(self, number: int, _: FrameType | None) -> None:
        """Ctrl-Z. A child has no terminal of its own, where only this signal stops it."""
        self._send(signal.SIGSTOP, to_all=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._stop)
        self._send(signal.SIGCONT, to_all=True)  # `fg` and `bg` have woken us

    def _send(self, number: int, to_all: bool) -> None:
        with suppress(OSError):  # it has ended
            os.killpg(self.child, number) if to_all else os.kill(self.child, number)
