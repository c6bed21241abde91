"""Copy files without filling the holes in them, and tell what files take on disk.

The engine allocates far more than it uses: copied byte by byte an index grows tenfold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

_BLOCK = 1 << 14
_ZEROS = bytes(_BLOCK)


def copy_tree(
    source: str | Path,
    target: str | Path,
    skip: Callable[[str], bool] = lambda name: False,
    is_fixed: Callable[[str], bool] = lambda path: False,
) -> None:
    """Copy a folder; what `target` holds stays.

    :param skip: tells by its name what is left out, in any folder.
    :param is_fixed: tells of a file whether nobody ever writes it again: where the system can, it
        then gets a second name instead of a copy.
    """
    os.makedirs(target, 0o700, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            copied = f"{target}/{entry.name}"
            if skip(entry.name):
                continue
            if entry.is_dir():
                copy_tree(entry.path, copied, skip, is_fixed)
            elif not (is_fixed(entry.path) and _link(entry.path, copied)):
                copy_file(entry.path, copied)


def _link(source: str, target: str) -> bool:
    try:
        os.link(source, target)
    except OSError:  # not every system, nor every disk, gives a file two names
        return False
    return True


def copy_file(source: str | Path, target: str | Path) -> None:
    """Copy one file; blocks of zeros become holes."""
    with open(source, "rb", 0) as reader, open(target, "wb", 0) as writer:
        size = os.fstat(reader.fileno()).st_size
        writer.truncate(size)
        for position in _written(reader.fileno(), size):
            block = os.pread(reader.fileno(), _BLOCK, position)
            if block != _ZEROS[: len(block)]:
                os.pwrite(writer.fileno(), block, position)


def _written(descriptor: int, size: int) -> Iterator[int]:
    """Yield where the blocks of a file begin that are no holes; all where the system cannot tell
    them from others."""
    position = 0
    while position < size:
        start, end = position, size
        if hasattr(os, "SEEK_DATA"):
            try:
                start = os.lseek(descriptor, position, os.SEEK_DATA)
                end = os.lseek(descriptor, start, os.SEEK_HOLE)
            except OSError:  # only a hole is left
                return
        yield from range(start, end, _BLOCK)
        position = end


def disk_usage(folder: Path) -> int:
    """Return the bytes that the files of a folder take on disk, holes not counted; a file that has
    several names there counts once."""
    sizes = {}
    for file in files_below(folder):
        with suppress(FileNotFoundError):
            stat = os.lstat(file)
            sizes[stat.st_dev, stat.st_ino] = _blocks(stat)
    return sum(sizes.values())


def files_below(folder: Path, skip: Callable[[str], bool] = lambda name: False) -> Iterator[str]:
    """Yield the files of a folder; `skip` tells by its name what is left out."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not skip(name)]
        yield from (os.path.join(base, name) for name in names if not skip(name))


def size_on_disk(file: str) -> int:
    """Return the bytes that a file takes on disk, holes not counted; none when it is gone."""
    try:
        return _blocks(os.lstat(file))
    except FileNotFoundError:
        return 0


def _blocks(stat: os.stat_result) -> int:
    blocks: int = getattr(stat, "st_blocks", stat.st_size // 512 + 1)
    return blocks * 512
