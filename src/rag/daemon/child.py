"""A forked child becomes the command that a client asked for."""

from __future__ import annotations

import fcntl
import io
import locale
import os
import signal
import socket
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn, TextIO

from rag.config import load_config
from rag.daemon import endpoint as place
from rag.support import process_exit as leaving

_SECONDS = 5.0  # for an exit code to leave
NOT_WANTED = 3  # the exit status of a child whose configuration wants no warm process
NOT_ASKED = 4  # that of a child whose client has changed its mind
_MOST = 1 << 26  # bytes of arguments and environment; systems allow a process far less


class NoRequestError(Exception):
    """The client went away, or did not say what it wants."""


@dataclass(frozen=True)
class Request:
    """A command, and the surroundings it was typed in.

    `streams` are open copies of its standard streams; `ignored` the signals it is deaf to, as
    under `nohup`. The size of a terminal needs no words: it is asked of the streams.
    """

    arguments: list[str]
    folder: bytes
    mask: int
    ignored: list[int]
    environment: list[tuple[bytes, bytes]]
    streams: list[int]


def receive(connection: socket.socket) -> Request:
    """Read a request.

    :raises NoRequestError: when none comes, or half of one.
    """
    connection.settimeout(None)  # it comes at once, or when a stopped client goes on
    try:
        head, streams, _, _ = socket.recv_fds(connection, 4, 3)
        wanted = int.from_bytes(head, "big")
        if len(head) < 4 or len(streams) < 3 or wanted > _MOST:
            raise NoRequestError
        text = bytearray()
        while len(text) < wanted:
            more = connection.recv(wanted - len(text))
            if not more:
                raise NoRequestError
            text += more
    except OSError as error:
        raise NoRequestError from error
    numbers, folder, *rest = bytes(text).split(b"\0")
    count, mask, *ignored = map(int, numbers.split())
    variables = [entry.partition(b"=") for entry in rest[count:]]
    return Request(
        [os.fsdecode(argument) for argument in rest[:count]],
        folder,
        mask,
        ignored,
        [(name, value) for name, _, value in variables],
        list(streams),
    )


def run(connection: socket.socket) -> NoReturn:
    """Run the command that comes over a connection, tell its exit code, and end the process.

    The process has just been forked, with its signals blocked and at their defaults.
    """
    try:
        request = receive(connection)
    except NoRequestError:
        os._exit(NOT_ASKED)
    try:
        _take_over(request)
    except (OSError, ValueError):  # a folder that cannot be entered, for one
        _leave(connection, "cold")
    _end_with_client(connection)
    code = 1
    try:
        code = _run_command(request.arguments)
    except KeyboardInterrupt:  # once more
        code = leaving.INTERRUPTED
    except BaseException:
        # As the interpreter does it. `run_command` makes a message of what users can cause.
        traceback.print_exc()
        code = leaving.finish(code)
    finally:
        _leave(connection, str(code))


def _take_over(request: Request) -> None:
    """Become a process like the one that would have run cold."""
    os.chdir(request.folder)
    os.umask(request.mask)
    os.environ.clear()
    for name, value in request.environment:
        if name:  # Python takes a variable without a name from its surroundings, and sets none
            os.environb[name] = value
    time.tzset()
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:
        locale.setlocale(locale.LC_CTYPE, "C")
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    errors = sys.stdin.errors  # follow the locale, which an interpreter reads but once
    _set_stream("stdin", open(0, encoding="utf-8", errors=errors, closefd=False))
    unbuffered = place.is_unbuffered()
    _set_stream("stdout", _open_output(1, unbuffered))
    _set_stream("stderr", _open_output(2, unbuffered))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in request.ignored:
        signal.signal(number, signal.SIG_IGN)


def _open_output(number: int, unbuffered: bool) -> TextIO:
    if unbuffered:
        file = open(number, "wb", 0, closefd=False)
        return io.TextIOWrapper(file, encoding="utf-8", write_through=True)
    return open(number, "w", 1 if number == 2 else -1, encoding="utf-8", closefd=False)


def _set_stream(name: str, stream: TextIO) -> None:
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)


def _end_with_client(connection: socket.socket) -> None:
    """Let the system end this process when its client is gone, as if both were one.

    A client says nothing after its request, so that anything on the connection is its end.
    """
    if not hasattr(os, "O_ASYNC"):
        return
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGKILL)
    else:  # nobody ends of this one by default
        signal.signal(signal.SIGIO, lambda *_: os._exit(0))
    fcntl.fcntl(connection, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    connection.setblocking(False)
    with suppress(BlockingIOError):
        connection.recv(1, socket.MSG_PEEK)
        os._exit(0)  # it had gone before


def _run_command(arguments: list[str]) -> int:
    from rag.cli.app import run as run_command

    sys.argv = ["rag", *arguments]
    leaving.begin()
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        code = leaving.finish(run_command(arguments))
    except KeyboardInterrupt:
        code = leaving.interrupted()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # nothing is left to interrupt
    return code


def _leave(connection: socket.socket, word: str) -> NoReturn:
    """Tell the client how it ended. The exit status of this process is for the parent."""
    status = 0
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):  # whoever reads our output must see its end before the exit code
            os.dup2(nowhere, number)
        fcntl.fcntl(connection, fcntl.F_SETFL, 0)  # from here on the client may go
        connection.settimeout(_SECONDS)
        connection.sendall(f"{word}\n".encode())
        connection.close()
        status = 0 if load_config().warm else NOT_WANTED
    finally:
        os._exit(status)
