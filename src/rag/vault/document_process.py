"""The process in which files of other kinds are read, within bounds of time and memory: whatever a
hostile or broken file does there costs that file alone."""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from threading import Lock

from rag.support.file_kinds import DOCUMENTS
from rag.support.memory_limits import limit_arenas
from rag.support.processes import PythonProcess, may_start, take_orders
from rag.vault.documents import NOT_READ, Document, read

SECONDS = 10.0  # for one file
MEMORY = 500 << 20  # bytes of addresses

_lock = Lock()
_process: PythonProcess | None = None


def read_document(path: str) -> Document:
    """Return the text of a file; one that takes too long, or too much memory, has none.

    :raises OSError: when it cannot be read, or the system starts no process.
    """
    global _process
    with _lock:  # there is one process, which reads one file at a time
        if not may_start():
            return nothing_of(path, "this program cannot start the process that reads such files")
        if _process is None:
            _process = PythonProcess(__name__, serve.__name__)
            atexit.register(_process.close)
        _process.order(path)
        answer: object = None
        why = f"that takes more than {SECONDS:.0f} seconds"
        with suppress(EOFError):
            if _process.answers.poll(SECONDS):
                why = "the process that read it ended"
                answer = _process.answer()
        if isinstance(answer, Document):
            return answer
        if isinstance(answer, OSError):
            raise answer
        if isinstance(answer, BaseException):
            why = "that takes too much memory"
        atexit.unregister(_process.close)
        _process.close()
        _process = None
        return nothing_of(path, why)


def nothing_of(path: str, why: str) -> Document:
    """Return what is known of a file that is not read, for a reason."""
    kind = DOCUMENTS.get(os.path.splitext(path)[1].lower(), "text")  # noqa: PTH122
    return Document(fields={"type": kind}, problems=[f"{NOT_READ}{why}"])


def serve() -> None:
    """Be that process: read files until the standard input ends."""
    limit_arenas(1)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    take_orders(lambda path, _: read(path))
