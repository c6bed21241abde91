"""The settings, and what they name: the data folder, its disk, the vaults."""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag.app.doctor.check import (
    INDEX_ANEW,
    CheckResult,
    Checks,
    Examination,
    failure,
    passed,
    warning,
)
from rag.app.index_state import open_index
from rag.config import RAGConfig, unknown_in_environment
from rag.exceptions import LIST_SETTINGS, RUN_INDEX, IndexingError, RAGError
from rag.index.index_errors import NO_INDEX
from rag.index.snapshots import IndexDirectory
from rag.index.staging_files import copied_size
from rag.index.vault_registry import Registry, known_vaults, overlaps
from rag.support import owned_folders
from rag.support.disk_space import free_room, require_room, room_to_index
from rag.support.sparse_files import disk_usage
from rag.text.messages import plural
from rag.vault import scan_folder

_LITTLE = 1 << 30  # bytes; a disk with less free room is a warning
_SECONDS = 5.0  # for walking one vault


def check_configuration(examination: Examination) -> Iterator[CheckResult]:
    """Tell where the settings came from, and which do not count."""
    name, config = "configuration", examination.config
    origins = Counter(origin for origin in config.origins.values() if origin != "default")
    sources = ", ".join(f"{origin} ({count})" for origin, count in origins.items())
    message = f"settings from {sources}" if sources else "every setting is the default"
    yield passed(name, message, settings=dict(origins))
    for setting, ask in config.left_out.items():
        message = f"{setting} is left out ({ask.value}): {ask.reason}"
        yield warning(name, message, ask.hint, left_out=setting)
    for variable, near in unknown_in_environment(config, os.environ).items():
        nearest = f"Did you mean {near}? {LIST_SETTINGS}"
        yield warning(name, f"{variable} in the environment sets nothing", nearest)


def check_data_folder(examination: Examination) -> Iterator[CheckResult]:
    """Tell whether the index can be written where it should be."""
    name, wanted = "data folder", examination.config.data_dir
    with suppress(OSError):  # what is wrong is told below
        owned_folders.check_data_folder(wanted)
    folder, path = _existing(wanted), str(wanted)
    hint = "Name another with data_dir in rag.toml, or with RAG_DATA_DIR."
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        yield passed(name, path, path=path)
    elif os.access(examination.config.index_dir / "CURRENT", os.R_OK):
        message = f"{folder} cannot be written: it can be searched, and not be brought up to date"
        yield warning(name, message, hint, path=path)
    else:
        why = "cannot be written" if folder.is_dir() else "is not a folder"
        yield failure(name, f"{wanted}: {folder} {why}", hint, path=path)


def check_disk(examination: Examination) -> Iterator[CheckResult]:
    """Tell whether a disk that may be written has room for the copy that publishing makes."""
    directory = IndexDirectory(examination.config.index_dir)
    if not os.access(_existing(directory.path), os.W_OK):
        return
    size, free = copied_size(directory.work), free_room(directory.path)
    require_room(directory.path, room_to_index(directory.work, 0, size))
    facts = {"free_bytes": free, "index_bytes": disk_usage(directory.path)}
    message = f"{free / 1e9:,.1f} GB free; the next snapshot of the index takes about "
    message += f"{size / 1e6:,.1f} MB"
    if free < max(_LITTLE, 2 * size):
        hint = "Free some room, or move the index with RAG_DATA_DIR."
        yield warning("disk", f"only {message}", hint, **facts)
    else:
        yield passed("disk", message, **facts)


def _existing(path: Path) -> Path:
    """Return the path, or the nearest one above it that exists."""
    # Path.exists fails where a folder above may not be entered.
    return next(p for p in (path, *path.parents) if os.path.exists(p))  # noqa: PTH110


def check_vaults(examination: Examination) -> Iterator[CheckResult]:
    """Tell of every known vault whether its notes can be read."""
    config = examination.config
    if config.vaults_dir:
        named = [("target_vaults", config.vaults_dir / name) for name in config.target_vaults]
        for setting, folder in [("vaults_dir", config.vaults_dir), *named]:
            if not folder.is_dir():
                hint = f"Mend {setting}: `rag config` says where it is set."
                yield failure("vault", f"{setting}: {folder} is no folder", hint)
    registry = Registry.load(config)
    if registry.notice:
        hint = INDEX_ANEW
        if registry.file.is_dir():
            hint = f"Move {registry.file} away, then run `rag index`."
        yield warning("vault", registry.notice, hint)
    try:
        with open_index(config) as manifest:
            indexed: dict[str, str] | None = manifest.vaults()
    except RAGError as error:  # which another check tells
        indexed = {} if error.message == NO_INDEX else None
    vaults = known_vaults(config, indexed or {}, registry)
    if not vaults:
        yield warning(
            "vault",
            "there is no vault yet",
            "`rag init` looks for vaults; `rag index FOLDER` makes one.",
        )
    for name, root in vaults.items():
        yield _check_vault(name, root, config, indexed is None or name in indexed)
    for inner, outer in overlaps(vaults):
        hint = f"`rag vault remove {shlex.quote(inner)}`"
        yield warning("vault", f"{inner} lies in {outer}: its notes are found twice", hint)


def _check_vault(vault: str, root: Path, config: RAGConfig, is_indexed: bool) -> CheckResult:
    facts: dict[str, Any] = {"vault": vault, "path": str(root)}
    listing = f"`ls {shlex.quote(str(root))}`"
    if not root.is_dir():
        hint = (
            f"Is it mounted? `rag vault remove {shlex.quote(vault)}` forgets it,"
            " `rag index --prune` all that are gone."
        )
        return warning("vault", f"{vault}: the folder {root} is not there", hint, **facts)
    deadline, respect = time.monotonic() + _SECONDS, config.obsidian.respect_ignore
    try:
        scan = scan_folder(str(root), config.index.ignore, deadline, respect)
    except IndexingError as error:
        return failure("vault", f"{vault}: {error}", f"Make it readable: {listing}", **facts)
    except TimeoutError as error:
        slow = "A slow disk makes indexing slow; leave folders out with index.ignore."
        return warning("vault", f"{vault}: {error}", slow, **facts)
    facts |= {"notes": len(scan.notes), "unreadable": scan.problems, "notices": scan.notices}
    if not scan.notes:
        ask = f"Is it the right folder? {listing}"
        return warning("vault", f"{vault}: {root} holds no .md files", ask, **facts)
    message = f"{vault}: {plural(len(scan.notes), 'note')} in {root}"
    if scan.problems:
        path, why = next(iter(scan.problems.items()))
        message += f"; {plural(len(scan.problems), 'path')} could not be looked at ({path}: {why})"
        return warning("vault", message, "`rag status --problems` lists them.", **facts)
    if not is_indexed:
        return warning("vault", f"{message}, not indexed yet", RUN_INDEX, **facts)
    return passed("vault", message, **facts)


CHECKS: Checks = [
    ("configuration", check_configuration),
    ("data folder", check_data_folder),
    ("disk", check_disk),
    ("vault", check_vaults),
]
