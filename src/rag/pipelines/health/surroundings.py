"""The settings in force, the folder of the index, and the room on its disk."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from rag import owned
from rag.config import settings
from rag.exceptions import UsageError
from rag.pipelines.health.check import Check, Examination
from rag.stores.generations import IndexDirectory
from rag.stores.sparse_copy import disk_usage

_LITTLE = 1 << 30  # bytes; less free room than that is worth a word


def check_configuration(examination: Examination) -> Iterator[Check]:
    """Say where the settings came from, and which variables look like settings and are none."""
    origins = Counter(examination.config.origins.values())
    del origins["default"]
    sources = [f"{origin} ({count})" for origin, count in origins.items()]
    message = f"settings from {', '.join(sources)}" if sources else "every setting is the default"
    yield Check("configuration", "pass", message, facts={"settings": dict(origins)})
    known = {f"RAG_{name.upper().replace('.', '__')}" for name in settings()} | {"RAG_CONFIG"}
    for name in sorted(set(os.environ) - known):
        if name.startswith("RAG_") and os.environ[name]:
            near = get_close_matches(name, known, 1, 0)[0]
            hint = f"Did you mean {near}? `rag config` lists all settings."
            yield Check("configuration", "warn", f"{name} in the environment sets nothing", hint)


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
    why = "cannot be written" if folder.is_dir() else "is not a folder"
    hint = "Name another with data_dir in rag.toml, or with RAG_DATA_DIR."
    yield Check("data folder", "fail", f"{wanted}: {folder} {why}", hint, facts)


def check_disk(examination: Examination) -> Iterator[Check]:
    """Say whether the disk has room to publish the index, which takes a copy of it.

    :raises IndexingError: when `rag index` would refuse to publish.
    """
    directory = IndexDirectory(examination.config.index_dir)
    size = disk_usage(directory.work)
    place = _existing(directory.path)
    free = shutil.disk_usage(place).free
    IndexDirectory(place).require_space(size)
    facts = {"free_bytes": free, "index_bytes": disk_usage(directory.path)}
    message = f"{free / 1e9:,.1f} GB free; the next generation of the index takes about "
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
