"""The user's runtime folder: where processes find each other, and what they tell each other.

It may lie in a place where other users can put things, such as /tmp. So nothing in it is used or
made before it is sure that the folder is the user's alone, and that no link of somebody else leads
there. The client of the warm process imports this first: it stands on `os` and `stat`.
"""

from __future__ import annotations

import os
import stat

# An address of a Unix socket has 104 bytes on some systems, 108 on others, the last one zero.
LONGEST_ADDRESS = 103
_NAME = 20  # bytes for what lies in it


class UntrustedError(Exception):
    """The folder, or what is in it, belongs to somebody else."""


def folder() -> str:
    """Return the folder, in the user's runtime folder; it need not exist.

    Without one it is a folder in the place for temporary files that has the user's number.
    """
    user = os.geteuid()
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}"):
        path = os.path.join(place, "rag")
        if os.path.isabs(place) and _is_short(path) and _is_own(place):
            return path
    temporary = os.environ.get("TMPDIR", "")
    path = os.path.join(temporary, f"rag-{user}")
    is_place = os.path.isabs(temporary) and os.path.isdir(temporary) and _is_short(path)
    return path if is_place else f"/tmp/rag-{user}"


def _is_short(path: str) -> bool:
    return len(os.fsencode(path)) <= LONGEST_ADDRESS - _NAME


def _is_own(path: str) -> bool:
    try:
        return os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False


def check_folder(path: str, opened: int | None = None) -> None:
    """Make sure that nobody else can have put something there, or into what was opened of it.

    :raises UntrustedError: when it belongs to somebody else or is open to others.
    """
    facts = os.lstat(path) if opened is None else os.fstat(opened)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
        raise UntrustedError(f"{path} is no folder of yours")
    if facts.st_mode & 0o077:
        raise UntrustedError(f"others may enter {path}")


def open_folder(path: str, make: bool = False) -> int:
    """Return a descriptor of the folder, through which all is done in the folder that was checked;
    with `make` it is made where it is missing, for the user alone.

    :raises UntrustedError: as `check_folder`, or when a link of another user leads there.
    """
    _check_links(path)
    if make:
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
    try:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:  # a link, or no folder
        raise UntrustedError(f"{path} is no folder of yours") from error
    try:
        check_folder(path, opened)
    except BaseException:
        os.close(opened)
        raise
    return opened


def _check_links(path: str) -> None:
    """Refuse a path with a link in it that neither the user nor root has made."""
    at = os.path.dirname(path)
    while at not in ("", "/"):
        facts = os.lstat(at)
        if stat.S_ISLNK(facts.st_mode) and facts.st_uid not in (0, os.geteuid()):
            raise UntrustedError(f"{at} is a link of user {facts.st_uid}")
        at = os.path.dirname(at)


def open_file(path: str, flags: int) -> int:
    """Open a file in the folder, never through a link, which is an `OSError` (ELOOP). What is made
    is the user's alone; where the file may be, so may the folder.

    :raises UntrustedError: as `open_folder`.
    """
    within = open_folder(os.path.dirname(path), make=bool(flags & os.O_CREAT))
    try:
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(os.path.basename(path), flags, 0o600, dir_fd=within)
    finally:
        os.close(within)
