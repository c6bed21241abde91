"""Whether the program on the disk is still the one that was loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

Stamp = frozenset[tuple[str, int, int]]


def program_stamp() -> Stamp:
    """Return names, times and sizes of what this program is made of.

    They are its own modules, Python itself, and the folders that hold packages: installing one,
    or another release of one, changes a folder.
    """
    found = set()
    for path in _parts():
        try:
            status = os.stat(path)
        except OSError:
            continue
        # The size of a folder says nothing.
        found.add((path, status.st_mtime_ns, status.st_size if path.endswith(".py") else 0))
    return frozenset(found)


def _parts() -> Iterator[str]:
    yield sys.executable
    yield from (path for path in sys.path if path and os.path.isdir(path))
    package = Path(__file__).resolve().parents[1]
    for folder, _, files in os.walk(package):
        yield from (os.path.join(folder, file) for file in files if file.endswith(".py"))
