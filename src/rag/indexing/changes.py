"""What changed in a vault since it was indexed, at the price of one `stat` a note."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from rag.exceptions import IndexingError
from rag.index.manifest import Manifest
from rag.vault import NoteFile, scan_folder

_PER_NOTE = 1e-5  # seconds that a note takes at least: to be listed, examined and compared


@dataclass(slots=True)
class Changes:
    """What a vault's folder holds against what the index knows.

    `kept` is the number of notes that stay indexed although their folder is missing or empty;
    `problem` says why. `unlisted` maps paths that could not be examined to the
    reason, `twins` those whose name two files share.
    """

    vault: str
    root: str
    added: list[NoteFile] = field(default_factory=list)
    changed: list[NoteFile] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unlisted: dict[str, str] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    unchanged: int = 0
    kept: int = 0
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.deleted or self.unlisted)


def find_changes(
    manifest: Manifest, vault: str, root: Path, ignore: list[str], prune: bool = False
) -> Changes:
    """Compare a vault's folder with the manifest.

    :param prune: believe an empty or missing folder: its notes are deleted.
    """
    changes = Changes(vault, str(root))
    known = manifest.stats(vault)
    try:
        scan = scan_folder(str(root), ignore)
    except IndexingError as error:
        if not prune:
            changes.kept, changes.problem = len(known), str(error)
        else:
            changes.deleted = list(known)
        return changes
    if known and not scan.notes and not prune:
        changes.kept = len(known)
        changes.problem = f"the vault folder {root} holds no notes (is it mounted?)"
        return changes
    for note in scan.notes:
        before = known.pop(note.path, None)
        if before is None:
            changes.added.append(note)
        elif before != (note.size, note.mtime_ns, False):
            changes.changed.append(note)
        else:
            changes.unchanged += 1
    # Of two files with one name the first is indexed; that is reported, but it is no failure.
    listed = {note.path for note in scan.notes}
    changes.unlisted = {p: why for p, why in scan.problems.items() if p not in listed}
    changes.twins = {p: why for p, why in scan.problems.items() if p in listed}
    changes.deleted = [path for path in known if not _beneath(path, scan.problems)]
    return changes


def _beneath(path: str, folders: dict[str, str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def count_stale(manifest: Manifest, ignore: list[str], seconds: float = 0.05) -> int | None:
    """Return how many notes changed on disk since the index was made.

    :param seconds: how long it may take; past that, or where it would surely take longer, the
        answer is `None`.
    """
    if manifest.rows() * _PER_NOTE > seconds:
        return None
    deadline = time.monotonic() + seconds
    stale = 0
    for vault, root in manifest.vaults().items():
        known = {file: (size, mtime) for file, size, mtime in manifest.files(vault)}
        try:
            scan = scan_folder(root, ignore, deadline)
        except TimeoutError:
            return None
        except IndexingError:
            continue  # not mounted: what was indexed is the best there is
        if known and not scan.notes:
            continue
        stale += sum(known.pop(n.file, None) != (n.size, n.mtime_ns) for n in scan.notes)
        stale += sum(not os.path.lexists(os.path.join(root, file)) for file in known)  # noqa: PTH118
    return stale
