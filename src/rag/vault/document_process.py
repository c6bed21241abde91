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

from rag.support.file_kinds import kind_by_name
from rag.support.memory_limits import limit_arenas
from rag.support.processes import PythonProcess, may_start, processors, take_orders
from rag.vault.documents import ENDED, NOT_READ, TOO_LARGE, UNREADABLE, Document
from rag.vault.documents import read as _read
from rag.vault.ocr import NoOcrError, read_page

SECONDS = 10.0  # of a processor, for one file
_PATIENCE = 6  # times as long where other work goes on
MEMORY = 500 << 20  # bytes of addresses
OCR_SECONDS, OCR_MEMORY = 120.0, 3 << 30  # for one page, which takes 10 s and 1.5 GB
AHEAD = 32  # files that may be read while others are cut
_PIPE = 1 << 20  # bytes of them that wait in a pipe, where it may be so large
_MOST = 2  # processes
_DEEPEST = 5_000  # calls within calls: elements of a web page lie in each other
Reader = Callable[..., Document]


class DocumentProcess:
    """A process that reads files one after the other. It is started with the first, again after one
    that ended it, and ends with this process.

    :param is_ocr: whether it is given the time and memory of OCR.
    """

    def __init__(self, is_ocr: bool = False) -> None:
        self._lock, self._is_ocr = Lock(), is_ocr
        self._process: PythonProcess | None = None
        # What it reads, or has read, and nobody has asked for.
        self.ordered: deque[str] = deque()

    @property
    def _seconds(self) -> float:
        return OCR_SECONDS if self._is_ocr else SECONDS

    def order(self, path: str) -> None:
        """Have a file read that will be asked for soon.

        :raises OSError: when the system starts no process.
        """
        with self._lock:
            self._order(path)

    def read(self, path: str, read: Reader = _read, *more: object) -> Document:
        """Return the text of a file; one that takes too long, or too much memory, has none.

        :param read: what reads it, given its path and `more`.
        :raises OSError: when it cannot be read, or the system starts no process.
        :raises NoOcrError: when what reads scans does not work.
        """
        with self._lock:
            while self.ordered and self.ordered[0] != path:
                self._answer()
            if not self.ordered:
                self._order(path, read, *more)
            answer = self._answer()
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Document) else nothing_of(path, *answer)

    def _order(self, path: str, read: Reader = _read, *more: object) -> None:
        if self._process and self._process.process.poll() is not None and not self.ordered:
            self.close()  # somebody ended it
        if self._process is None:
            self._process = PythonProcess(__name__, serve.__name__)
            with suppress(AttributeError, OSError):  # else the reader waits for who asks
                fcntl.fcntl(self._process.answers.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        memory = OCR_MEMORY if self._is_ocr else MEMORY
        self._process.order((read, (path, *more), self._seconds, memory))
        self.ordered.append(path)

    def _answer(self) -> Document | Exception | tuple[str, str]:
        """Return what became of the first file that was ordered: the file, an error, or why there
        is none, and its state."""
        assert self._process
        self.ordered.popleft()
        why, state = f"that takes more than {self._seconds:.0f} seconds", TOO_LARGE
        try:
            if self._process.answers.poll(_PATIENCE * self._seconds):
                answer = self._process.answer()
                if isinstance(answer, (Document, OSError, NoOcrError)):
                    return answer
                why = "that takes too much memory"
        except EOFError:
            if self._process.kill() != -signal.SIGXCPU:
                why, state = ENDED, UNREADABLE
        self.close()
        return why, state

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process:
            self._process.close()
        self._process = None
        self.ordered.clear()


_processes = [DocumentProcess() for _ in range(min(_MOST, processors()))]
_ocr = DocumentProcess(is_ocr=True)
for _process in (*_processes, _ocr):
    atexit.register(_process.close)


def take_one_process() -> None:
    """Read in one process from now on, where several processes index."""
    del _processes[1:]


def _process_for(path: str) -> DocumentProcess:
    """Return the process that was ordered to read a file, or the one with the least to do."""
    ordered = (one for one in _processes if path in one.ordered)
    return next(ordered, min(_processes, key=lambda one: len(one.ordered)))


def read_document(path: str, texts: Mapping[int, str] | None = None) -> Document:
    """Return the text of a file; one that takes too long, or too much memory, has none.

    :param texts: what its scanned pages say, by their numbers, as far as they were read.
    :raises OSError: when it cannot be read, or the system starts no process.
    """
    if not may_start():
        why = "this program cannot start the process that reads such files"
        return nothing_of(path, why, UNREADABLE)
    document = _process_for(path).read(path)
    if document.scans and texts:  # a process apart, since the other may be reading ahead
        return _ocr.read(path, _read, texts)
    return document


def read_scan(path: str, page: int) -> Document:
    """Return the text of one scanned page of a PDF, from 1, or of a picture; errors are those of
    `DocumentProcess.read`."""
    return _ocr.read(path, read_page, page)


def end_ocr() -> None:
    """End the process that reads scans, which holds some 800 MB."""
    _ocr.close()


def read_ahead(path: str) -> None:
    """Have a file read, beside what this process does, that will be asked for soon."""
    process = _process_for(path)
    if path not in process.ordered and may_start():
        with suppress(OSError):
            process.order(path)


def nothing_of(path: str, why: str, state: str) -> Document:
    """Return what is known of a file that is not read, for a reason."""
    fields = {"type": kind_by_name(path)}
    return Document(fields=fields, problems=[f"{NOT_READ}{why}"], state=state)


def serve() -> None:
    """Be that process: read files until the standard input ends."""
    limit_arenas(1)
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


def _answer(
    order: tuple[Reader, tuple[object, ...], float, int], _: object
) -> Document | MemoryError:
    read, arguments, seconds, memory = order
    _limit("RLIMIT_AS", memory)
    _limit("RLIMIT_CPU", ceil(time.process_time() + seconds))
    with suppress(MemoryError):
        return read(*arguments)
    return MemoryError()  # without the traceback, which holds on to all that filled the memory
