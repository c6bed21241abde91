"""What was said on a terminal before, and need not be said there at every command."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from zlib import crc32

from rag.support.runtime_folder import UntrustedError, folder, open_file, open_folder

_KEPT = 24 * 3600.0  # seconds
_NAME = ".told"


def is_news(text: str) -> bool:
    """Return whether a text is said for the first time since a terminal was opened, or today.

    Numbers in it do not matter. Off a terminal, and where nothing can be remembered, all is news.
    """
    try:
        terminal = os.fstat(sys.stderr.fileno())
        if not sys.stderr.isatty():
            return True
        within = open_folder(folder(), make=True)
    except (OSError, ValueError, UntrustedError):
        return True
    opened = f"{terminal.st_rdev} {terminal.st_ctime_ns} {re.sub('[0-9]+', '', text)}"
    name = f"{crc32(opened.encode('utf-8', 'replace')):08x}{_NAME}"
    try:
        _forget_old(within)
        os.close(open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, within))
    except FileExistsError:
        return False
    except OSError:
        return True
    finally:
        os.close(within)
    return True


def _forget_old(within: int) -> None:
    """Remove what was said more than a day ago."""
    for name in os.listdir(within):
        if name.endswith(_NAME):
            with suppress(OSError):
                age = time.time() - os.stat(name, dir_fd=within, follow_symlinks=False).st_mtime
                if not 0 <= age < _KEPT:
                    os.unlink(name, dir_fd=within)
