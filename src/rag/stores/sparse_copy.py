"""Copy the files of a closed shard without filling the holes in them.

The engine allocates far more than it uses: copied byte by byte an index grows tenfold.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)


def copy_tree(
    source: Path,
    target: Path,
    skip: frozenset[str] = frozenset(),
    is_fixed: Callable[[str], bool] = lambda path: False,
) -> None:
    """Copy a folder; `skip` names entries of any folder that are left out. What `target` holds
    stays.

    :param is_fixed: tells of a file whether nobody ever writes it again: where the system can, it
        then gets a second name instead of a copy.
    """
    os.makedirs(target, 0o700, exist_ok=True)
    for entry in os.scandir(source):
        if entry.name in skip:
            continue
        if entry.is_dir():
            copy_tree(Path(entry.path), target / entry.name, skip, is_fixed)
        elif not (is_fixed(entry.path) and _link(entry.path, target / entry.name)):
            copy_file(entry.path, target / entry.name)


def _link(source: str, target: Path) -> bool:
    try:
        os.link(source, target)
    except OSError:  # not every system, nor every disk, gives a file two names
        return False
    return True


def copy_file(source: str | Path, target: str | Path) -> None:
    """Copy one file; blocks of zeros become holes."""
    with open(source, "rb", buffering=0) as reader, open(target, "wb", buffering=0) as writer:
        size = os.fstat(reader.fileno()).st_size
        os.ftruncate(writer.fileno(), size)
        for start, end in _extents(reader.fileno(), size):
            position = start
            while position < end:
                block = os.pread(reader.fileno(), min(_BLOCK, end - position), position)
                if not block:
                    break
                if block != _ZEROS[: len(block)]:
                    os.pwrite(writer.fileno(), block, position)
                position += len(block)


def _extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of what holds data; all of it where the system cannot tell."""
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    position = 0
    while position < size:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
            position = os.lseek(descriptor, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:  # ENXIO: only a hole is left
                yield position, size
            return
        yield start, position


def disk_usage(folder: Path) -> int:
    """Return the bytes that the files of a folder take on disk, holes not counted."""
    return sum(map(size_on_disk, files_below(folder)))


def files_below(folder: Path, skip: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the files of a folder; `skip` names folders that are left out."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in skip]
        yield from (os.path.join(base, name) for name in names)


def size_on_disk(file: str) -> int:
    """Return the bytes that a file takes on disk, holes not counted; none when it is gone."""
    try:
        stat = os.lstat(file)
    except FileNotFoundError:
        return 0
    blocks: int = getattr(stat, "st_blocks", stat.st_size // 512 + 1)
    return blocks * 512
