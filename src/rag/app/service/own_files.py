"""Whether a file that a scheduler reads is ours: units and agents of our name may be anybody's."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rag.app.service.job import HEADING
from rag.exceptions import UsageError

_HEADINGS = {f"# {HEADING}".encode(), f"<!-- {HEADING} -->".encode()}
_BEGINNING = 1024  # bytes, that a heading is in: XML has two lines before it


def is_ours(file: Path) -> bool:
    """Return whether we wrote a file; a link is none that we write, wherever it leads."""
    try:
        if file.is_symlink():
            return False
        with file.open("rb") as opened:
            return not _HEADINGS.isdisjoint(opened.read(_BEGINNING).splitlines())
    except OSError:
        return False


def told_of_others(files: Iterable[Path]) -> list[str]:
    """Return of each file that is there and not ours that it is left."""
    return [
        f"{file} was not written by this program, and is left as it is"
        for file in files
        if os.path.lexists(file) and not is_ours(file)
    ]


def refuse_others(files: Iterable[Path]) -> None:
    """Refuse to write over what somebody else wrote.

    :raises UsageError: for the first such file.
    """
    for told in told_of_others(files):
        raise UsageError(told, hint="Move it away, or use another scheduler.")
