"""Processes that read the notes for the server.

One interpreter does one thing at a time, so two of them answer nearly twice as many searches. They
are begun with the server and end with it; one that dies is replaced, and what it was asked is asked
again.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rag.app.library import Library
from rag.exceptions import RAGError
from rag.support.memory_limits import limit_arenas
from rag.support.processes import PythonProcess, Say, may_start, processors, take_orders

if TYPE_CHECKING:
    from rag.app.workspace import Workspace

T = TypeVar("T")
MOST = min(2, processors())  # a third waits for the engine's locks and for memory
_TRIES = 2
_LONGEST = 120.0  # seconds, after which a reader hangs


class Readers:
    """Reads the notes of a library.

    :param count: of processes; with 0, or where none can be started, it is done in this one.
    """

    def __init__(self, library: Library, count: int) -> None:
        self._library, self._count = library, count if may_start() else 0
        self._pool = ThreadPoolExecutor(self._count or 2, "read")
        self._of_thread = threading.local()
        self._processes = set[PythonProcess]()
        self._is_closed = False

    def load(self) -> None:
        """Begin to import and open what readers need, in threads."""
        if not self._count:
            self._library.load()
        for _ in range(self._count):
            self._pool.submit(self._order, None)

    async def read(self, work: Callable[[Workspace], T]) -> T:
        """Do something with a reader of the newest snapshot.

        :param work: can be pickled, as what it returns and raises can.
        """
        loop, read = asyncio.get_running_loop(), self._order if self._count else self._read
        return cast("T", await loop.run_in_executor(self._pool, read, work))

    def close(self) -> None:
        """End all processes, whatever they do."""
        self._is_closed = True
        for process in self._processes:
            process.process.kill()
        self._pool.shutdown(cancel_futures=True)
        for process in self._processes:
            process.close()

    def _read(self, work: Callable[[Workspace], T]) -> T:
        return _read(self._library, work)

    def _order(self, work: Callable[[Workspace], Any] | None) -> Any:
        """Return what a process answers; each thread of the pool has its own."""
        for _ in range(_TRIES):
            with suppress(EOFError, OSError):
                process = getattr(self._of_thread, "process", None) or self._start()
                try:
                    process.order((self._library.looked_at, self._library.changed, work))
                    if not process.answers.poll(_LONGEST):
                        raise EOFError
                    answer = process.answer()
                except (EOFError, OSError):
                    self._of_thread.process = None
                    self._processes.discard(process)
                    process.close()
                    raise
                if isinstance(answer, Exception):
                    raise answer
                return answer
        raise RAGError("the notes could not be read", hint="`rag doctor` checks the index.")

    def _start(self) -> PythonProcess:
        if self._is_closed:
            raise EOFError
        process = self._of_thread.process = PythonProcess(__name__, serve.__name__)
        self._processes.add(process)
        process.order(self._library.config)
        process.answer()
        return process


def serve() -> None:
    """Read notes for a server; called in the process that was started."""
    libraries: list[Library] = []

    def answer(order: Any, say: Say) -> object:
        if not libraries:
            limit_arenas()
            libraries.append(Library(lambda: order, looks=False))
            libraries[0].wait_for_notes()
            return None
        library = libraries[0]
        library.looked_at, library.changed, work = order
        try:
            return _read(library, work) if work else None
        except RAGError:
            raise
        except Exception:
            traceback.print_exc(limit=-8, file=sys.stderr)
            raise

    take_orders(answer)


def _read(library: Library, work: Callable[[Workspace], T]) -> T:
    library.wait_for_notes()
    with library.reader(is_fresh=False) as workspace:
        return work(workspace)
