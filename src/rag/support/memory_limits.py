"""How much memory is free, the machine's or what a container or a service may take of it, and how
little of it the allocator keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_ROOT = Path("/")
_ARENA_MAX = -8  # the number of this limit in glibc
_ARENAS = 2


class _Control(NamedTuple):
    """Where a version of control groups keeps its figures. `cached` is of files that the system
    lets go when memory is wanted."""

    mount: str
    group: re.Pattern[str]
    limit: str
    used: str
    cached: re.Pattern[str]


_CONTROLS = (
    _Control(
        "sys/fs/cgroup",
        re.compile(r"^0::/(.*)$", re.M),
        "memory.max",
        "memory.current",
        re.compile(r"^inactive_file (\d+)$", re.M),
    ),
    _Control(
        "sys/fs/cgroup/memory",
        re.compile(r"^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:/(.*)$", re.M),
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        re.compile(r"^total_inactive_file (\d+)$", re.M),
    ),
)


def free_memory(root: Path = _ROOT) -> int | None:
    """Return how many bytes this process may take; None where the system does not tell.

    :param root: where `proc` and `sys` are.
    """
    return min([*_of_machine(root), *_of_groups(root)], default=None)


def _of_machine(root: Path) -> Iterator[int]:
    with suppress(OSError):
        found = re.search(r"MemAvailable: *(\d+) kB", (root / "proc/meminfo").read_text("ascii"))
        if found:
            yield int(found[1]) << 10


def _of_groups(root: Path) -> Iterator[int]:
    """Yield what is left in each group with a limit that this process is in."""
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text("utf-8", "replace")
        for control in _CONTROLS:
            group = control.group.search(groups)
            if not group:
                continue
            mount = root / control.mount
            folder = mount / group[1]
            # A container sees its own group as the root, or not at all by the name it has outside.
            for place in (folder, *folder.parents):
                yield from _left(place, control)
                if place == mount:
                    break


def _left(group: Path, control: _Control) -> Iterator[int]:
    with suppress(OSError, ValueError):  # no such group, or "max" for no limit
        limit = int((group / control.limit).read_text("ascii"))
        used = int((group / control.used).read_text("ascii"))
        cached = control.cached.search((group / "memory.stat").read_text("ascii"))
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
