"""A child that is forked before anybody asks for one.

A child shares the parent's memory until it writes to it, and then each page of it is copied: 4,000
pages in a search, 3 us each, for Python writes where it reads. So one child waits for the next
command, and has done by then what does not depend on the command.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from rag.daemon import preload

_READY = b"."


class Spare:
    """The child that waits, if there is one, as the parent sees it.

    :param fork: forks a child that does something; returns its process, or -1.
    :param become: what a child does with a connection; it ends the process.
    """

    def __init__(
        self,
        fork: Callable[[Callable[[], NoReturn]], int],
        become: Callable[[socket.socket], NoReturn],
    ) -> None:
        self._fork, self._become = fork, become
        self._process = 0
        self._wire: socket.socket | None = None  # the child ends when this end is closed
        self._is_ready = False
        self._may_be = True

    def prepare(self) -> None:
        """Have a child that waits; none where the last one did not come to that."""
        if self._wire is not None or not self._may_be:
            return
        self._is_ready = False
        self._wire, end = socket.socketpair()
        self._wire.setblocking(False)
        process = self._fork(lambda: _wait(end, self._become))
        end.close()
        self._process = process
        if process < 0:
            self.let_go()

    def take(self, connection: socket.socket) -> int:
        """Let it become the command that comes over a connection; return its process, or 0 where
        none is ready."""
        if self._wire is None or not self._has_said_so():
            return 0
        try:
            socket.send_fds(self._wire, [_READY], [connection.fileno()])
        except OSError:  # it was killed
            return 0
        self.let_go()
        return self._process

    def has_ended(self, process: int) -> bool:
        """Take note of the end of a process; return whether it was this child, waiting."""
        if self._wire is None or process != self._process:
            return False
        self._may_be = self._has_said_so()
        self.let_go()
        return True

    def let_go(self) -> None:
        """Close the parent's end; a child that still waits ends."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _has_said_so(self) -> bool:
        if not self._is_ready and self._wire is not None:
            with suppress(OSError):
                self._is_ready = self._wire.recv(1) == _READY
        return self._is_ready


def _wait(wire: socket.socket, become: Callable[[socket.socket], NoReturn]) -> NoReturn:
    """Be the child.

    :param wire: its own end.
    """
    preload.rehearse()
    wire.sendall(_READY)
    _, given, _, _ = socket.recv_fds(wire, 1, 1)
    wire.close()
    if given:
        become(socket.socket(fileno=given[0]))
    os._exit(0)
