"""Indexes of fields that a closed segment does better without.

This relies on how the engine lays out its files, and on what it does without an index; the tests
hold it to that.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rag.index.shard_files import change_settings

# Kinds of indexes, and how the names of their folders end. Those of dates sort, and the engine
# sorts only where every segment has one.
_NULL = {"null_index": "-null"}
_SELECTING = {"keyword_index": "-map", "uuid_map_index": "-map"}


def drop_null_indexes(shard: Path) -> None:
    """Drop from all segments what tells which points lack a field: eight files of a megabyte in
    each, which the engine reads at every opening and writes at every closing.

    Without them it asks the payloads. It makes them with each new segment.
    """
    for indexes in _all_of(shard):
        _drop(indexes, _NULL)


def drop_empty_indexes(shard: Path) -> None:
    """Drop the indexes of segments without points, which no filter asks."""
    for indexes in _all_of(shard):
        if not has_points(indexes.parent):
            _drop(indexes, _SELECTING)


def has_points(segment: Path) -> bool:
    """Whether a segment has any: the one for points to come may have no list of them yet."""
    return any(segment.glob("*id_tracker.mappings"))


def _all_of(shard: Path) -> Iterator[Path]:
    """Yield the folder of each segment that holds its indexes."""
    return shard.glob("segments/*/payload_index")


def _drop(indexes: Path, kinds: Mapping[str, str]) -> None:
    change_settings(indexes / "config.json", partial(_forget, kinds))
    for index in filter(Path.is_dir, indexes.iterdir()):
        if index.name.endswith(tuple(kinds.values())):
            shutil.rmtree(index)


def _forget(kinds: Mapping[str, str], payload_index: dict[str, Any]) -> None:
    fields, types = payload_index["indexed_fields"], payload_index["indexed_types"]
    for field, indexes in [*types.items()]:
        types[field] = [index for index in indexes if index["index_type"] not in kinds]
        if not types[field]:
            del types[field], fields[field]
