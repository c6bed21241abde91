"""How much memory is free, and how little of it the allocator keeps."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_ROOT = Path("/")
_ARENA_MAX = -8  # the number of this limit in glibc


def free_memory(root: Path = _ROOT) -> int | None:
    """Return how many bytes this process may take: what the machine has, or what its container or
    service is left of a limit (control groups, version 2); `None` where the system does not tell.

    :param root: where `proc` and `sys` are.
    """
    free = []
    with suppress(OSError, IndexError):
        free.append(int(re.findall(r"MemAvailable: *(\d+)", _read(root / "proc/meminfo"))[0]) << 10)
        group = _read(root / "proc/self/cgroup").partition("0::/")[2].strip()
        for folder in {root / "sys/fs/cgroup" / group, root / "sys/fs/cgroup"}:
            with suppress(OSError, ValueError):  # no such group, or "max" for no limit
                left = int(_read(folder / "memory.max")) - int(_read(folder / "memory.current"))
                # Files that the system lets go when memory is wanted.
                cached = re.findall(r"^inactive_file (\d+)$", _read(folder / "memory.stat"), re.M)
                free.append(max(0, left + sum(map(int, cached))))
    return min(free, default=None)


def _read(file: Path) -> str:
    return file.read_text("utf-8", "replace")


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
