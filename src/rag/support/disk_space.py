"""Room on a disk: how much there is, the one error that says that it is full, and copies of files
that take no more of it."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag.exceptions import ConnectionError, DiskFullError, IndexUnavailableError, RAGError

# A process ends, by SIGBUS, where the engine gets no block of the disk for what it has mapped. It
# maps more than is known beforehand, where holes take room too (a tmpfs) some 70 MB.
RESERVE = 72 << 20
LITTLE = 4 << 20  # bytes that the smallest change of an index takes for a while
_NOTHING = 1 << 20  # bytes; of a disk with less than that, whatever the engine fails at fails of it
_FULL = (errno.ENOSPC, errno.EDQUOT)
# The engine's errors are text.
_SAID = ("No space left", "Not enough space", "uota exceeded")
_BLOCK, _READ = 1 << 14, 1 << 20
_ZEROS = bytes(_READ)


def free_room(folder: str | Path) -> int:
    """Return the free bytes of the disk that a folder is on, or will be."""
    while True:
        try:
            return shutil.disk_usage(folder).free
        except FileNotFoundError:
            folder = Path(folder).parent


def disk_full(folder: str | Path, need: int = 0, details: str = "") -> DiskFullError:
    """Return the error that says how much room is needed, as far as is known, and how much there
    is."""
    free = free_room(folder)
    need = max(need, free + LITTLE)
    return DiskFullError(
        f"the disk is full: {-(-need >> 20)} MB needed, {free >> 20} MB free at {folder}",
        details,
        hint="Free some room and run the command again, or move the index with RAG_DATA_DIR.",
    )


def require_room(folder: str | Path, need: int) -> None:
    """Make sure that `need` bytes can be written.

    :raises DiskFullError: when they cannot.
    """
    if free_room(folder) < need:
        raise disk_full(folder, need)


def is_of_full_disk(error: BaseException, folder: Path | None = None) -> bool:
    """Whether an error, or what it was raised from, says that a disk is full. Where that of the
    index's folder has next to nothing free, the engine and SQLite fail in many ways, and it is the
    disk."""
    is_vague = isinstance(error, (IndexUnavailableError, sqlite3.Error))
    if is_vague and folder and free_room(folder) < _NOTHING:
        return True
    cause: BaseException | None = error
    while cause is not None:
        is_full = isinstance(cause, OSError) and cause.errno in _FULL
        is_full |= getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        if is_full or any(words in str(cause) for words in _SAID):
            return True
        cause = cause.__cause__
    return False


@contextmanager
def disk_in_view(folder: Path, need: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Raise what goes wrong inside because the disk is full as a `DiskFullError`.

    :param need: tells how many free bytes would be enough, and may make room before.
    """
    try:
        yield
    except (ConnectionError, DiskFullError):
        raise
    except (RAGError, OSError, sqlite3.Error) as error:
        if is_of_full_disk(error, folder):
            raise disk_full(folder, need(), str(error)) from error
        raise


# -- copies ----------------------------------------------------------------------------


def copy_tree(
    source: str | Path,
    target: str | Path,
    skip: Callable[[str], bool] = lambda name: False,
    is_fixed: Callable[[str], bool] = lambda path: False,
) -> None:
    """Copy a folder, without what `skip` tells by its name; what `target` holds stays. A file that
    `is_fixed` says nobody ever writes again gets a second name instead, where the system can."""

    def copy(path: str, copied: str) -> None:
        if is_fixed(path):
            with suppress(OSError):  # not every system, nor every disk, gives a file two names
                os.link(path, copied)
                return
        copy_file(path, copied)

    ignored = lambda _, names: {*filter(skip, names)}  # noqa: E731
    shutil.copytree(source, target, ignore=ignored, copy_function=copy, dirs_exist_ok=True)


def copy_file(source: str | Path, target: str | Path) -> None:
    """Copy one file; blocks of zeros become holes. The engine allocates far more than it uses:
    copied byte by byte an index grows tenfold."""
    with open(source, "rb", 0) as reader, open(target, "wb", 0) as writer:
        writer.truncate(os.fstat(reader.fileno()).st_size)
        for position, block in data_blocks(reader.fileno()):
            os.pwrite(writer.fileno(), block, position)


def data_blocks(file: int) -> Iterator[tuple[int, bytes]]:
    """Yield where the blocks of an open file are that do not only hold zeros, and what they hold.
    Holes are not read."""
    size, position = os.fstat(file).st_size, 0
    buffer = bytearray(min(size, _READ))
    with open(file, "rb", 0, closefd=False) as stream:
        while position < size:
            try:
                position = os.lseek(file, position, os.SEEK_DATA) & -_READ
            except OSError:  # only a hole is left
                return
            stream.seek(position)
            count = stream.readinto(buffer)
            del buffer[count:]
            for at in range(0, count, _BLOCK) if not _ZEROS.startswith(buffer) else ():
                block = bytes(buffer[at : at + _BLOCK])
                if block != _ZEROS[: len(block)]:
                    yield position + at, block
            position += _READ


def disk_usage(folder: Path, skip: Callable[[str], bool] = lambda path: False) -> int:
    """Return the bytes that the files of a folder take on disk, holes not counted; a file that has
    several names there counts once.

    :param skip: tells by its path which file does not count.
    """
    sizes = {}
    for file in files_below(folder):
        with suppress(FileNotFoundError):
            if not skip(file):
                facts = os.lstat(file)
                sizes[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return sum(sizes.values())


def files_below(folder: Path, skip: Callable[[str], bool] = lambda name: False) -> Iterator[str]:
    """Yield the files of a folder; `skip` tells by its name what is left out."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not skip(name)]
        yield from (os.path.join(base, name) for name in names if not skip(name))
