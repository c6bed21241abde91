"""What is said of an index that is missing or damaged."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rag.exceptions import INDEX_FROM_NOTES, IndexUnavailableError

NO_INDEX = "there is no index yet"
NO_INDEX_HINT = "Make one with `rag index FOLDER` (FOLDER holds your .md files)."
DAMAGED = "DAMAGED"


def damaged_index(path: Path, details: str) -> IndexUnavailableError:
    """Return the error that says that an index is damaged, and what mends it; leave word of it for
    the next `rag index`, which then makes the index anew.

    :param path: the folder of the index.
    """
    with suppress(OSError):  # it may be somebody else's
        (path / DAMAGED).write_text(details, "utf-8", "replace")
    return IndexUnavailableError(f"the index at {path} is damaged", details, hint=INDEX_FROM_NOTES)


def not_a_file(path: Path, kind: str) -> IndexUnavailableError:
    """Return the error that says that something else is in the place of a file."""
    return IndexUnavailableError(
        f"{path} is {kind}, and should be a file",
        hint=f"Move {path} away, then run `rag index`.",
    )
