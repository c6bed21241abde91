"""The copy of a working shard that readers get: quick to make, and quick to open.

Both rely on how the engine lays out its files; the tests hold it to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rag.exceptions import REBUILD_INDEX
from rag.index.checksums import sum_of
from rag.index.shard_files import (
    CONFIG,
    JOURNAL,
    SEGMENT,
    SEGMENTS,
    TRACKED,
    change_settings,
    is_fixed,
)
from rag.index.staging_files import Copied, copy_folder, is_shared
from rag.stores.edge.layout.dimension_tables import without_tables
from rag.stores.edge.layout.field_indexes import drop_empty_indexes
from rag.stores.edge.shard import StoreError, guard, load_shard
from rag.support.owned_folders import MARK
from rag.support.sparse_files import Checksum, files_below


def copy_for_readers(
    work: Path,
    target: Path,
    shard: str,
    known: Mapping[str, Checksum],
    points: int | None = None,
) -> Copied:
    """Copy a working folder, and make sure that the engine opens the copy.

    Files that nobody writes again get a second name instead.

    :param target: made when it is missing.
    :param shard: the name of the folder in it that is a shard, flushed and closed.
    :param known: the checksums of such files, by path, as far as they are known.
    :param points: how many points the engine must find in the copy; `None` leaves it unopened.
    :raises StoreError: when it finds others.
    """
    found = copy_folder(work, target, shard, known, is_shared).work
    if not (target / shard).exists():
        return Copied(found, found)
    change_settings(target / shard / CONFIG, lambda config: config.update(wal_enabled=False))
    drop_empty_indexes(target / shard)
    if points is not None:
        _open_once(target / shard, points)
    filled = {name.split("/")[2] for name in found if name.endswith(TRACKED)}
    changed = tuple(f"{shard}/{SEGMENTS}/{name}/" for name in filled)
    copied = {}
    for file in files_below(target):
        name = file[len(f"{target}/") :]
        if name != MARK:
            is_changed = name.startswith(changed) and not is_fixed(file)
            is_changed = is_changed or name.endswith(("config.json", SEGMENT))
            copied[name] = (not is_changed and found.get(name)) or sum_of(file)
    settings = (work / shard / SEGMENTS).glob(f"*/{SEGMENT}")
    for path in (work / shard / CONFIG, *settings, *(work / shard / JOURNAL).glob("*")):
        found[str(path.relative_to(work))] = sum_of(path)
    return Copied(found, copied)


def _open_once(shard: Path, points: int) -> None:
    """Let the engine open a copy, count its points and do what it does at the first opening only.

    While it fills a segment it notes in a journal what it writes into a file when the segment is
    opened next. Readers are to find the files as they stay.
    """
    with without_tables(shard):
        opened = load_shard(shard)
        with guard("read the new index"):
            found = opened.info().points_count
            opened.close()
    if found != points:
        raise StoreError(
            "the new index cannot be read",
            f"{found} of {points} points",
            hint=REBUILD_INDEX,
        )
