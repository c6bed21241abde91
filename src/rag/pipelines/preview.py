"""What `rag index` would do, without doing any of it."""

from __future__ import annotations

from pathlib import Path

from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError
from rag.pipelines.changes import Changes, find_changes
from rag.pipelines.refresh import fingerprint
from rag.pipelines.vaults import Registry, configured_vaults
from rag.stores.generations import MANIFEST, IndexDirectory
from rag.stores.manifest import Manifest


def preview_changes(
    config: RAGConfig, folders: list[Path], name: str = "", prune: bool = False
) -> list[Changes]:
    """Return what indexing these folders, or all known vaults, would find; nothing is written."""
    registry = Registry.load(config)
    known = configured_vaults(config, registry)
    if folders:
        wanted = dict(registry.identify(config, folder, name) for folder in folders)
    else:
        wanted = known
    return compare(IndexDirectory(config.index_dir), wanted, config, prune)


def compare(
    directory: IndexDirectory, wanted: dict[str, Path], config: RAGConfig, prune: bool = False
) -> list[Changes]:
    """Compare the folders of vaults with what the index's readers see; nothing is written."""
    try:
        generation = directory.open_current()
    except IndexUnavailableError:
        return _against(Manifest.empty(), wanted, config, prune)
    with generation, Manifest.open_generation(generation.path / MANIFEST) as manifest:
        if manifest.get("fingerprint") != fingerprint(config):
            return _against(Manifest.empty(), wanted, config, prune)
        return _against(manifest, wanted, config, prune)


def _against(
    manifest: Manifest, vaults: dict[str, Path], config: RAGConfig, prune: bool
) -> list[Changes]:
    ignore = config.index.ignore
    return [find_changes(manifest, name, root, ignore, prune) for name, root in vaults.items()]
