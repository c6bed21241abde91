"""Work in a child process where the system may end the process that does it.

The engine maps its files. Where a full disk has no block for a page that it touches, the system
ends the process with SIGBUS, which nothing in it can catch. So on a disk that is short of room the
index is written by a child, and this process says what became of it. The index is as safe as under
`kill -9`: the next run completes it.
"""

from __future__ import annotations

import io
import os
import pickle
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, BinaryIO, NoReturn, TypeVar

from rag.exceptions import IndexingError, RAGError
from rag.index.snapshots import IndexDirectory
from rag.support.disk_space import be_watched, disk_full, free_room

T = TypeVar("T")
Tell = Callable[[int], None]

_PLENTY = 4 << 30  # free bytes; a disk that has them is not full before the index is written
_SHORT = 256 << 20  # free bytes, with the room that the child left: with more it was not the disk
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_PR_SET_PDEATHSIG = 1
_LOOK = 0.5  # seconds between two looks for a signal


def watch(directory: IndexDirectory, work: Callable[[Tell], T]) -> T:
    """Do some work on an index and return its result, which can be pickled, or raise its error.

    :param work: is given a function to tell how many bytes of notes it is about to write.
    :raises DiskFullError: when it ended for lack of room.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or free_room(directory.path) >= _PLENTY:
        return work(lambda size: None)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    heard, said = os.pipe()
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError:  # no memory, or too many processes
        return work(lambda size: None)
    if child == 0:
        os.close(heard)
        _be_child(parent, os.fdopen(said, "wb"), work)
    os.close(said)
    result: T = _Child(child, os.fdopen(heard, "rb")).follow(directory)
    return result


class _Child:
    """The process that does the work. Signals go on to it, what it says comes back."""

    def __init__(self, number: int, answers: BinaryIO) -> None:
        self.number, self.answers = number, answers
        self.size = 0
        self.outcome: Any = None

    def follow(self, directory: IndexDirectory) -> Any:
        """Return what came of the work, or raise what it raised."""
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in (n for n in _SIGNALS if before[n] != signal.SIG_IGN):
            signal.signal(number, self._forward)
        try:
            self._listen()
            code = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.outcome is None:
            self._explain(code, directory)
        result, error = self.outcome
        if error is not None:
            raise error
        return result

    def _listen(self) -> None:
        """Hear what the child says, until its outcome or its end.

        A signal that comes just before a read is seen after it: so none lasts long.
        """
        received = b""
        with self.answers:
            while self.outcome is None:
                if select.select([self.answers], [], [], _LOOK)[0]:
                    said = os.read(self.answers.fileno(), 1 << 16)
                    if not said:
                        return
                    received = self._take(received + said)

    def _take(self, received: bytes) -> bytes:
        """Take note of what was said whole, and return the rest."""
        stream, taken = io.BytesIO(received), 0
        with suppress(EOFError, pickle.UnpicklingError):
            while self.outcome is None:
                answer = pickle.load(stream)
                taken = stream.tell()
                if isinstance(answer, int):
                    self.size = answer
                else:
                    self.outcome = answer
        return received[taken:]

    def _forward(self, number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.number, number)

    def _explain(self, code: int, directory: IndexDirectory) -> NoReturn:
        """Raise why the child ended without a word; end alike where somebody ended it."""
        if code != -signal.SIGBUS:
            if code < 0:
                with suppress(ValueError, OSError):
                    signal.signal(-code, signal.SIG_DFL)
                os.kill(os.getpid(), -code)
            raise IndexingError("the process that writes the index has ended", f"exit code {code}")
        need = directory.room_to_write(self.size)
        is_full = free_room(directory.path) < max(_SHORT, need)
        with suppress(RAGError, OSError), directory.writing():
            directory.clear_unfinished()
        if is_full:
            raise disk_full(directory.path, need)
        raise IndexingError(
            "the process that writes the index was ended by SIGBUS",
            "the disk was full for a moment, or a file of the index is cut short",
            hint="Run `rag index` again; if it happens again, `rag index --rebuild`.",
        )


def _be_child(parent: int, answers: BinaryIO, work: Callable[[Tell], object]) -> NoReturn:
    def say(what: object) -> None:
        answers.write(pickle.dumps(what))
        answers.flush()

    def interrupt(*_: object) -> None:
        # A terminal tells both processes of Ctrl-C, and the other one tells this one again.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    try:
        _end_with(parent)
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)
        be_watched()
        try:
            outcome: tuple[object, BaseException | None] = (work(say), None)
        except BaseException as error:
            outcome = (None, error)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        say(outcome)
    finally:
        os._exit(0)


def _end_with(parent: int) -> None:
    """Have the system end this process with its parent, where it can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
