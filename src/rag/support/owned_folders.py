"""Folders of ours: those that have a mark. We write into no other, and delete no other.

A folder gets its mark, a file, when it is made or found empty. A data folder is known as well by
holding nothing but what `rag` writes: whoever copies its content may leave the mark behind.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from rag.exceptions import UsageError
from rag.support.durable_files import sync_folder

MARK = ".rag-data"
_TEXT = b"""This folder is kept by rag, which searches notes.
It writes here and deletes here: keep nothing of your own in this folder.
"""
_NOISE = {".DS_Store", "lost+found"}  # what systems put into folders by themselves
_OF_DATA = re.compile(  # on macOS settings, and the list of trusted files, lie there too
    r"vaults\.(json|tmp)|facts\.jsonl(\.lock|\.new)?|chats|logs|rag\.toml|index[-\w]*"
    r"|\.?(trusted|service)\.json(\.tmp)?"
)
_NOTHING = re.compile(r"(?!)")


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


def make_owned(folder: Path) -> None:
    """Make a folder that has the mark, for its owner's eyes only; one that is there must have it,
    or be empty.

    :raises UsageError: when it holds files that are not ours, or is a link.
    :raises OSError: when it cannot be made.
    """
    if folder.is_symlink():
        raise _not_ours(folder, "is a link")
    _check(folder, _NOTHING)
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
    for path in _entries(folder):
        if path.name == MARK:
            continue
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


def _check(folder: Path, allowed: re.Pattern[str]) -> None:
    """:raises UsageError: when a folder without the mark holds something that is not ours."""
    if is_marked(folder):
        return
    foreign = [path.name for path in _entries(folder) if not allowed.fullmatch(path.name)]
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
