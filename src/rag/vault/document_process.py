"""The processes in which files of other kinds are read, within bounds of time and memory: whatever
a hostile or broken file does there costs that file alone."""

from __future__ import annotations

import atexit
import fcntl
import logging
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import ceil
from threading import Lock
from typing import Any, TypeVar

from rag.support.processes import FEW_ARENAS, PythonProcess, may_start, processors, take_orders
from rag.vault.documents import ENDED, TOO_LARGE, Document, UnreadableError, nothing_of, read
from rag.vault.ocr import read_page

T = TypeVar("T")

SECONDS = 10.0  # of a processor, for one file
_PATIENCE = 6  # times as long where other work goes on
MEMORY = 500 << 20  # bytes of addresses
OCR_SECONDS, OCR_MEMORY = 120.0, 3 << 30  # for one page, which takes 10 s and 1.5 GB
_PIPE = 1 << 20  # bytes of them that wait in a pipe, where it may be so large
_MOST = 2  # processes
_DEEPEST = 5_000  # calls within calls: elements of a web page lie in each other
Order = tuple[str, Callable[..., Any]]  # the path of a file, and what is called for it


class DocumentProcess:
    """A process that reads files one after the other. It is started with the first, again after one
    that ended it, and ends with this process.

    :param is_ocr: whether it is given the time and memory of OCR.
    """

    def __init__(self, is_ocr: bool = False) -> None:
        self.lock, self._is_ocr = Lock(), is_ocr
        self._process: PythonProcess | None = None
        # What it reads, or has read, and nobody has asked for.
        self.ordered: deque[Order] = deque()

    def call(self, path: str, function: Callable[..., T], *arguments: object) -> T:
        """Return what a function makes of a file, or raise what it raises.

        :raises OSError: when the system starts no process.
        :raises UnreadableError: when that takes too long, or too much memory.
        """
        with self.lock:
            while self.ordered and self.ordered[0] != (path, function):
                self._answer()
            if not self.ordered:
                self.order(path, function, *arguments)
            answer = self._answer()
        if isinstance(answer, Exception):
            raise answer
        result: T = answer
        return result

    def order(self, path: str, function: Callable[..., Any], *arguments: object) -> None:
        """Have a function called; who calls this holds the lock. Errors are those of `call`."""
        if self._process and self._process.process.poll() is not None and not self.ordered:
            self.close()  # somebody ended it
        if self._process is None:
            self._process = PythonProcess(__name__, serve.__name__, FEW_ARENAS)
            with suppress(AttributeError, OSError):  # else the reader waits for who asks
                fcntl.fcntl(self._process.answers.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        limits = (OCR_SECONDS, OCR_MEMORY) if self._is_ocr else (SECONDS, MEMORY)
        self._process.order((function, arguments, *limits))
        self.ordered.append((path, function))

    def _answer(self) -> Any:
        """Return what became of the first file that was ordered, or an error."""
        assert self._process
        self.ordered.popleft()
        seconds = OCR_SECONDS if self._is_ocr else SECONDS
        error = UnreadableError(f"that takes more than {seconds:.0f} seconds", TOO_LARGE)
        try:
            if self._process.answers.poll(_PATIENCE * seconds):
                answer = self._process.answer()
                if not isinstance(answer, MemoryError):
                    return answer
                error = UnreadableError("that takes too much memory", TOO_LARGE)
        except EOFError:
            if self._process.kill() != -signal.SIGXCPU:
                error = UnreadableError(ENDED)
        self.close()
        return error

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process:
            self._process.close()
        self._process = None
        self.ordered.clear()


_processes = [DocumentProcess() for _ in range(min(_MOST, processors()))]
_ocr = DocumentProcess(is_ocr=True)
_is_reader = False  # whether this is such a process
for _process in (*_processes, _ocr):
    atexit.register(_process.close)


def _process_for(*order: *Order) -> DocumentProcess:
    """Return the process that was given an order, or the one with the least to do."""
    ordered = (process for process in _processes if order in process.ordered)
    return next(ordered, min(_processes, key=lambda process: len(process.ordered)))


def call(path: str, function: Callable[..., T], *arguments: object) -> T:
    """Return what a function makes of a file, called in a process that reads files; errors are
    those of `DocumentProcess.call`."""
    if _is_reader:
        return function(*arguments)
    if not may_start():
        raise UnreadableError("this program cannot start the process that reads such files")
    return _process_for(path, function).call(path, function, *arguments)


def call_ahead(path: str, function: Callable[..., object], *arguments: object) -> None:
    """Have a function called, beside what this process does, whose result is asked for soon."""
    process = _process_for(path, function)
    with suppress(OSError), process.lock:
        if may_start():
            process.order(path, function, *arguments)


def read_document(path: str, texts: Mapping[int, str] | None = None) -> Document:
    """Return the text of a file; one that takes too long, or too much memory, has none.

    :param texts: what its scanned pages say, by their numbers, as far as they were read.
    :raises OSError: when it cannot be read, or the system starts no process.
    """
    try:
        return call(path, read, path, texts)
    except UnreadableError as error:
        return nothing_of(path, error)


def read_scan(path: str, page: int) -> Document:
    """Return the text of one scanned page of a PDF, from 1, or of a picture.

    :raises OSError: when it cannot be read, or the system starts no process.
    :raises NoOcrError: when what reads scans does not work.
    """
    try:
        return _ocr.call(path, read_page, path, page)
    except UnreadableError as error:
        return nothing_of(path, error)


def end_ocr() -> None:
    """End the process that reads scans, which holds some 800 MB."""
    _ocr.close()


def serve() -> None:
    """Be that process: read files until the standard input ends."""
    global _is_reader
    _is_reader = True
    # What libraries say of a file goes to the terminal of whoever indexes: it helps nobody there.
    logging.disable()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(_DEEPEST)
    _limit("RLIMIT_CORE", 0)
    take_orders(_answer)


def _limit(name: str, most: int) -> None:
    """Have the system hold this process to a limit, where it has that."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        number = getattr(resource, name)
        resource.setrlimit(number, (most, resource.getrlimit(number)[1]))


def _answer(order: tuple[Callable[..., object], tuple[object, ...], float, int], _: object) -> Any:
    function, arguments, seconds, memory = order
    _limit("RLIMIT_AS", memory)
    _limit("RLIMIT_CPU", ceil(time.process_time() + seconds))
    with suppress(MemoryError):
        return function(*arguments)
    return MemoryError()  # without the traceback, which holds on to all that filled the memory
