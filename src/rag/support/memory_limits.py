"""How little memory the allocator keeps."""

from __future__ import annotations

from contextlib import suppress

_ARENA_MAX = -8  # the number of this limit in glibc


def limit_arenas(most: int = 2) -> None:
    """Let all threads, those of the engine too, take memory from few stores of the allocator: glibc
    has eight for each processor, and each keeps what it once needed. It must be called before there
    is a thread; other systems have no such limit."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).mallopt(_ARENA_MAX, most)
