"""Opening a shard for the words of one query.

The engine keeps, for each merged segment, a table of all dimensions of the lexical space, and
parses it whenever it opens the segment: for 10,000 notes some 340,000 of them, which takes three
times as long as the rest of the opening. A query has a dozen. So a generation holds each large
table in a second form, in which a dimension is found without reading it through, and who knows the
query opens a folder of links to the shard, with tables of the query's dimensions alone. To the
engine the others are dimensions that no point has.

This relies on how the engine lays out its files, and on what it does without a dimension; the
tests hold it to that.
"""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path

from rag.stores.shard_files import CONFIG

SORTED = "dimensions.sorted"
TABLE = "indices_tracker.json"
_CONFIG = "inverted_index_config.json"
_PLACE = (1 << 32) - 1
_LARGE = 1 << 18  # bytes of a table that are worth it: some 13,000 dimensions, parsed in 2 ms


def sort_tables(shard: Path) -> None:
    """Write the second form of each large table of a closed shard, unless it is there."""
    for table in shard.glob(f"segments/*/vector_index-*/{TABLE}"):
        target = table.with_name(SORTED)
        if table.stat().st_size < _LARGE or target.exists():
            continue
        places = json.loads(table.read_bytes())["map"].items()
        pairs = array("Q", sorted(int(dimension) << 32 | place for dimension, place in places))
        staged = target.with_suffix(".tmp")
        staged.write_bytes(pairs)
        staged.replace(target)


@contextmanager
def narrowed(shard: Path, dimensions: Collection[int]) -> Iterator[Path | None]:
    """Make a folder that is the shard as far as some dimensions go; it lasts until it is open.

    :returns: `None` when no table of the shard is large, or no such folder can be made.
    """
    with ExitStack() as stack:
        narrow = None
        with suppress(OSError, ValueError, KeyError):  # damaged, for one: the engine will say so
            shard = shard.absolute()
            tables = [*shard.glob(f"segments/*/vector_index-*/{SORTED}")]
            small = {str(table.parent): _select(table, dimensions) for table in tables}
            if small:
                made = tempfile.TemporaryDirectory(
                    prefix="narrow-", dir=shard.parent, ignore_cleanup_errors=True
                )
                folder = stack.enter_context(made)
                _link(str(shard), folder, small)
                narrow = Path(folder)
        yield narrow


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


def _link(shard: str, target: str, small: dict[str, bytes]) -> None:
    """Fill a folder with links to the files of a shard, and with the small tables.

    Folders that the engine lists are folders, not links.
    """
    os.symlink(f"{shard}/{CONFIG}", f"{target}/{CONFIG}")
    os.mkdir(f"{target}/segments")
    for segment in os.listdir(f"{shard}/segments"):
        os.mkdir(f"{target}/segments/{segment}")
        for part in os.listdir(f"{shard}/segments/{segment}"):
            name = f"segments/{segment}/{part}"
            if table := small.get(f"{shard}/{name}"):
                _link_index(f"{shard}/{name}", f"{target}/{name}", table)
            else:
                os.symlink(f"{shard}/{name}", f"{target}/{name}")


def _link_index(source: str, target: str, table: bytes) -> None:
    os.mkdir(target)
    for name in os.listdir(source):
        if name != TABLE:
            os.symlink(f"{source}/{name}", f"{target}/{name}")
    with open(f"{target}/{TABLE}", "wb") as file:
        file.write(table)
