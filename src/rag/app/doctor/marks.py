"""Whether the folders of the index have the mark without which nothing of them is deleted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from rag.app.doctor.check import Check, Examination
from rag.exceptions import Message, Remedy, UsageError
from rag.index.snapshots import IndexDirectory
from rag.support.owned_folders import MARK, check_data_folder, is_marked
from rag.support.regular_files import strange_kind


def check_marks(examination: Examination) -> Iterator[Check]:
    """Say which folders lost their mark, if any: some get it again, others would never go."""
    directory = IndexDirectory.of(examination.config)
    if not directory.path.is_dir():
        return
    claimed = [examination.config.data_dir, directory.path, directory.work]
    kept = [path for path in sorted(directory.path.glob("gen-*")) if path.suffix != ".lock"]
    bare = [path for path in claimed + kept if path.is_dir() and not is_marked(path)]
    facts = {"unmarked": [str(path) for path in bare]}
    if examination.config.data_dir in bare and _is_refused(examination.config.data_dir):
        message = f"{bare[0]} lost its mark, the file {MARK}, and so did what it holds"
        made = shlex.join(["touch", *(str(path / MARK) for path in bare)])
        yield Check("marks", "fail", message, f"If all is rag's: `{made}`", facts)
        return
    for path in bare:
        if kind := strange_kind(path / MARK):
            message = f"{path / MARK} is {kind}, and should be a file"
            hint = Message(remedy=Remedy.MOVE_AWAY, subject=str(path / MARK))
            yield Check("marks", "warn", message, hint, facts)
        elif path in kept and directory.path not in bare:
            message = f"{path} lost its mark, the file {MARK}, so that it is never deleted"
            copied = shlex.join(["cp", str(directory.path / MARK), str(path)])
            yield Check("marks", "warn", message, f"If it is an index's: `{copied}`", facts)
        else:
            message = f"{path} lost its mark, the file {MARK}"
            yield Check("marks", "warn", message, Message(remedy=Remedy.WRITE_MISSING), facts)


def _is_refused(folder: Path) -> bool:
    """Return whether `rag index` takes a data folder for somebody else's."""
    try:
        check_data_folder(folder)
    except (UsageError, OSError):
        return True
    return False
