"""How little memory the allocator keeps."""

from __future__ import annotations

from contextlib import suppress

_ARENA_MAX = -8  # the number of this limit in glibc


def limit_arenas(most: int = 2) -> None:
    """Let all threads, those of the engine too, take memory from few stores of the allocator: glibc
    has eight for each processor, and each keeps what it once needed. It must be called before there
    is a thread; other systems have no such limit."""
    _call_allocator("mallopt", _ARENA_MAX, most)


def give_back() -> None:
    """Return to the system what was freed; glibc keeps it where something above is in use, which
    after a segment was built is two thirds. Other systems do nothing."""
    _call_allocator("malloc_trim", 0)


def _call_allocator(function: str, *arguments: int) -> None:
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        getattr(ctypes.CDLL(None), function)(*arguments)
