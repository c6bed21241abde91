"""Which files of a vault are indexed, which are not, and why."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag.config import RAGConfig
from rag.exceptions import IndexingError
from rag.support.file_kinds import DOCUMENTS
from rag.vault.discovery import LeftOut, scan_folder
from rag.vault.documents import EMPTY, ENCRYPTED, NO_TEXT, NOT_READ
from rag.vault.markdown import MARKDOWN

if TYPE_CHECKING:
    from rag.index.manifest import Manifest

NOT_YET = "not indexed yet"
# What the problem of a file says of why nothing of it was read, and the reason in a few words.
_REASONS = {
    EMPTY: "empty",
    ENCRYPTED: "encrypted",
    NO_TEXT: "no text in it",
    "it is larger than": "too large",
}


@dataclass(frozen=True)
class VaultFiles:
    """The files of a vault, links not among them; the numbers add up to `total`.

    :param indexed: how many are, by kind: `markdown`, `pdf`, …
    :param left_out: how many are not, by reason.
    """

    total: int
    indexed: dict[str, int]
    left_out: dict[str, int]


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not indexed, and why."""

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
    try:
        scan = scan_folder(root, config.index.ignore, deadline, respect, left_out)
    except (IndexingError, TimeoutError):
        return None, []
    unread = {
        row.path: _reason(row.problems)
        for row in manifest.notes("vault = ? AND problems != '[]'", vault)
        if row.failed or any(NOT_READ in problem for problem in row.problems)
    }
    known, indexed = manifest.stats(vault), Counter[str]()
    for note in scan.notes:
        if note.path not in known:
            left_out.append(LeftOut(note.path, NOT_YET))
        elif note.path in unread:
            left_out.append(LeftOut(note.path, unread[note.path]))
        else:
            indexed[kind_of(note.path)] += 1
    reasons = Counter(one.reason for one in left_out)
    files = VaultFiles(indexed.total() + len(left_out), _sorted(indexed), _sorted(reasons))
    return files, [SkippedFile(vault, *one) for one in sorted(left_out)]


def kind_of(path: str) -> str:
    """Return the kind of a file that is a note: `markdown`, `pdf`, …"""
    suffix = PurePosixPath(path).suffix.lower()
    return "markdown" if suffix in MARKDOWN else DOCUMENTS.get(suffix, suffix.lstrip("."))


def _reason(problems: list[str]) -> str:
    told = " ".join(problems)
    return next((reason for part, reason in _REASONS.items() if part in told), "unreadable")


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda count: (-count[1], count[0])))
