"""The copy of a working shard that readers get: quick to make, and quick to open.

Both rely on how the engine lays out its files; the tests hold it to that.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rag.index.checksums import sum_of
from rag.index.shard_files import CONFIG, JOURNAL, SEGMENTS, TRACKED, change_settings
from rag.index.staging_files import Copied, copy_folder
from rag.support.owned_folders import MARK
from rag.support.sparse_files import Checksum

# Kinds of indexes of a field, and how the names of their folders end. Those of dates sort, and the
# engine sorts only where every segment has one.
_LACKING = {"null_index": "null"}
_SELECTING = {"keyword_index": "map", "uuid_map_index": "map"}


def copy_for_readers(work: Path, target: Path, shard: str, known: Mapping[str, Checksum]) -> Copied:
    """Copy a working folder; `target` is made when it is missing.

    Files that the engine never writes again get a second name instead.

    :param shard: the name of the folder in it that is a shard, flushed and closed.
    :param known: the checksums of such files, by path, as far as they are known.
    """
    above = len(f"{work}/")
    found = copy_folder(work, target, shard, known).work
    if not (target / shard).exists():
        return Copied(found, found)
    _prepare(target / shard)
    changed = tuple(f"{shard}/{SEGMENTS}/{name}/" for name in _settle(target / shard))
    copied = {}
    for file in target.rglob("*"):
        name = str(file.relative_to(target))
        if file.is_file() and name != MARK:
            is_changed = name.endswith("config.json") or name.startswith(changed)
            copied[name] = sum_of(file) if is_changed else found[name]
    for file in (work / shard / CONFIG, *(work / shard / JOURNAL).glob("*")):
        found[str(file)[above:]] = sum_of(file)
    return Copied(found, copied)


def _settle(shard: Path) -> list[str]:
    """Let the engine do to a closed shard what it does to it when it first opens it.

    While it fills a segment it notes in a journal what it writes into a file at the next opening.
    Readers are to find the files as they stay.

    :returns: the names of the segments that were changed.
    """
    segments = [*(shard / SEGMENTS).iterdir()]
    names = [segment.name for segment in segments if any(segment.glob(f"*/**/{TRACKED}"))]
    if names:
        from rag.stores.edge.shard import load_shard

        apart = shard / ".settling"  # the others are as they stay, and take longer to open
        (apart / SEGMENTS).mkdir(parents=True)
        shutil.copyfile(shard / CONFIG, apart / CONFIG)
        for name in names:
            (shard / SEGMENTS / name).rename(apart / SEGMENTS / name)
        load_shard(apart).close()
        for name in names:
            (apart / SEGMENTS / name).rename(shard / SEGMENTS / name)
        shutil.rmtree(apart)
    return names


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
