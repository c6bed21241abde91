"""The server over standard streams: a message a line, answers in whatever order they are ready.

Standard output belongs to the protocol alone. What anything else prints (a plug-in, a library, what
is still buffered at the end) goes to standard error. The server ends with its input, and when the
program that started it is gone.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.mcp.calls import Call
from rag.mcp.library import Library
from rag.mcp.protocol import (
    PARSE_ERROR,
    Connection,
    Dispatcher,
    Id,
    Message,
    ProtocolError,
    error_message,
    is_id,
    is_slow,
)
from rag.support import process_exit
from rag.support.memory_limits import limit_arenas

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from rag.config import RAGConfig

_LONGEST_LINE = 4 << 20  # bytes
_AT_ONCE = 64  # requests; who sends more is answered later
_WAITING = 1000  # requests; who sends more is not read, cancellations neither
_LOOK = 2.0  # seconds between two looks for the program that started us
_LAST_ANSWERS = 10.0  # seconds that requests have after the end of the input
_CANCELLED = "notifications/cancelled"


def serve(config_file: Path | None = None) -> int:
    """Serve the notes until the input ends; return the exit code.

    :param config_file: the project's file that the user named, if any.
    """
    try:
        source, target = _take_streams()
    except OSError:  # nobody is there to be served
        return 0
    process_exit.go_on()
    limit_arenas()
    # What settings depend on, besides files.
    named = {k: v for k, v in os.environ.items() if k.startswith(("RAG_", "XDG_CONFIG", "HOME"))}
    start = repr((Path().stat().st_ino, str(config_file), sorted(named.items())))
    library = Library(lambda: _settings(config_file), start)
    try:
        _Server(library, source, target).run()
    except KeyboardInterrupt:
        pass
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
    return 0


def _take_streams() -> tuple[int, int]:
    """Return where messages come from and go to, which nobody else can reach from now on.

    :raises OSError: when one is closed.
    """
    for stream in (0, 1):
        os.fstat(stream)  # before the number of a closed one is given to a copy of the other
    source, target = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    with suppress(OSError):  # without one, what is printed goes nowhere
        os.dup2(2, 1)
    return source, target


def _settings(config_file: Path | None) -> RAGConfig:
    from rag.config import load_config

    return load_config(config_file)


class _Server:
    def __init__(self, library: Library, source: int, target: int) -> None:
        self._library, self._source, self._target = library, source, target
        self._dispatcher, self._connection = Dispatcher(library), Connection()
        self._parent = os.getppid()
        self._writing = threading.Lock()
        self._calls: dict[Id, Call] = {}
        self._changing = threading.Condition()
        self._running = 0
        self._workers: ThreadPoolExecutor | None = None
        self._room = threading.BoundedSemaphore(_AT_ONCE + _WAITING)
        self._is_gone = False

    def run(self) -> None:
        """Answer messages until there are no more, or nobody reads the answers."""
        buffered, is_skipping = bytearray(), False
        while not self._is_gone:
            data = self._read()
            if not data:
                break
            buffered += data
            *lines, rest = bytes(buffered).split(b"\n")
            buffered = bytearray(rest)
            for line in lines:
                if not is_skipping:
                    self._take(line)
                is_skipping = False
            if len(buffered) > _LONGEST_LINE:
                if not is_skipping:
                    self._refuse("line too long")
                buffered.clear()
                is_skipping = True
        if buffered and not is_skipping:
            self._take(bytes(buffered))
        self._finish()

    def _read(self) -> bytes:
        """Return what the client sends next; nothing at the end, or when the client is gone."""
        while True:
            readable, _, _ = select.select([self._source], [], [], _LOOK)
            if readable:
                with suppress(BlockingIOError):
                    return os.read(self._source, 1 << 16)
            if os.getppid() != self._parent or self._is_gone:
                return b""

    def _take(self, line: bytes) -> None:
        """Answer a line: at once where that takes no notes, else in a thread."""
        if not line.strip():
            return
        try:
            message = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            self._refuse(f"Parse error: {error}"[:200])
            return
        if isinstance(message, dict) and message.get("method") == _CANCELLED:
            self._cancel(message)
            return
        if not is_slow(message):
            self._say(self._dispatcher.handle(message, self._connection))
            self._library.load()
            return
        self._begin(message)

    def _refuse(self, why: str) -> None:
        self._say(error_message(None, ProtocolError(PARSE_ERROR, why)))

    def _begin(self, message: Any) -> None:
        """Have a thread answer a message; a thread that is free goes first, and is kept."""
        from concurrent.futures import ThreadPoolExecutor

        if self._workers is None:
            self._workers = ThreadPoolExecutor(_AT_ONCE, "request")
        call = Call()
        id_ = _id_of(message.get("id")) if isinstance(message, dict) else None
        with self._changing:
            self._running += 1
            if id_ is not None:
                self._calls[id_] = call
        self._room.acquire()
        self._workers.submit(self._answer, message, id_, call)

    def _answer(self, message: Any, id_: Id | None, call: Call) -> None:
        try:
            self._say(self._dispatcher.handle(message, self._connection, call, self._say))
        finally:
            self._room.release()
            with self._changing:
                self._running -= 1
                if id_ is not None and self._calls.get(id_) is call:
                    del self._calls[id_]
                self._changing.notify_all()

    def _cancel(self, message: Message) -> None:
        params = message.get("params")
        id_ = _id_of(params.get("requestId")) if isinstance(params, dict) else None
        with self._changing:
            call = self._calls.get(id_) if id_ is not None else None
        if call:
            call.cancel()

    def _say(self, answer: Message | list[Message] | None) -> None:
        """Write an answer, whole."""
        if answer is None or self._is_gone:
            return
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        left = memoryview(text.encode("utf-8", "replace") + b"\n")
        with self._writing:
            try:
                while left:
                    left = left[self._write(left) :]
            except OSError:  # nobody reads it
                self._is_gone = True

    def _write(self, data: memoryview) -> int:
        """Write some of it, and return how much; a client may have made the stream one that does
        not wait."""
        try:
            return os.write(self._target, data)
        except BlockingIOError:
            select.select([], [self._target], [], _LOOK)
            return 0

    def _finish(self) -> None:
        """Let requests that came before the end of the input be answered, as long as that is of
        use to somebody."""
        ends = time.monotonic() + _LAST_ANSWERS
        with self._changing:
            while self._running and not self._is_gone and os.getppid() == self._parent:
                left = ends - time.monotonic()
                if left <= 0:
                    break
                self._changing.wait(min(_LOOK, left))
        for call in [*self._calls.values()]:
            call.cancel()


def _id_of(value: object) -> Id | None:
    return value if is_id(value) else None


def _refuse_constant(constant: str) -> None:
    """Refuse `NaN` and `Infinity`, which are no JSON.

    :raises ValueError: always.
    """
    raise ValueError(f"{constant} is no JSON")
