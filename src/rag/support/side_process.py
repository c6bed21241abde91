"""Work in a process of its own, forked from this one, while this one goes on.

It needs no start and no imports: to fork takes some milliseconds. It suits work that ends soon and
says little; what it prints goes nowhere.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from rag.support.process_exit import is_program

Say = Callable[[object], None]


def may_fork() -> bool:
    """Return whether this process is the program, and has no thread that a fork would lose."""
    is_alone = threading.active_count() == 1
    return is_program() and is_alone and hasattr(os, "fork")


class SideProcess:
    """A process that does some work; `join` must be called.

    :param work: is given a function that tells this process something that can be pickled.
    :raises OSError: when there is no memory, or there are too many processes.
    """

    def __init__(self, work: Callable[[Say], object]) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both would write what is left
        heard, said = os.pipe()
        try:
            self._number = os.fork()
        except OSError:
            os.close(heard)
            os.close(said)
            raise
        if self._number == 0:
            os.close(heard)
            _run(work, said)
        os.close(said)
        self._heard = os.fdopen(heard, "rb")

    def hear(self) -> Any:
        """Return the next that it says; it is waited for.

        :raises EOFError: when it has ended.
        """
        try:
            return pickle.load(self._heard)
        except pickle.UnpicklingError as error:  # killed in the middle of a word
            raise EOFError from error

    def says_something(self, seconds: float) -> bool:
        """Wait until it says something or has ended, and return whether it does in time."""
        return bool(select.select([self._heard], [], [], seconds)[0])

    def kill(self) -> None:
        """End it at once."""
        os.kill(self._number, signal.SIGKILL)

    def join(self) -> int:
        """Wait until it has ended; return its exit code, negative for a signal."""
        code = os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])
        self._heard.close()
        return code


def _run(work: Callable[[Say], object], said: int) -> NoReturn:
    def say(what: object) -> None:
        os.write(said, pickle.dumps(what))

    def interrupt(*_: object) -> None:
        # A terminal tells both processes of Ctrl-C, and the other one may tell this one again.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    try:
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):  # whoever reads the output of the other must see its end
            os.dup2(nowhere, number)
        gc.disable()  # it ends before that pays
        work(say)
    finally:
        os._exit(0)
