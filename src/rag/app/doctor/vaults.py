"""The folders of notes: are they there, can they be read, do they hold notes."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.app.doctor.check import Check, Examination
from rag.app.index_state import open_index
from rag.config import RAGConfig
from rag.exceptions import IndexingError, IndexUnavailableError, Message, Remedy
from rag.index.index_errors import NO_INDEX
from rag.index.vault_registry import Registry, known_vaults, overlaps
from rag.text.messages import plural
from rag.vault import scan_folder

_SECONDS = 5.0  # for one vault


def check_vaults(examination: Examination) -> Iterator[Check]:
    """Say of every known vault whether its notes can be read."""
    config = examination.config
    roots: dict[str, str] = {}
    is_known = True  # what is indexed; what is wrong with the index is said in its own line
    try:
        with open_index(config) as manifest:
            roots = manifest.vaults()
    except IndexUnavailableError as error:
        is_known = error.message == NO_INDEX
    yield from _check_settings(config)
    registry = Registry.load(config)
    if registry.notice:
        hint = Message(remedy=Remedy.INDEX_ANEW)
        if registry.file.is_dir():
            hint = Message(remedy=Remedy.MOVE_AWAY, subject=str(registry.file))
        yield Check("vault", "warn", registry.notice, hint)
    vaults = known_vaults(config, roots, registry)
    if not vaults:
        hint = Message(remedy=Remedy.FIND_VAULTS)
        yield Check("vault", "warn", "there is no vault yet", hint)
    for name, root in vaults.items():
        yield _check_vault(name, root, config, name in roots or not is_known)
    for inner, outer in overlaps(vaults):
        message = f"{inner} lies in {outer}: its notes are found twice"
        yield Check("vault", "warn", message, Message(remedy=Remedy.REMOVE_VAULT, subject=inner))


def _check_settings(config: RAGConfig) -> Iterator[Check]:
    folder = config.vaults_dir
    if folder is None:
        return
    if not folder.is_dir():
        hint = Message(hint="Mend vaults_dir.", remedy=Remedy.MEND_SETTING, subject="vaults_dir")
        yield Check("vault", "fail", f"vaults_dir {folder} is no folder", hint)
        return
    for name in config.target_vaults:
        if not (folder / name).is_dir():
            hint = Message(
                hint="Mend target_vaults.", remedy=Remedy.MEND_SETTING, subject="target_vaults"
            )
            yield Check("vault", "fail", f"target_vaults: {folder} holds no folder {name}", hint)


def _check_vault(name: str, root: Path, config: RAGConfig, indexed: bool) -> Check:
    facts: dict[str, Any] = {"vault": name, "path": str(root)}
    hint: str
    if not root.is_dir():
        hint = Message(hint="Is it mounted?", remedy=Remedy.FORGET_VAULT, subject=name)
        return Check("vault", "warn", f"{name}: the folder {root} is not there", hint, facts)
    try:
        deadline = time.monotonic() + _SECONDS
        respect = config.obsidian.respect_ignore
        scan = scan_folder(str(root), config.index.ignore, deadline, respect)
    except IndexingError as error:
        hint = f"Make it readable: `ls {shlex.quote(str(root))}`"
        return Check("vault", "fail", f"{name}: {error}", hint, facts)
    except TimeoutError as error:
        hint = "A slow disk makes indexing slow; leave folders out with index.ignore."
        return Check("vault", "warn", f"{name}: {error}", hint, facts)
    facts |= {"notes": len(scan.notes), "unreadable": scan.problems, "notices": scan.notices}
    message = f"{name}: {plural(len(scan.notes), 'note')} in {root}"
    for path, why in list(scan.notices.items())[:1]:
        message += f" ({path}: {why})"
    if not scan.notes:
        hint = f"Is it the right folder? `ls {shlex.quote(str(root))}`"
        return Check("vault", "warn", f"{name}: {root} holds no .md files", hint, facts)
    if scan.problems:
        path, why = next(iter(scan.problems.items()))
        message += f"; {plural(len(scan.problems), 'path')} could not be looked at ({path}: {why})"
        return Check("vault", "warn", message, Message(remedy=Remedy.LIST_PROBLEMS), facts)
    if not indexed:
        return Check(
            "vault", "warn", f"{message}, not indexed yet", Message(remedy=Remedy.RUN_INDEX), facts
        )
    return Check("vault", "pass", message, facts=facts)
