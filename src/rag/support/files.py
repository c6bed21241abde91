"""Files and folders that are ours: read as what they are, written so that a power cut leaves what
was there before or what was written, and known by a mark.

- A *regular* file: somebody may have put a folder, a pipe or a device in its place.
- A file is *safe* when it and the folder that names it were synced: `sync_tree` does it for a
  folder before it is renamed, `replace_durably` for one file. Where a file system cannot sync a
  folder, it needs no such call.
- A folder gets its *mark*, a file, when it is made or found empty. We write into no other, and
  delete no other. A data folder is known as well by holding nothing but what `rag` writes: whoever
  copies its content may leave the mark behind.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from rag.exceptions import StorageError, UsageError

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
SECONDS = 5.0  # that another process is waited for: it holds a lock for one line
_PAUSE = 0.02
# As many files are synced at once: the file system then writes its journal once for several.
_THREADS = 4
_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY)
MARK = ".rag-data"
_TEXT = b"""This folder is kept by rag, which searches notes.
It writes here and deletes here: keep nothing of your own in this folder.
"""
_NOISE = {".DS_Store", "lost+found"}  # what systems put into folders by themselves
_OF_DATA = (  # on macOS settings, and the list of trusted files, lie there too
    r"vaults\.(json|tmp)|facts\.jsonl(\.lock|\.new)?|chats|logs|rag\.toml|index[-\w]*"
    r"|\.?(trusted|service)\.json(\.tmp)?"
)
_NOTHING = r"(?!)"


# -- regular files ---------------------------------------------------------------------


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; what is none is neither waited for nor read.

    :raises OSError: when it cannot be opened, or is a pipe, a device or a folder.
    """
    return open(path, "rb", opener=regular_file)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file; errors are those of `open_file`."""
    with open_file(path) as stream:
        return stream.read()


def regular_file(path: str, flags: int) -> int:
    """Open a regular file at once: a pipe would be waited for until somebody writes to it.

    :raises OSError: for what is none.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o666)
    # Of a folder `open` says what it is.
    if stat.S_IFMT(os.fstat(descriptor).st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def strange_kind(path: str | os.PathLike[str]) -> str:
    """Return what is in the place of a regular file, as "a folder", links followed; "" where it is
    one, is missing, or cannot be examined."""
    try:
        return _KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "")  # noqa: PTH116
    except (OSError, ValueError):
        return ""


# -- safe writes -----------------------------------------------------------------------


def replace_durably(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Put a file in the place of another, which may be missing; what is read is one or the other.

    :raises OSError: when it cannot be written; then the other is as it was.
    """
    beside = path.with_name(f".{path.name}.tmp")
    with suppress(FileNotFoundError):  # one that was left may be a link, or be open to others
        beside.unlink()
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        _sync(file.fileno(), to_the_disk=True)
    beside.replace(path)
    sync_folder(path.parent)


@contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Let one process after the other read and replace the files of a folder, as far as its file
    system can lock it.

    :raises OSError: when there is no such folder.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def lock(descriptor: int, what: str, seconds: float = SECONDS) -> None:
    """Lock an open file; closing it lets go, and so does the end of the process.

    :param what: subject and verb of the error: `the facts are`.
    :raises StorageError: when another process does not release it in time.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise StorageError(
                    f"{what} being written by another process",
                    hint="Try again; if it stays so, end the process that has it.",
                ) from None
        time.sleep(_PAUSE)


def append(descriptor: int, line: bytes) -> None:
    """Add a line to an open file; what somebody did not write to its end stays a line of its own.

    :raises OSError: when not all of it could be written.
    """
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        line = b"\n" + line
    if os.write(descriptor, line) < len(line):
        raise OSError("the disk is full")


def sync_folder(path: Path) -> None:
    """Make the names in a folder safe: what was made, renamed or removed there."""
    _sync_path(path, os.O_DIRECTORY, to_the_disk=True)


def sync_tree(folder: Path) -> None:
    """Make all that a folder holds safe: the content of every file, and every name."""
    from concurrent.futures import ThreadPoolExecutor

    paths = [
        f"{base}/{name}" for base, folders, names in os.walk(folder) for name in folders + names
    ]
    with ThreadPoolExecutor(_THREADS) as threads:
        [*threads.map(_sync_path, paths)]  # raises what they raised
    sync_folder(folder)


def _sync_path(path: str | Path, flags: int = os.O_NOFOLLOW, to_the_disk: bool = False) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    try:
        _sync(descriptor, to_the_disk)
    finally:
        os.close(descriptor)


def _sync(descriptor: int, to_the_disk: bool = False) -> None:
    """Write out an open file or folder; `to_the_disk` what the disk itself holds back, too: on
    macOS that takes another call, which counts for all that was synced before."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None and to_the_disk:
        with suppress(OSError):  # not every disk knows it
            fcntl.fcntl(descriptor, full)
            return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


# -- folders with a mark ---------------------------------------------------------------


def claim_data_folder(folder: Path) -> None:
    """Make the data folder ours, and for its owner's eyes only; it is made when it is missing.
    Errors are those of `check_data_folder`."""
    check_data_folder(folder)
    _claim(folder)


def check_data_folder(folder: Path) -> None:
    """Make sure that a data folder is ours, or may be; nothing is written.

    :raises UsageError: when it holds files that are not ours.
    :raises OSError: when it cannot be examined.
    """
    _check(folder, _OF_DATA)


def make_owned(folder: Path, allowed: str = _NOTHING) -> None:
    """Make a folder that has the mark, for its owner's eyes only; one that is there must have it,
    or hold only names of the pattern `allowed`.

    :raises UsageError: when it holds files that are not ours, or is a link.
    :raises OSError: when it cannot be made.
    """
    if folder.is_symlink():
        raise _not_ours(folder, "is a link")
    _check(folder, allowed)
    _claim(folder)


def is_marked(folder: Path) -> bool:
    """Return whether a folder has the mark."""
    try:
        return stat.S_ISREG(os.lstat(folder / MARK).st_mode)
    except OSError:
        return False


def remove(folder: Path) -> None:
    """Delete a folder of ours with all that it holds; any other stays as it is.

    The mark goes last, so that what is left when this is broken off is ours still.
    """
    if folder.is_symlink() or not is_marked(folder):
        with suppress(OSError):  # an empty one may go
            folder.rmdir()
        return
    import shutil

    for path in _entries(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        (folder / MARK).unlink()
        folder.rmdir()


def narrow(folder: Path) -> None:
    """Let nobody but its owner into a folder; a link is not followed."""
    with suppress(OSError):  # it is somebody else's, who may have reasons
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if mode & 0o077:
                os.fchmod(descriptor, mode & 0o700)
        finally:
            os.close(descriptor)


def _claim(folder: Path) -> None:
    if not is_marked(folder):
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process was faster
            with open(folder / MARK, "xb", opener=lambda p, f: os.open(p, f, 0o600)) as file:
                file.write(_TEXT)
            sync_folder(folder)
        for path in missing:
            with suppress(PermissionError):  # what may be written to and not read cannot be synced
                sync_folder(path.parent)
    narrow(folder)


def _check(folder: Path, allowed: str) -> None:
    """:raises UsageError: when a folder without the mark holds something that is not ours."""
    if is_marked(folder):
        return
    foreign = [path.name for path in _entries(folder) if not re.fullmatch(allowed, path.name)]
    if foreign and not is_marked(folder):  # another process may have made it ours meanwhile
        raise _not_ours(folder, f"holds files that are not rag's ({min(foreign)!r})")


def _not_ours(folder: Path, what: str) -> UsageError:
    return UsageError(
        f"the folder {folder} {what}",
        hint="rag deletes in its data folder. Name an empty one with RAG_DATA_DIR.",
    )


def _entries(folder: Path) -> list[Path]:
    """Return what a folder holds, without the mark and what the system put there."""
    try:
        return [path for path in folder.iterdir() if path.name not in _NOISE | {MARK}]
    except FileNotFoundError:
        return []
