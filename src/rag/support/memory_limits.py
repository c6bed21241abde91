"""How much memory is free, the machine's or what a container or a service may take of it, and how
little of it the allocator keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_ROOT = Path("/")
_GROUPS = "sys/fs/cgroup"  # control groups, version 2
_ARENA_MAX = -8  # the number of this limit in glibc
_ARENAS = 2


def free_memory(root: Path = _ROOT) -> int | None:
    """Return how many bytes this process may take; None where the system does not tell.

    :param root: where `proc` and `sys` are.
    """
    return min(_limits(root), default=None)


def _limits(root: Path) -> Iterator[int]:
    """Yield what is left of the machine, and of each group with a limit that this process is in."""
    with suppress(OSError):
        available = re.search(r"MemAvailable: *(\d+) kB", (root / "proc/meminfo").read_text())
        if available:
            yield int(available[1]) << 10
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text("utf-8", "replace")
        name = re.search(r"^0::/(.*)$", groups, re.M)
        # A container sees its own group as the root, or not at all by the name it has outside.
        folder = root / _GROUPS / (name[1] if name else "")
        for group in (folder, *folder.parents)[: len(Path(name[1]).parts) + 1 if name else 0]:
            with suppress(OSError, ValueError):  # no such group, or "max" for no limit
                limit = int((group / "memory.max").read_text())
                used = int((group / "memory.current").read_text())
                # Of files that the system lets go when memory is wanted.
                facts = (group / "memory.stat").read_text()
                cached = re.search(r"^inactive_file (\d+)$", facts, re.M)
                yield max(0, limit - used + (int(cached[1]) if cached else 0))


def limit_arenas(most: int = _ARENAS) -> None:
    """Let all threads, those of the engine too, take memory from few stores of the allocator.

    glibc has eight for each processor, and each keeps what it once needed: memory grew for the
    first ten thousand searches. It must be called before there is a thread; other systems have no
    such limit.
    """
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).mallopt(_ARENA_MAX, most)


def give_back() -> None:
    """Return to the system what was freed; glibc keeps it where something above is in use, which
    after a segment was built is two thirds. Other systems do nothing."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
