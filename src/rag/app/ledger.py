"""Which files of a vault are indexed, which are not, and why."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag.config import RAGConfig
from rag.exceptions import IndexingError
from rag.support.file_kinds import READ
from rag.support.json_reports import optional
from rag.vault.discovery import UNREADABLE, LeftOut, scan_folder
from rag.vault.documents import (
    ENCRYPTED,
    OCR,
    PARTLY,
    SCAN,
    TOO_LARGE,
)
from rag.vault.markdown import MARKDOWN

if TYPE_CHECKING:
    from rag.index.manifest import Manifest

NOT_YET = "not indexed yet"
HINTS = {  # what there is to do, by reason
    ENCRYPTED: "encrypted: save a copy that needs no password beside it",
    TOO_LARGE: "too large: index.max_file_mb, or a file in parts, has more read",
}


@dataclass(frozen=True)
class ScanCount:
    """How many files hold scanned pages that wait for OCR, and of how many it has read all."""

    waiting: int
    read: int


@dataclass(frozen=True)
class VaultFiles:
    """The files of a vault, links not among them; the numbers add up to `total`.

    :param indexed: how many are, by kind: `markdown`, `pdf`, …
    :param left_out: how many are not, by reason.
    :param scans: how far OCR is, where there are scans or pictures with text.
    """

    total: int
    indexed: dict[str, int]
    left_out: dict[str, int]
    scans: ScanCount | None = optional(None)


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not indexed, or a folder (with `/`) that cannot be listed, and why."""

    vault: str
    path: str
    reason: str


def count_files(
    manifest: Manifest, vault: str, root: str, config: RAGConfig, seconds: float
) -> tuple[VaultFiles | None, list[SkippedFile]]:
    """Count the files of a vault's folder; `None` where that takes too long, or it is not there.

    Of a file whose text could not be read the name is searched all the same; here it is left out.
    """
    left_out: list[LeftOut] = []
    deadline, respect = time.monotonic() + seconds, config.obsidian.respect_ignore
    index = config.index
    try:
        scan = scan_folder(root, index.ignore, deadline, respect, left_out, index.ocr)
    except (IndexingError, TimeoutError):
        return None, []
    states = manifest.states(vault)
    known, indexed = manifest.stats(vault), Counter[str]()
    for note in scan.notes:
        if note.path not in known:
            left_out.append(LeftOut(note.path, NOT_YET))
        elif (state := states.get(note.path, "")) not in ("", PARTLY, OCR):
            left_out.append(LeftOut(note.path, state))
        else:
            indexed[kind_of(note.path)] += 1
    reasons = Counter(one.reason for one in left_out)
    of = Counter(states.values())
    waiting = of[SCAN] + (of[PARTLY] if index.ocr else 0)  # or each cover of a book counted
    scans = ScanCount(waiting, of[OCR]) if waiting or of[OCR] else None
    listed = {note.path for note in scan.notes} | {path for path, _ in left_out}
    folders = [LeftOut(f"{path}/", UNREADABLE) for path in scan.problems if path not in listed]
    files = VaultFiles(indexed.total() + len(left_out), _sorted(indexed), _sorted(reasons), scans)
    return files, [SkippedFile(vault, *one) for one in sorted(left_out + folders)]


def kind_of(path: str) -> str:
    """Return the kind of a file that is a note: `markdown`, `pdf`, …"""
    suffix = PurePosixPath(path).suffix.lower()
    return "markdown" if suffix in MARKDOWN else READ.get(suffix, suffix.lstrip("."))


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0])))
