"""What is said of an index that is missing or damaged."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain
from pathlib import Path
from shlex import quote

from rag.exceptions import INDEX_FROM_NOTES, IndexUnavailableError

NO_INDEX = "there is no index yet"
NO_INDEX_HINT = "Make one with `rag index FOLDER` (FOLDER holds your .md files)."
DAMAGED = "DAMAGED"


def damaged_index(path: Path, details: str) -> IndexUnavailableError:
    """Return the error that says that an index is damaged, and what mends it; leave word of it for
    the next `rag index`, which then makes the index anew. Files that may not be read are no damage.

    :param path: the folder of the index.
    """
    inside = (Path(top, name) for top, *names in os.walk(path) for name in chain(*names))
    for file in inside:
        if not os.access(file, os.R_OK) and os.path.lexists(file):
            hint = f"`chmod -R u+rwX {quote(str(path))}` makes it readable, if it is yours."
            return IndexUnavailableError(f"{file} cannot be read", details, hint=hint)
    with suppress(OSError):  # it may be somebody else's
        (path / DAMAGED).write_text(details, "utf-8", "replace")
    return IndexUnavailableError(f"the index at {path} is damaged", details, hint=INDEX_FROM_NOTES)


def not_a_file(path: Path, kind: str) -> IndexUnavailableError:
    """Return the error that says that something else is in the place of a file."""
    return IndexUnavailableError(
        f"{path} is {kind}, and should be a file",
        hint=f"Move {path} away, then run `rag index`.",
    )
