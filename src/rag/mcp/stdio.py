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

from rag.app.library import Library
from rag.mcp.protocol import (
    PARSE_ERROR,
    Call,
    Dispatcher,
    Message,
    ProtocolError,
    as_object,
    error_message,
    is_id,
    is_slow,
)
from rag.support import process_exit

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_LONGEST_LINE = 4 << 20  # bytes
_AT_ONCE = 64  # requests; who sends more is answered later
_LOOK = 2.0  # seconds between two looks for the program that started us
_LAST_ANSWERS = 60.0  # seconds that requests have after the end of the input
_PAUSE = 0.02  # seconds between two looks whether they are answered


def serve(config_file: Path | None = None) -> int:
    """Serve the notes until the input ends; return the exit code."""

    def read_settings() -> Any:
        from rag.config import load_config

        return load_config(config_file)

    try:
        source, target = _take_streams()
    except OSError:  # nobody is there to be served
        return 0
    process_exit.go_on()
    library = Library(read_settings, first="rag.mcp.requests")
    # What settings depend on, besides files.
    named = {k: v for k, v in os.environ.items() if k.startswith(("RAG_", "XDG_CONFIG", "HOME"))}
    start = repr((Path().stat().st_ino, str(config_file), sorted(named.items())))
    with suppress(KeyboardInterrupt):
        _Server(library, Dispatcher(library, start), source, target).run()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    return 0


def _take_streams() -> tuple[int, int]:
    """Return where messages come from and go to, which nobody else can reach from now on."""
    for stream in (0, 1):
        os.fstat(stream)  # before the number of a closed one is given to a copy of the other
    source, target = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    with suppress(OSError):  # without one, what is printed goes nowhere
        os.dup2(2, 1)
    for stream in (source, target):  # a client may have made them streams that do not wait
        os.set_blocking(stream, True)
    return source, target


class _Server:
    def __init__(self, library: Library, dispatcher: Dispatcher, source: int, target: int) -> None:
        self._library, self._dispatcher = library, dispatcher
        self._source, self._target = source, target
        self._parent = os.getppid()
        self._writing = threading.Lock()
        self._calls: dict[Future[None], tuple[object, Call]] = {}  # with the id of the request
        self._workers: ThreadPoolExecutor | None = None
        self._is_gone = False

    def run(self) -> None:
        """Answer messages until there are no more, or nobody reads the answers."""
        buffered, is_skipping = b"", False
        while data := self._read():
            *lines, buffered = (buffered + data).split(b"\n")
            for line in lines:
                if not is_skipping:
                    self._take(line)
                is_skipping = False
            if len(buffered) > _LONGEST_LINE:
                if not is_skipping:
                    self._refuse("line too long")
                buffered, is_skipping = b"", True
        if buffered and not is_skipping:
            self._take(buffered)
        ends = time.monotonic() + _LAST_ANSWERS
        while self._calls and self._is_wanted() and time.monotonic() < ends:
            time.sleep(_PAUSE)
        for _, call in [*self._calls.values()]:
            call.is_cancelled = True

    def _read(self) -> bytes:
        while self._is_wanted():
            if select.select([self._source], [], [], _LOOK)[0]:
                return os.read(self._source, 1 << 16)
        return b""

    def _is_wanted(self) -> bool:
        return not self._is_gone and os.getppid() == self._parent

    def _take(self, line: bytes) -> None:
        """Answer a line: at once where that takes no notes, else in a thread."""
        if not line.strip():
            return
        try:
            message = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            self._refuse(f"Parse error: {error}"[:200])
            return
        if as_object(message).get("method") == "notifications/cancelled":
            cancelled = as_object(message.get("params")).get("requestId")
            for id_, call in [*self._calls.values()]:
                if is_id(cancelled) and id_ == cancelled:
                    call.is_cancelled = True
        elif is_slow(message):
            self._begin(message)
        else:
            self._send(self._dispatcher.handle(message))
            self._library.load()

    def _begin(self, message: Any) -> None:
        """Have a thread answer a message; a thread that is free goes first, and is kept."""
        if self._workers is None:
            from concurrent.futures import ThreadPoolExecutor

            self._workers = ThreadPoolExecutor(_AT_ONCE, "request")
        call = Call()

        def answer() -> None:
            self._send(self._dispatcher.handle(message, call, self._send))

        work = self._workers.submit(answer)
        self._calls[work] = as_object(message).get("id"), call
        work.add_done_callback(self._calls.pop)

    def _refuse(self, why: str) -> None:
        self._send(error_message(None, ProtocolError(PARSE_ERROR, why)))

    def _send(self, answer: Message | None) -> None:
        if answer is None or self._is_gone:
            return
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        left = memoryview(text.encode("utf-8", "replace") + b"\n")
        with self._writing:
            try:
                while left:
                    left = left[os.write(self._target, left) :]
            except OSError:  # nobody reads it
                self._is_gone = True


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
