"""Processes that build portions, as many as pay.

A worker is a fresh interpreter that reads portions from its standard input and writes what it
built to its standard output. It inherits neither locks nor open files, is out of the reach of the
terminal's Ctrl-C, and ends when its input does: so it survives no writer, however that ends.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Any, cast

from rag.exceptions import IndexingError
from rag.pipelines.portions import Built, Portion, build
from rag.text.encoding import DocumentEncoder

_MOST = 2
_MEMORY = 800 << 20  # bytes that each may take, and the index beside it
_MEMORY_FILE = Path("/proc/meminfo")


def build_all(portions: Sequence[Portion], processes: int | None = None) -> Generator[Built]:
    """Build portions and yield what became of each, in order.

    :param processes: how many may be at it; by default as many as there are processors and free
        memory for, at most 2. With one, or a single portion, this process does it itself.
    :raises RAGError: what went wrong with a portion, after all before it were yielded.
    """
    count = min(processes or _affordable(), len(portions), _MOST)
    with ExitStack() as stack:
        workers = _start(count, stack) if count > 1 else []
        if workers:
            yield from _collect(workers, portions)
            return
    encoder = DocumentEncoder()
    for portion in portions:
        yield build(portion, encoder)


def _start(count: int, stack: ExitStack) -> list[_Worker]:
    """Start workers, as many as the system allows."""
    workers: list[_Worker] = []
    # A program that is not started as Python is (a frozen one, a server's plug-in) would be
    # started again, whole.
    if getattr(sys, "frozen", False) or "python" not in os.path.basename(sys.executable or ""):  # noqa: PTH119
        return workers
    with suppress(OSError):
        while len(workers) < count:
            workers.append(stack.enter_context(_Worker()))
    return workers


def _affordable() -> int:
    """Return how many there are processors for, and memory where the system tells."""
    usable = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if usable else os.cpu_count() or 1
    with suppress(OSError):
        available = re.search(r"MemAvailable: *(\d+) kB", _MEMORY_FILE.read_text("ascii"))
        if available:
            count = min(count, (int(available[1]) << 10) // _MEMORY)
    return max(1, count)


def _collect(workers: list[_Worker], portions: Sequence[Portion]) -> Generator[Built]:
    waiting = deque(enumerate(portions))
    done: dict[int, Built | BaseException] = {}
    for worker in workers:
        worker.give(*waiting.popleft())
    for number in range(len(portions)):
        while number not in done:
            busy = {w.answers.fileno(): w for w in workers if w.number is not None}
            for ready in wait(busy):
                worker = busy[cast(int, ready)]
                at, outcome = worker.take()
                done[at] = outcome
                if waiting:
                    worker.give(*waiting.popleft())
        outcome = done.pop(number)
        if isinstance(outcome, BaseException):
            raise outcome
        yield outcome


class _Worker:
    """A process, and the number of the portion it is at."""

    def __init__(self) -> None:
        # It finds modules where this process does and reads file names as it does, whatever the
        # environment says.
        code = f"import sys; sys.path[:] = {sys.path}; from {__name__} import work; work()"
        self.process = subprocess.Popen(
            [sys.executable, "-I", f"-Xutf8={sys.flags.utf8_mode}", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        assert self.process.stdin and self.process.stdout
        self.orders: IO[bytes] = self.process.stdin
        self.answers: IO[bytes] = self.process.stdout
        self.number: int | None = None

    def give(self, number: int, portion: Portion) -> None:
        self.number = number
        with suppress(BrokenPipeError):  # `take` says so
            pickle.dump(portion, self.orders)
            self.orders.flush()

    def take(self) -> tuple[int, Built | BaseException]:
        assert self.number is not None
        number, self.number = self.number, None
        try:
            outcome: Built | BaseException = pickle.load(self.answers)
        except (EOFError, pickle.UnpicklingError) as error:
            code = self.process.wait()
            why = f"signal {-code}" if code < 0 else f"exit code {code}"
            outcome = IndexingError(
                "a process that reads notes ended before its time",
                why,
                hint="Run `rag index` again: it goes on where this run stopped.",
            )
            outcome.__cause__ = error
        return number, outcome

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        for stream in (self.orders, self.answers):
            with suppress(BrokenPipeError):
                stream.close()
        self.process.wait()


def work() -> None:
    """Be a worker: build portions until the standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may get among the answers
    portions: queue.SimpleQueue[Portion] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(portions,), daemon=True).start()
    gc.disable()  # indexing makes millions of short-lived lists and no circles among them
    encoder = DocumentEncoder()
    while True:
        try:
            outcome: Any = build(portions.get(), encoder)
        except Exception as error:
            outcome = error
        pickle.dump(outcome, answers)
        answers.flush()
        gc.collect()


def _listen(portions: queue.SimpleQueue[Portion]) -> None:
    """Pass on what is ordered, and end the process with the one that orders."""
    while True:
        try:
            portions.put(pickle.load(sys.stdin.buffer))
        except (EOFError, pickle.UnpicklingError):
            os._exit(0)
