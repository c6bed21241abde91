"""What changed in a vault since it was indexed, at the price of one `stat` a note."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rag.config import RAGConfig
from rag.exceptions import IndexingError, IndexUnavailableError
from rag.index.manifest import (
    Manifest,
    VaultFacts,
    fingerprint,
    published_manifest,
    read_facts,
    record_facts,
)
from rag.index.snapshots import IndexDirectory
from rag.vault import NoteFile, Scan, scan_folder
from rag.vault.discovery import Span, spans_of_copies


@dataclass(slots=True)
class Changes:
    """What a vault's folder holds against what the index knows.

    `kept` is the number of notes that stay indexed although their folder is missing or empty;
    `problem` says why. `unlisted` maps paths that could not be examined to the reason, `notices`
    those of which there is something else to know. `copied` are the minutes in which the vault was
    copied.
    """

    vault: str
    root: str
    added: list[NoteFile] = field(default_factory=list)
    changed: list[NoteFile] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unlisted: dict[str, str] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)
    copied: tuple[Span, ...] = ()
    unchanged: int = 0
    kept: int = 0
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.deleted or self.unlisted)


def find_changes(
    manifest: Manifest, vault: str, root: Path, config: RAGConfig, prune: bool = False
) -> Changes:
    """Compare a vault's folder with the manifest; with `prune` an empty or missing folder is
    believed."""
    changes = Changes(vault, str(root))
    stats = manifest.stats(vault)
    try:
        scan = scan_vault(str(root), config)
    except IndexingError as error:
        if not prune:
            changes.kept, changes.problem = len(stats), str(error)
        else:
            changes.deleted = list(stats)
        return changes
    if stats and not scan.notes and not prune:
        changes.kept = len(stats)
        changes.problem = f"the vault folder {root} holds no notes (is it mounted?)"
        return changes
    copied = read_facts(manifest, vault).copied
    changes.copied = spans_of_copies((note.mtime_ns for note in scan.notes), copied)
    # Which file times are dates is another matter then, of notes that did not change too.
    is_known = changes.copied == copied
    for note in scan.notes:
        before = stats.pop(note.path, None)
        if before is None:
            changes.added.append(note)
        elif before != (note.size, note.mtime_ns, False) or not is_known:
            changes.changed.append(note)
        else:
            changes.unchanged += 1
    changes.notices, listed = dict(scan.notices), {note.path for note in scan.notes}
    for path, why in scan.problems.items():
        # Of two files with one name the first is indexed: it is no failure.
        (changes.notices if path in listed else changes.unlisted)[path] = why
    changes.deleted = _told_of(stats, scan)
    return changes


def _told_of(paths: Iterable[str], scan: Scan) -> list[str]:
    """Return the paths that a scan tells of: not those in a folder that it could not list."""
    hidden = tuple(f"{folder}/" for folder in scan.problems)
    return [path for path in paths if not f"{path}/".startswith(hidden)]


def record_found(manifest: Manifest, changes: Changes) -> dict[str, str]:
    """Record what was found out of a vault besides its notes; return the notices that are new."""
    if changes.problem:
        return {}
    before = read_facts(manifest, changes.vault).notices
    record_facts(manifest, changes.vault, VaultFacts(changes.copied, changes.notices))
    return {path: why for path, why in changes.notices.items() if before.get(path) != why}


def scan_vault(
    root: str, config: RAGConfig, deadline: float | None = None, everything: bool = False
) -> Scan:
    """List a vault's folder by the settings, as `scan_folder` does."""
    index, respect = config.index, config.obsidian.respect_ignore
    return scan_folder(root, index.ignore, deadline, respect, index.ocr, everything)


def preview(
    directory: IndexDirectory, vaults: Mapping[str, Path], config: RAGConfig, prune: bool = False
) -> list[Changes]:
    """Return what indexing the folders of vaults would find; nothing is written."""
    with suppress(IndexUnavailableError), published_manifest(directory) as manifest:
        if manifest.get("fingerprint") == fingerprint(config):
            return [_preview(manifest, *vault, config, prune) for vault in vaults.items()]
    return [_preview(Manifest.empty(), *vault, config, prune) for vault in vaults.items()]


def _preview(manifest: Manifest, vault: str, root: Path, config: RAGConfig, prune: bool) -> Changes:
    """Find the changes of a vault; files that were only touched are read, and are unchanged."""
    from rag.indexing.note_reader import NoteReader

    changes = find_changes(manifest, vault, root, config, prune)
    suspects, changes.changed = changes.changed, []
    for file in suspects:
        before = manifest.note(vault, file.path)
        with suppress(OSError):
            row = NoteReader(changes.root, vault, config.index).read(file).row
            if before and not before.failed and before.hash == row.hash:
                changes.unchanged += 1
                continue
        changes.changed.append(file)
    return changes


def count_stale_in(root: str, stats: Mapping[str, tuple[int, int, bool]], scan: Scan) -> int:
    """Return how many notes of a vault changed.

    :param stats: what its files looked like, as `Manifest.stats` says.
    :raises IndexingError: where its folder is empty now.
    """
    if stats and not scan.notes:
        raise IndexingError(f"{root} holds no notes (is it mounted?): these are kept")
    stale = sum(stats.get(n.path, ())[:2] != (n.size, n.mtime_ns) for n in scan.notes)
    gone = {*_told_of(stats, scan)} - {note.path for note in scan.notes}
    return stale + sum(not os.path.lexists(os.path.join(root, path)) for path in gone)  # noqa: PTH118
