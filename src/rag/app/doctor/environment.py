"""The settings in force, the folder of the index, and the room on its disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rag.app.doctor.check import Check, Examination
from rag.config import unknown_in_environment
from rag.exceptions import Message, Remedy, UsageError
from rag.index.snapshots import IndexDirectory
from rag.index.staging_files import copied_size
from rag.support import owned_folders as owned
from rag.support.disk_space import free_room, require_room, room_to_index
from rag.support.sparse_files import disk_usage

_MOVE = "Name another with data_dir in rag.toml, or with RAG_DATA_DIR."
_LITTLE = 1 << 30  # bytes; less free room than that is worth a word


def check_configuration(examination: Examination) -> Iterator[Check]:
    """Say where the settings came from, and which variables look like settings and are none."""
    origins = Counter(examination.config.origins.values())
    del origins["default"]
    sources = [f"{origin} ({count})" for origin, count in origins.items()]
    message = f"settings from {', '.join(sources)}" if sources else "every setting is the default"
    yield Check("configuration", "pass", message, facts={"settings": dict(origins)})
    for name, one in examination.config.left_out.items():
        said = f"{name} is left out ({one.value}): {one.reason}"
        yield Check("configuration", "warn", said, one.hint, {"left_out": name})
    for file, kind in examination.config.strange_files.items():
        hint = "Move it away, or put a file there."
        facts = {"left_out": str(file)}
        yield Check("configuration", "warn", f"{file} is {kind}, and left out", hint, facts)
    for name, near in unknown_in_environment(examination.config, os.environ).items():
        nearest = Message(hint=f"Did you mean {near}?", remedy=Remedy.LIST_SETTINGS)
        yield Check("configuration", "warn", f"{name} in the environment sets nothing", nearest)


def check_data_folder(examination: Examination) -> Iterator[Check]:
    """Say whether the index can be written where it should be."""
    wanted = examination.config.data_dir
    folder = _existing(wanted)
    facts = {"path": str(wanted)}
    try:
        owned.check_data_folder(wanted)
    except UsageError as error:
        yield Check("data folder", "fail", str(error), error.hint, facts)
        return
    except OSError:
        pass  # what is wrong with it is said below
    if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        yield Check("data folder", "pass", str(wanted), facts=facts)
        return
    if os.access(examination.config.index_dir / "CURRENT", os.R_OK):
        message = f"{folder} cannot be written: it can be searched, and not be brought up to date"
        yield Check("data folder", "warn", message, _MOVE, facts)
        return
    why = "cannot be written" if folder.is_dir() else "is not a folder"
    yield Check("data folder", "fail", f"{wanted}: {folder} {why}", _MOVE, facts)


def check_disk(examination: Examination) -> Iterator[Check]:
    """Say whether the disk has room to publish the index, which takes a copy of it.

    Nothing of a disk that may not be written.

    :raises DiskFullError: when `rag index` would refuse to publish.
    """
    directory = IndexDirectory(examination.config.index_dir)
    if not os.access(_existing(directory.path), os.W_OK):
        return
    size = copied_size(directory.work)
    free = free_room(directory.path)
    require_room(directory.path, room_to_index(directory.work, 0, size))
    facts = {"free_bytes": free, "index_bytes": disk_usage(directory.path)}
    message = f"{free / 1e9:,.1f} GB free; the next snapshot of the index takes about "
    message += f"{size / 1e6:,.1f} MB"
    if free < max(_LITTLE, 2 * size):
        hint = "Free some room, or move the index with RAG_DATA_DIR."
        yield Check("disk", "warn", f"only {message}", hint, facts)
    else:
        yield Check("disk", "pass", message, facts=facts)


def _existing(path: Path) -> Path:
    """Return the path, or the nearest one above it that exists."""
    # Path.exists fails where a folder above may not be entered.
    return next(p for p in (path, *path.parents) if os.path.exists(p))  # noqa: PTH110
