"""Work in a child process where the system may end the process that does it.

The engine maps its files. Where a full disk has no block for a page that it touches, the system
ends the process with SIGBUS, which nothing in it can catch. So on a disk that is short of room the
index is written by a child, and this process says what became of it. The index is as safe as under
`kill -9`: the next run completes it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

from rag.exceptions import IndexingError, RAGError
from rag.index.snapshots import IndexDirectory
from rag.support.disk_space import be_watched, disk_full, free_room
from rag.support.processes import SideProcess

T = TypeVar("T")
Tell = Callable[[int], None]

_PLENTY = 4 << 30  # free bytes; a disk that has them is not full before the index is written
_SHORT = 256 << 20  # free bytes, with the room that the child left: with more it was not the disk
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def watch(directory: IndexDirectory, work: Callable[[Tell], T]) -> T:
    """Do some work on an index and return its result, which can be pickled, or raise its error.

    :param work: is given a function to tell how many bytes of notes it is about to write.
    :raises DiskFullError: when it ended for lack of room.
    """

    def watched(say: Callable[[object], None]) -> None:
        be_watched()
        try:
            outcome: tuple[object, BaseException | None] = (work(say), None)
        except BaseException as error:
            outcome = (None, error)
        say(outcome)

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or free_room(directory.path) >= _PLENTY:
        return work(lambda size: None)
    try:
        child = SideProcess(watched, is_quiet=False)
    except OSError:  # no memory, or too many processes
        return work(lambda size: None)
    size, outcome = 0, None
    with _signals_to(child):
        with suppress(EOFError):
            while isinstance(outcome := child.hear(), int):
                size = outcome
        code = child.join()
    if not isinstance(outcome, tuple):
        _explain(code, directory, size)
    result: Any
    result, error = outcome
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


@contextmanager
def _signals_to(child: SideProcess) -> Iterator[None]:
    """Have signals that would end this process go to the other one."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, lambda number, _: child.signal(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _explain(code: int, directory: IndexDirectory, size: int) -> NoReturn:
    """Raise why the child ended without a word; end alike where somebody ended it."""
    if code != -signal.SIGBUS:
        if code < 0:
            with suppress(ValueError, OSError):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        raise IndexingError("the process that writes the index has ended", f"exit code {code}")
    need = directory.room_to_write(size)
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
