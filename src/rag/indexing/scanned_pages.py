"""Reading scanned pages and pictures by OCR: one page at a time, after words and vectors.

It goes by rounds, as embedding does: while a page is read the index is not locked, and what a round
read is written and published at its end. A run that is killed loses the page it was at.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rag.index.manifest import NoteRow
from rag.indexing.note_reader import forget_texts, keep_text, scanned_texts
from rag.indexing.reports import Progress, ScanReport, unseen
from rag.support.installation import add_extra
from rag.text.messages import plural
from rag.vault.document_process import end_ocr, read_document, read_scan
from rag.vault.documents import ENDED, NOT_READ, PARTLY, SCAN
from rag.vault.ocr import NoOcrError, has_ocr

if TYPE_CHECKING:
    from rag.indexing.run import IndexRun

_LOCK = "ocr.lock"
_ROUND = 60.0  # seconds


def read_scans(
    run: IndexRun, progress: Progress | None = None, seconds: float | None = None
) -> None:
    """Read the scanned pages of files that a run's index holds, write what they say, publish, and
    report it.

    :param progress: called with how many pages are done, of how many.
    :param seconds: how long this may take; the rest is left to the next run.
    """
    forget_texts(run.directory.path, (row.hash for row in run.manifest.notes("state != ''")))
    waiting = [*run.manifest.notes("state IN (?, ?)", SCAN, PARTLY)]
    if not waiting:
        return
    if not has_ocr():
        files = plural(len(waiting), "scan")
        run.report.notices.append(f"{files} not read by OCR. {add_extra('ocr')}")
        return
    with run.directory.alone(_LOCK) as is_alone:
        if is_alone:
            try:
                _read(run, waiting, progress or unseen, monotonic() + (seconds or inf))
            except NoOcrError as error:
                run.report.notices.append(f"no scan is read: OCR does not work ({error})")
            finally:
                end_ocr()


def _read(run: IndexRun, waiting: list[NoteRow], show: Progress, until: float) -> None:
    index, roots, report = run.directory.path, run.manifest.vaults(), ScanReport()
    run.report.scans = report
    files = {row.id: os.path.join(roots[row.vault], row.file) for row in waiting}  # noqa: PTH118
    pages = [(row, page) for row in waiting for page in _unread_pages(index, row, files[row.id])]
    left = Counter(row.id for row, _ in pages)
    # What a killed run read, and what became of a file that cannot be read any more.
    changed, total = [row for row in waiting if not left[row.id]], len(pages)
    while True:
        if changed:
            run.read_again(sorted(changed, key=lambda row: row.vault))
        report.left, changed = len(pages), []
        show(report.read, total)
        if not pages or monotonic() >= until:
            break
        end = min(monotonic() + _ROUND, until)
        with run.paused():
            while pages and (not changed or monotonic() < end):
                row, page = pages.pop(0)
                report.read += _read_page(index, row, files[row.id], page)
                if row not in changed:
                    changed.append(row)
                show(report.read, total)
    run.publish()


def _unread_pages(index: Path, row: NoteRow, file: str) -> list[int]:
    with suppress(OSError):
        texts = scanned_texts(index, row.hash)
        return [page for page in read_document(file).scans if page not in texts]
    return []


def _read_page(index: Path, row: NoteRow, file: str, page: int) -> bool:
    """Read a page and keep what it says, nothing for one that cannot be read; return whether that
    was done."""
    with suppress(OSError):
        document = read_scan(file, page)
        now = os.stat(file)  # noqa: PTH116
        is_same = (now.st_size, now.st_mtime_ns) == (row.size, row.mtime_ns)
        if is_same and f"{NOT_READ}{ENDED}" not in document.problems:
            keep_text(index, row.hash, page, "\n".join(document.lines))
            return True
    return False
