"""Whether the program on the disk is still the one that was loaded."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

Stamp = frozenset[tuple[str, int, int]]


def program_stamp() -> Stamp:
    """Return names, times and sizes of what this program is made of.

    They are its own modules, Python itself, and the folders that hold packages: installing one,
    or another release of one, changes a folder.
    """
    found: list[tuple[str, int, int]] = []
    _add_modules(found, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    for path in (sys.executable, *filter(os.path.isdir, sys.path)):
        with suppress(OSError):
            found.append((path, os.stat(path).st_mtime_ns, 0))  # the size of a folder says nothing
    return frozenset(found)


def _add_modules(found: list[tuple[str, int, int]], folder: str) -> None:
    """Add the modules below a folder: in one list, since there is a look before each command."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py"):
                try:
                    status = entry.stat()
                except OSError:  # gone by now, or a link to nowhere
                    continue
                found.append((entry.path, status.st_mtime_ns, status.st_size))
            elif "." not in name and name != "__pycache__" and entry.is_dir():
                _add_modules(found, entry.path)
