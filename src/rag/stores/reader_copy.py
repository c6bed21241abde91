"""The copy of a working shard that readers get: quick to make, and quick to open.

Both rely on how the engine lays out its files; the tests hold it to that.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rag.owned import MARK
from rag.stores.dimensions import SORTED, TABLE
from rag.stores.shard_files import CONFIG, change_settings
from rag.stores.sparse_copy import copy_tree, files_below, size_on_disk

_LEFT_OUT = frozenset({"wal", MARK})
# What a merged segment has beside its points, written with it.
_FIXED = ("inverted_index.dat", TABLE, SORTED)
# Kinds of indexes of a field, and how the names of their folders end. Those of dates sort, and the
# engine sorts only where every segment has one.
_LACKING = {"null_index": "null"}
_SELECTING = {"keyword_index": "map", "uuid_map_index": "map"}


def copy_for_readers(work: Path, target: Path, shard: str) -> None:
    """Copy a working folder; `target` is made when it is missing.

    Files that the engine never writes again get a second name instead.

    :param shard: the name of the folder in it that is a shard, flushed and closed.
    """
    copy_tree(work, target, _LEFT_OUT, is_fixed)
    if (target / shard).exists():
        _prepare(target / shard)


def copied_size(work: Path) -> int:
    """Return the bytes that `copy_for_readers` would write."""
    return sum(size_on_disk(file) for file in files_below(work, _LEFT_OUT) if not is_fixed(file))


def is_fixed(file: str) -> bool:
    """Whether the engine never writes a file again: the postings of a merged segment, its tables of
    dimensions, and the pages that hold its payloads and vectors. What is deleted there is noted
    beside them."""
    path = Path(file)
    if path.name in _FIXED:
        return True
    # Only a merged segment has this kind of list of its points.
    segment = Path(file.rpartition("_storage")[0]).parent
    return path.name.startswith("page_") and (segment / "id_tracker.mappings").exists()


def _prepare(shard: Path) -> None:
    """Make a shard quick to open: without a journal, and without what hardly a search asks for.

    Beside each index of a field the engine keeps which points lack the field: eight files of a
    megabyte in each segment, which it reads at every opening and then has the system forget.
    Without them it asks the payloads. A segment without points is not asked at all.
    """
    change_settings(shard / CONFIG, lambda config: config.update(wal_enabled=False))
    for indexes in shard.glob("segments/*/payload_index"):
        kinds = _LACKING if has_points(indexes.parent) else _LACKING | _SELECTING
        change_settings(indexes / "config.json", partial(_forget, kinds))
        for ending in set(kinds.values()):
            for index in indexes.glob(f"*-{ending}"):
                shutil.rmtree(index)


def has_points(segment: Path) -> bool:
    """Whether a segment has any: the one for points to come may have no list of them yet."""
    return any(segment.glob("*id_tracker.mappings"))


def _forget(kinds: Mapping[str, str], payload_index: dict[str, Any]) -> None:
    fields, types = payload_index["indexed_fields"], payload_index["indexed_types"]
    for field, indexes in [*types.items()]:
        types[field] = [index for index in indexes if index["index_type"] not in kinds]
        if not types[field]:
            del types[field], fields[field]
