"""Opening a shard for the words of one query.

The engine keeps, for each merged segment, a table of all dimensions of the lexical space, and
parses it whenever it opens the segment: for 10,000 notes some 340,000 of them, which takes three
times as long as the rest of the opening. A query has a dozen. So a snapshot holds each large
table in a second form, in which a dimension is found without reading it through, and who knows the
query opens a folder of links to the shard, with tables of the query's dimensions alone. To the
engine the others are dimensions that no point has.

This relies on how the engine lays out its files, and on what it does without a dimension; the
tests hold it to that.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path

from rag.index.shard_files import SORTED, TABLE

_CONFIG = "inverted_index_config.json"
_PLACE = (1 << 32) - 1
_NO_DIMENSIONS = b'{"map": {}}'
_LARGE = 1 << 18  # bytes of a table that are worth it: some 13,000 dimensions, parsed in 2 ms


def sort_tables(shard: Path) -> None:
    """Write the second form of each large table of a closed shard, unless it is there."""
    for table in shard.glob(f"segments/*/vector_index-*/{TABLE}"):
        target = table.with_name(SORTED)
        if table.stat().st_size < _LARGE or target.exists():
            continue
        staged = target.with_suffix(".tmp")
        staged.write_bytes(_sorted_pairs(table))
        staged.replace(target)


def _sorted_pairs(table: Path) -> bytes:
    """Return the dimensions of a table and their places, as 64-bit numbers in order."""
    import numpy as np

    places = json.loads(table.read_bytes())["map"]
    pairs = np.fromiter(map(int, places), np.uint64, len(places)) << np.uint64(32)
    pairs |= np.fromiter(places.values(), np.uint64, len(places))
    pairs.sort()
    return pairs.tobytes()


def small_tables(shard: Path, dimensions: Collection[int]) -> dict[str, bytes]:
    """Return tables of some dimensions to open a shard with, by the paths of those they replace.

    None when no table of the shard is large.
    """
    with suppress(OSError, ValueError, KeyError):  # damaged, for one: the engine will say so
        tables = shard.absolute().glob(f"segments/*/vector_index-*/{SORTED}")
        return {str(table.with_name(TABLE)): _select(table, dimensions) for table in tables}
    return {}


@contextmanager
def without_tables(shard: Path) -> Iterator[None]:
    """Have the large tables of a shard replaced by empty ones, while nobody else reads it."""
    whole = {Path(table): Path(f"{table}.tmp") for table in small_tables(shard, ())}
    try:
        for table, aside in whole.items():
            table.rename(aside)
            table.write_bytes(_NO_DIMENSIONS)
        yield
    finally:
        for table, aside in whole.items():
            with suppress(FileNotFoundError):
                aside.replace(table)


def _select(table: Path, dimensions: Collection[int]) -> bytes:
    """Return a table of those of some dimensions that there are, as the engine reads it.

    :raises ValueError: when the table is not what it was written as.
    """
    expected = json.loads(table.with_name(_CONFIG).read_bytes())["posting_count"]
    with table.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as held:
        # The last of them is 0 where the machine went down before the file was on the disk.
        if len(held) != 8 * expected or not any(held[-8:]):
            raise ValueError(f"{table} does not hold {expected} dimensions")
        with memoryview(held) as text, text.cast("Q") as pairs:
            at = {d: bisect_left(pairs, d << 32) for d in dimensions}
            near = {d: pairs[place] for d, place in at.items() if place < expected}
            found = {d: pair & _PLACE for d, pair in near.items() if pair >> 32 == d}
    return json.dumps({"map": found}).encode()
