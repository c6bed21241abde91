"""Servers that said nothing when they were last asked: remembered for a minute, by all commands.

A server that takes a connection and then hangs costs every command some seconds. So the one that
finds it leaves a mark in the user's runtime folder: an empty file, named after the address, whose
time is that of the silence. There is nothing in it to be read half, and no two writers disagree.
"""

from __future__ import annotations

import os
import time
from binascii import crc32
from collections.abc import Iterable
from contextlib import suppress

from rag.exceptions import ConnectionError
from rag.support.runtime_folder import UntrustedError, folder, open_file, open_folder

REMEMBERED = 60.0  # seconds
_here: dict[str, float] = {}  # the same of this process, by the monotonic clock


def remember(url: str, here_only: bool = False) -> None:
    """Remember that a server says nothing.

    :param here_only: in this process, and in no other.
    """
    _here[_key(url)] = time.monotonic()
    if here_only:
        return
    # Without a folder of the user's own no other process can know.
    with suppress(OSError, UntrustedError):
        within = open_folder(folder(), make=True)
        try:
            file = open_file(_name(url), os.O_WRONLY | os.O_CREAT, within)
            os.utime(file)
            os.close(file)
        finally:
            os.close(within)


def forget(urls: Iterable[str]) -> None:
    """Ask these servers again, whatever is remembered of them."""
    for url in urls:
        _here.pop(_key(url), None)
        with suppress(OSError, UntrustedError):
            within = open_folder(folder())
            try:
                os.unlink(_name(url), dir_fd=within)
            finally:
                os.close(within)


def silent_for(url: str) -> float | None:
    """Return how many seconds ago a server said nothing; `None` when it is to be asked."""
    if _key(url) in _here and (since := time.monotonic() - _here[_key(url)]) < REMEMBERED:
        return since
    try:
        within = open_folder(folder())
        try:
            found = os.stat(_name(url), dir_fd=within, follow_symlinks=False)
        finally:
            os.close(within)
    except (OSError, UntrustedError):
        return None
    since = time.time() - found.st_mtime
    return since if 0 <= since < REMEMBERED else None  # a clock may have been set back


def was_silence() -> bool:
    """Whether this process has met a server that said nothing, less than a minute ago."""
    return any(time.monotonic() - at < REMEMBERED for at in _here.values())


def silence(url: str, since: float, restart: str) -> ConnectionError:
    """Return the error of a server that says nothing.

    :param since: how many seconds ago that was.
    :param restart: what to do with one that hangs.
    """
    left = max(1, round(REMEMBERED - since))
    return ConnectionError(
        f"{url} does not answer",
        url,
        details=f"it said nothing {since:.0f} s ago" if since >= 1 else "it says nothing",
        hint=f"It is asked again in {left} s. {restart} `rag doctor` asks it at once.",
    )


def _key(url: str) -> str:
    return url.rstrip("/")


def _name(url: str) -> str:
    return f"{crc32(_key(url).encode()):08x}.silent"
