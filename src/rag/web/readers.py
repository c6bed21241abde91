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
from functools import partial
from importlib import import_module
from typing import Any

from rag.app.library import Library
from rag.exceptions import RAGError
from rag.support.memory_limits import limit_arenas
from rag.support.processes import PythonProcess, Say, may_start, processors, take_orders

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
        self._of_thread = threading.local()
        self.processes = set[PythonProcess]()
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
        for process in [*self.processes]:
            process.process.kill()
        self._pool.shutdown(cancel_futures=True)
        for process in self.processes:
            process.close()

    def _order(self, *work: Any) -> Any:
        """Return what a process answers; each thread of the pool has its own."""
        for _ in range(_TRIES):
            try:
                answer = self._answer((self._library.looked_at, self._library.changed, work))
            except (EOFError, OSError):  # it has ended, it hangs, or none can be started
                if process := vars(self._of_thread).pop("process", None):
                    self.processes.discard(process)
                    process.close()
                continue
            if isinstance(answer, Exception):
                raise answer
            return answer
        raise RAGError("the notes could not be read", hint="`rag doctor` checks the index.")

    def _answer(self, order: object) -> Any:
        own = self._of_thread
        if not hasattr(own, "process"):
            if self._is_closed:
                raise EOFError
            own.process = PythonProcess(__name__, serve.__name__)
            self.processes.add(own.process)
            self._exchange(own.process, self._library.config)
        return self._exchange(own.process, order)

    @staticmethod
    def _exchange(process: PythonProcess, order: object) -> Any:
        process.order(order)
        if not process.answers.poll(_LONGEST):
            raise EOFError
        return process.answer()


def serve() -> None:
    """Read notes for a server; called in the process that was started."""
    limit_arenas()
    libraries: list[Library] = []

    def answer(order: Any, say: Say) -> object:
        if not libraries:
            libraries.append(Library(lambda: order, looks=False))
            libraries[0].wait_for_notes()
            function_named("rag.web.parts:results")  # which is imported
            return None
        library = libraries[0]
        library.looked_at, library.changed, work = order
        try:
            return _read(library, *work) if work else None
        except RAGError:
            raise
        except Exception:
            traceback.print_exc(limit=-8, file=sys.stderr)
            raise

    take_orders(answer)


def _read(library: Library, work: str, *given: Any) -> Any:
    library.wait_for_notes()
    with library.reader(is_fresh=False) as workspace:
        return function_named(work)(workspace, *given)


def function_named(name: str) -> Callable[..., Any]:
    """Return a function, which is imported."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)  # type: ignore[no-any-return]
