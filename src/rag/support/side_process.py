"""Work in a process of its own, forked from this one, while this one goes on.

It needs no start and no imports: to fork takes some milliseconds. It ends with this process.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from rag.support.process_exit import is_program

Say = Callable[[object], None]

_PR_SET_PDEATHSIG = 1
_LOOK = 0.5  # seconds between two looks for a signal


def may_fork() -> bool:
    """Return whether this process is the program, and has no thread that a fork would lose."""
    is_alone = threading.active_count() == 1
    return is_program() and is_alone and hasattr(os, "fork")


class SideProcess:
    """A process that does some work; `join` must be called.

    :param work: is given a function that tells this process something that can be pickled.
    :param is_quiet: what it prints goes nowhere.
    :raises OSError: when there is no memory, or there are too many processes.
    """

    def __init__(self, work: Callable[[Say], object], is_quiet: bool = True) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both would write what is left
        self._heard, said = os.pipe()
        self._received = b""
        parent = os.getpid()
        try:
            self._number = os.fork()
        except OSError:
            os.close(self._heard)
            os.close(said)
            raise
        if self._number == 0:
            os.close(self._heard)
            _run(work, said, parent, is_quiet)
        os.close(said)

    def hear(self) -> Any:
        """Return the next that it says; it is waited for.

        A signal that comes just before a read is seen after it: so none lasts long.

        :raises EOFError: when it has ended.
        """
        while True:
            stream = io.BytesIO(self._received)
            with suppress(EOFError, pickle.UnpicklingError):  # only half of it is there
                said = pickle.load(stream)
                self._received = stream.read()
                return said
            if select.select([self._heard], [], [], _LOOK)[0]:
                more = os.read(self._heard, 1 << 16)
                if not more:
                    raise EOFError
                self._received += more

    def says_something(self, seconds: float) -> bool:
        """Wait until it says something or has ended, and return whether it does in time."""
        return bool(self._received or select.select([self._heard], [], [], seconds)[0])

    def signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        with suppress(ProcessLookupError):
            os.kill(self._number, number)

    def join(self) -> int:
        """Wait until it has ended; return its exit code, negative for a signal."""
        code = os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])
        os.close(self._heard)
        return code


def _run(work: Callable[[Say], object], said: int, parent: int, is_quiet: bool) -> NoReturn:
    def say(what: object) -> None:
        told = memoryview(pickle.dumps(what))
        while told:
            told = told[os.write(said, told) :]

    def interrupt(*_: object) -> None:
        # A terminal tells both processes of Ctrl-C, and the other one may tell this one again.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    try:
        _end_with(parent)
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)
        if is_quiet:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for number in range(3):  # whoever reads the output of the other must see its end
                os.dup2(nowhere, number)
            gc.disable()  # it ends before that pays
        work(say)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(0)


def _end_with(parent: int) -> None:
    """Have the system end this process with its parent, where it can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
