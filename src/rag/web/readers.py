"""Processes that read the notes for the server.

One interpreter does one thing at a time, so two of them answer nearly twice as many searches. They
are begun with the server and end with it; one that dies is replaced, and what it was asked is asked
again.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pkgutil import resolve_name
from threading import get_ident
from typing import Any

from rag.app.library import Library
from rag.exceptions import RAGError
from rag.support.processes import FEW_ARENAS, PythonProcess, Say, may_start, processors, take_orders

MOST = 2 if processors() > 1 else 0  # each takes memory for all that a search imports
_TRIES = 2
_LONGEST = 120.0  # seconds, after which a reader hangs


class Readers:
    """Reads the notes of a library.

    :param count: of processes; with 0, or where none can be started, it is done in this one.
    """

    def __init__(self, library: Library, count: int) -> None:
        self._library, self._count = library, count if may_start() else 0
        self._pool = ThreadPoolExecutor(self._count or 2, "read")
        self.processes: dict[int, PythonProcess] = {}  # by the thread of the pool that has it
        self._is_closed = False

    def load(self) -> None:
        """Begin to import and open what readers need, in threads."""
        if not self._count:
            self._library.load()
        for _ in range(self._count):
            self._pool.submit(self._order)

    async def read(self, work: str, *given: Any) -> Any:
        """Return what a function makes of a workspace with the newest snapshot.

        :param work: the function, as `module:name`.
        :param given: its other arguments; as what it returns and raises, they can be pickled.
        """
        read = self._order if self._count else partial(_read, self._library)
        return await asyncio.get_running_loop().run_in_executor(self._pool, read, work, *given)

    def close(self) -> None:
        """End all processes, whatever they do."""
        self._is_closed = True
        for process in [*self.processes.values()]:
            process.process.kill()
        self._pool.shutdown(cancel_futures=True)
        for process in self.processes.values():
            process.close()

    def _order(self, *work: Any) -> Any:
        """Return what the process of this thread answers."""
        thread = get_ident()
        for _ in range(_TRIES):
            try:
                if thread not in self.processes and not self._is_closed:
                    self.processes[thread] = PythonProcess(__name__, serve.__name__, FEW_ARENAS)
                process = self.processes[thread]
                process.order((self._library.config, work))
                if not process.answers.poll(_LONGEST):
                    raise EOFError
                answer = process.answer()
            except (EOFError, OSError, KeyError):  # it has ended, it hangs, or none can be started
                if thread in self.processes:
                    self.processes.pop(thread).close()
                continue
            if isinstance(answer, Exception):
                raise answer
            return answer
        raise RAGError("the notes could not be read", hint="`rag doctor` checks the index.")


def serve() -> None:
    """Read notes for a server; called in the process that was started."""
    take_orders(_answer)


_libraries: list[Library] = []  # that of this process


def _answer(order: Any, say: Say) -> object:
    config, work = order
    if not _libraries:
        _libraries.append(Library(lambda: config, looks=False))
        _libraries[0].wait_for_notes()
        resolve_name("rag.web.parts:part")  # which is imported
    try:
        return _read(_libraries[0], *work) if work else None
    except Exception as error:
        if not isinstance(error, RAGError):
            traceback.print_exc(limit=-8, file=sys.stderr)
        raise


def _read(library: Library, work: str, *given: Any) -> Any:
    library.wait_for_notes()
    with library.reader(is_fresh=False) as workspace:
        return resolve_name(work)(workspace, *given)
