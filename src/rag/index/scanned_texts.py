"""What scanned pages say, by what their file holds, so that no page is read twice.

They outlive an index that is rebuilt, files that are renamed, and a run that is killed: a page's
text is a line of JSON at the end of its file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rag.support.owned_folders import make_owned

_FOLDER = "scans"


def _file(index: Path, digest: bytes) -> Path:
    return index / _FOLDER / f"{digest.hex()}.jsonl"


def scanned_texts(index: Path, digest: bytes) -> dict[int, str]:
    """Return the text of each page, from 1, that was read of a file.

    :param index: the folder of the index.
    :param digest: of the file.
    """
    texts: dict[int, str] = {}
    with suppress(OSError), _file(index, digest).open(encoding="utf-8") as lines:
        for line in lines:
            with suppress(ValueError):  # one that was not written to its end
                page, text = json.loads(line)
                texts[page] = text
    return texts


def keep_text(index: Path, digest: bytes, page: int, text: str) -> None:
    """Keep the text of a page."""
    make_owned(index / _FOLDER)
    with _file(index, digest).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps([page, text]) + "\n")


def forget_texts(index: Path, digests: Iterable[bytes]) -> None:
    """Forget the pages of all files but these."""
    wanted = {_file(index, digest) for digest in digests}
    for file in {*(index / _FOLDER).glob("*.jsonl")} - wanted:
        file.unlink(missing_ok=True)
