"""Other processes of this program, each a fresh interpreter, which inherits neither locks nor open
files; and how little of the machine they take from whoever sits at it."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from typing import IO, Any

from rag.support.closing import Closing

Say = Callable[[object], None]

_NICE = 10
# An environment in which glibc keeps one store of memory for all threads, and not eight for each
# processor of which each keeps what it once needed.
FEW_ARENAS = {"MALLOC_ARENA_MAX": "1"}


def processors() -> int:
    """Return how many processors this process may use."""
    usable = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if usable else os.cpu_count() or 1


@cache
def lower_priority() -> None:
    """Let all other programs go first from now on, at the disk too as far as the system knows."""
    with suppress(OSError):
        os.nice(_NICE)


def may_start() -> bool:
    """Return whether this interpreter can be started again: a program that is not started as
    Python is (a frozen one, a server's plug-in) would be started again, whole."""
    name = os.path.basename(sys.executable or "")  # noqa: PTH119
    return not getattr(sys, "frozen", False) and "python" in name


class PythonProcess(Closing):
    """An interpreter that takes orders on its standard input and answers on its standard output;
    `close` must be called. It is out of the reach of Ctrl-C, and ends when its input does.

    :param function: of `module`: it takes no arguments, and calls `take_orders`.
    :param environment: variables that differ from those of this process.
    :raises OSError: when the system starts none.
    """

    def __init__(
        self, module: str, function: str, environment: Mapping[str, str] | None = None
    ) -> None:
        # It finds modules where this process does and reads file names as it does, whatever the
        # environment says.
        code = f"import sys; sys.path[:] = {sys.path}; from {module} import {function}; "
        self.process = subprocess.Popen(
            [sys.executable, "-I", f"-Xutf8={sys.flags.utf8_mode}", "-c", f"{code}{function}()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
            env={**os.environ, **environment} if environment else None,
        )
        assert self.process.stdin and self.process.stdout
        self._orders: IO[bytes] = self.process.stdin
        # It reads one answer and not into the next, which `wait` would then not see.
        self.answers = Connection(os.dup(self.process.stdout.fileno()), writable=False)
        self.process.stdout.close()

    def order(self, what: object) -> None:
        """Give it an order; where it has ended, `answer` says so."""
        with suppress(BrokenPipeError):
            pickle.dump(what, self._orders)
            self._orders.flush()

    def answer(self) -> Any:
        """Return what it answers next; it is waited for.

        :raises EOFError: when it has ended, or says what is no answer.
        """
        try:
            return self.answers.recv()
        except (OSError, pickle.UnpicklingError) as error:
            raise EOFError from error

    def kill(self) -> int:
        """End it at once; return its exit code, negative for a signal."""
        self.process.kill()
        return self.process.wait()

    def close(self) -> None:
        """End it and release everything."""
        self.kill()
        self.answers.close()
        with suppress(BrokenPipeError):
            self._orders.close()


def take_orders(work: Callable[[Any, Say], object]) -> None:
    """Answer orders until there are none; called in the interpreter that was started.

    :param work: is given an order and a function that answers something meanwhile, and returns, or
        raises, the last answer to it."""
    answers = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # nothing else may get among the answers
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    with suppress(BrokenPipeError):  # who ordered is gone
        while True:
            try:
                answers.send(work(orders.get(), answers.send))
            except Exception as error:
                answers.send(error)
    os._exit(0)  # as Python ends it waits for its input, which the thread is reading


def _listen(orders: queue.SimpleQueue[Any]) -> None:
    """Pass on what is ordered; end the process with the one that orders, and with an order that
    cannot be read."""
    with suppress(Exception):
        while True:
            orders.put(pickle.load(sys.stdin.buffer))
    os._exit(0)
