"""Keep what the engine prints when it panics from the terminal; the error that follows says it.

The engine prints straight into the process's standard error, beneath Python's. While it works,
that is turned into memory, and what came there in the meantime is written out after it, but for
the panic. Only the program does so, whose standard error is its own: see
`rag.support.process_exit`.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rag.support.process_exit import is_program

_PANIC = re.compile(
    rb"\n?thread '[^'\n]*' (?:\(\d+\) )?panicked at .*?"
    rb"(?:\nnote: [^\n]*backtrace[^\n]*\n|\Z)",
    re.DOTALL,
)
_STANDARD_ERROR = 2
_lock = threading.Lock()
_inside = 0  # threads that work with the engine, and how deep
_memory = -1  # what takes the place of standard error, once it was needed
_before = -1  # standard error meanwhile


@contextmanager
def without_panics() -> Iterator[None]:
    """Let no panic of the engine be seen that happens meanwhile."""
    if not is_program() or not hasattr(os, "memfd_create"):
        yield
        return
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _turn_away()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _turn_back()


def _turn_away() -> None:
    global _memory, _before
    with suppress(OSError, ValueError):  # where there is no standard error nothing is seen
        sys.stderr.flush()
        if _memory < 0:
            _memory = os.memfd_create("stderr")
        _before = os.dup(_STANDARD_ERROR)
        os.dup2(_memory, _STANDARD_ERROR)


def _turn_back() -> None:
    global _before
    if _before < 0:
        return
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os.dup2(_before, _STANDARD_ERROR)
    os.close(_before)
    _before = -1
    if size := os.fstat(_memory).st_size:
        said = os.pread(_memory, size, 0)
        os.ftruncate(_memory, 0)
        os.lseek(_memory, 0, os.SEEK_SET)
        with suppress(OSError):
            os.write(_STANDARD_ERROR, _PANIC.sub(b"", said))
