"""What `rag index` would do, without doing any of it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError
from rag.index.lookup import open_manifest
from rag.index.manifest import Manifest, fingerprint
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.index.vault_registry import Registry, known_vaults
from rag.indexing.changes import Changes, find_changes
from rag.indexing.note_reader import read_file


def preview_changes(
    config: RAGConfig, folders: list[Path], name: str = "", prune: bool = False
) -> list[Changes]:
    """Return what indexing these folders, or all known vaults, would find; nothing is written."""
    registry = Registry.load(config)
    wanted = registry.identify_all(config, folders, name)
    if not folders:
        roots: dict[str, str] = {}
        with suppress(IndexUnavailableError), open_manifest(config) as manifest:
            roots = manifest.vaults()
        wanted = known_vaults(config, roots, registry)
    return compare(IndexDirectory.of(config), wanted, config, prune)


def compare(
    directory: IndexDirectory, wanted: dict[str, Path], config: RAGConfig, prune: bool = False
) -> list[Changes]:
    """Compare the folders of vaults with what the index's readers see; nothing is written."""
    try:
        snapshot = directory.open_current()
    except IndexUnavailableError:
        return _against(Manifest.empty(), wanted, config, prune)
    with snapshot, Manifest.open_snapshot(snapshot.path / MANIFEST) as manifest:
        if manifest.get("fingerprint") != fingerprint(config):
            return _against(Manifest.empty(), wanted, config, prune)
        return _against(manifest, wanted, config, prune)


def _against(
    manifest: Manifest, vaults: dict[str, Path], config: RAGConfig, prune: bool
) -> list[Changes]:
    found = [find_changes(manifest, name, root, config, prune) for name, root in vaults.items()]
    for changes in found:
        _drop_unchanged(manifest, changes, config)
    return found


def _drop_unchanged(manifest: Manifest, changes: Changes, config: RAGConfig) -> None:
    """Files that were touched, or that are only suspected, count as changed by their content."""
    changed = []
    for file in changes.changed:
        before = manifest.note(changes.vault, file.path)
        with suppress(OSError):
            read = read_file(changes.root, changes.vault, file, config.index)
            if before and not before.failed and before.hash == read.row.hash:
                changes.unchanged += 1
                continue
        changed.append(file)
    changes.changed = changed
