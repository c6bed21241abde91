"""The vaults that are known: listing, adding and removing them."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from rag.app.index_state import open_index, open_to_write
from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError, UsageError
from rag.index.snapshots import NO_INDEX, IndexDirectory
from rag.index.vault_registry import Registry, known_vaults, unknown_vault, vaults_passed_over
from rag.support.json_reports import hidden
from rag.vault.readers import is_note


@dataclass(frozen=True)
class KnownVault:
    """A vault.

    :param notes: how many of its notes are indexed; `null` when the index cannot be read.
    """

    path: Path
    notes: int | None


@dataclass(frozen=True)
class VaultsReport:
    """The vaults that are known, by name.

    :param notices: what is wrong with the list of them, or with the index.
    """

    vaults: dict[str, KnownVault]
    notices: list[str] = hidden(factory=list)


@dataclass(frozen=True)
class VaultChange:
    """A vault that was added, renamed or removed.

    :param notes: how many notes of the index that made or removed.
    """

    vault: str
    notes: int = 0
    notice: str = ""


def list_vaults(config: RAGConfig) -> VaultsReport:
    """List the vaults that are configured, registered or indexed."""
    counts: dict[str, tuple[int, int]] = {}
    roots: dict[str, str] = {}
    wrong = ""
    try:
        with open_index(config) as manifest:
            counts, roots = manifest.counts(), manifest.vaults()
    except IndexUnavailableError as error:
        if error.message != NO_INDEX:
            wrong = error.as_notice()
    registry = Registry.load(config)
    listed = known_vaults(config, roots, registry)
    vaults = {
        name: KnownVault(path, None if wrong else counts.get(name, (0, 0))[0])
        for name, path in listed.items()
    }
    passed_over = vaults_passed_over(config, registry)
    return VaultsReport(vaults, [*filter(None, [registry.notice, wrong]), *passed_over])


def add_vault(config: RAGConfig, folder: Path, name: str = "") -> VaultChange:
    """Register a folder; its notes are read at the next `sync`.

    :raises UsageError: when it is no folder, or has the name of another vault.
    """
    try:
        Registry.load(config).identify(config, folder, name)
    except UsageError as error:  # whose hint names the other command that adds vaults
        error.hint = error.hint.replace("rag index", "rag vault add")
        raise
    open_to_write(config)
    with IndexDirectory.of(config).writing():
        registry = Registry.load(config)
        added = registry.register(config, folder, name)
    empty = "" if _holds_notes(folder) else "its folder holds no .md files yet"
    return VaultChange(added, notice=registry.notice or empty)


def _holds_notes(folder: Path) -> bool:
    names = (name for _, _, names in os.walk(folder.expanduser()) for name in names)
    return any(map(is_note, names))


def rename_vault(config: RAGConfig, name: str, wanted: str) -> VaultChange:
    """Give a vault another name, in the index too; its files are left alone.

    Its notes are read again, and get the ids of notes of that name.

    :raises UsageError: when there is no such vault, its folder is gone, or the name is taken.
    """
    from rag.indexing.run import IndexRun

    name, wanted = (unicodedata.normalize("NFC", text) for text in (name, wanted))
    vaults = list_vaults(config).vaults
    paths = {name: vault.path for name, vault in vaults.items()}
    if name not in paths:
        raise unknown_vault(name, list(paths))
    if not wanted.strip():
        raise UsageError(f"{wanted!r} cannot name a vault", hint="Choose another name.")
    if wanted in paths:
        what = f"a vault named {wanted!r} exists already: {paths[wanted]}"
        raise UsageError(what, hint="Choose another name.")
    folder = paths[name]
    # They would be forgotten under both names.
    if vaults[name].notes != 0 and folder.is_dir() and not _holds_notes(folder):
        hint = "Mount it; `rag vault remove` forgets the vault."
        raise UsageError(f"{folder} holds no notes: is it mounted?", hint=hint)
    with IndexRun(config, open_to_write(config)) as run:
        registry = Registry.load(config)
        registry.remove(config, name)
        registry.register(config, folder, wanted)
        run.index_vault(wanted, folder)
        run.remove_vault(name)
        run.publish()
        return VaultChange(wanted, run.report.vaults[wanted].added, registry.notice)


def remove_vault(config: RAGConfig, name: str) -> VaultChange:
    """Take a vault out of the index; its files are left alone."""
    from rag.indexing.run import IndexRun

    name = unicodedata.normalize("NFC", name)
    with IndexRun(config, open_to_write(config)) as run:
        vaults = known_vaults(config, run.vaults())
        if name not in vaults:
            raise unknown_vault(name, list(vaults))
        registry = Registry.load(config)
        registry.remove(config, name)
        registry.save()
        gone = run.remove_vault(name)
        run.publish()
    return VaultChange(name, gone, registry.notice)
