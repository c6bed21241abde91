"""Opening a snapshot's shard through a folder of links: for the words of one query, or where the
shard may not be written.

The engine keeps, for each merged segment, a table of all dimensions of the lexical space, and
parses it whenever it opens the segment: for 10,000 notes some 340,000 of them, a sixth of the time
of a cold search. A query has a dozen. So a snapshot holds each large table in a second form too,
which is searched without reading it through, and a query opens a folder of links to the shard with
tables of its own dimensions alone. To the engine the others are dimensions that no point has.

The engine opens most files for writing even to read them, and reading a hole in one may take a
block of the disk, for lack of which the system ends the process. Where the disk is full or read
only, such a folder holds copies of all that the engine may write.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from rag.index.shard_files import CONFIG, SORTED, TABLE
from rag.support.disk_space import copy_file, disk_full, free_room

LINKED = "rag-narrow-"  # how the name of such a folder begins
MEMORY = "/dev/shm"  # to make and remove some hundred links takes many milliseconds on a disk
_POSTINGS = "inverted_index_config.json"
_PLACE = (1 << 32) - 1
_LARGE = 1 << 18  # bytes of a table that are worth it: some 13,000 dimensions, parsed in 2 ms
# The holes that the engine touches as it opens an index: 22 MB where there is a segment of points
# that are not merged yet.
_HOLES = 32 << 20
# Files that the engine opens for reading only.
_ONLY_READ = frozenset(
    {
        *("inverted_index.dat", TABLE, SORTED, "matrix.dat", "id_tracker.mappings", "data.bin"),
        *("values_to_points.bin", "point_to_values.bin", "graph.bin", "links_compressed.bin"),
    }
)


def sort_tables(shard: Path) -> None:
    """Write the second form of each large table of a closed shard, unless it is there: dimensions
    and their places, as 64-bit numbers in order."""
    import numpy as np

    for table in shard.glob(f"segments/*/vector_index-*/{TABLE}"):
        target = table.with_name(SORTED)
        if table.stat().st_size < _LARGE or target.exists():
            continue
        places = json.loads(table.read_bytes())["map"]
        pairs = np.fromiter(map(int, places), np.uint64, len(places)) << np.uint64(32)
        pairs |= np.fromiter(places.values(), np.uint64, len(places))
        pairs.sort()
        staged = target.with_suffix(".tmp")
        staged.write_bytes(pairs.tobytes())
        staged.replace(target)


def _select(table: Path, dimensions: Collection[int]) -> bytes:
    """Return a table of those of some dimensions that there are, as the engine reads it."""
    expected = json.loads(table.with_name(_POSTINGS).read_bytes())["posting_count"]
    with table.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        # The last of them is 0 where the machine went down before the file was on the disk.
        if len(content) != 8 * expected or not any(content[-8:]):
            raise ValueError(f"{table} does not hold {expected} dimensions")
        with memoryview(content) as view, view.cast("Q") as pairs:
            at = {d: bisect_left(pairs, d << 32) for d in dimensions}
            near = {d: pairs[place] for d, place in at.items() if place < expected}
            places = {d: pair & _PLACE for d, pair in near.items() if pair >> 32 == d}
    return json.dumps({"map": places}).encode()


@contextmanager
def openable(shard: Path, dimensions: Collection[int] | None = None) -> Iterator[tuple[Path, bool]]:
    """Yield a folder that the engine can open as the shard, which lasts until it is open: the shard
    itself where that will do; and whether it has but some dimensions of the lexical space.

    :param dimensions: those that are asked for; all, without it.
    :raises DiskFullError: when the shard may not be written, or its disk is full, and there is no
        room elsewhere.
    """
    shard = shard.absolute()
    tables: dict[str, bytes] = {}  # by the paths of the large ones that they replace
    if dimensions is not None:
        with suppress(OSError, ValueError, KeyError):  # damaged, for one: the engine will say so
            large = shard.glob(f"segments/*/vector_index-*/{SORTED}")
            tables = {str(t.with_name(TABLE)): _select(t, dimensions) for t in large}
    is_ours = all(os.access(path, os.W_OK) for path in (shard, shard / CONFIG) if path.exists())
    is_writable = is_ours and free_room(shard) >= _HOLES
    for place in _places() if not is_writable else (MEMORY,) if tables else ():
        with suppress(OSError), ExitStack() as stack:
            folder = stack.enter_context(
                TemporaryDirectory(prefix=LINKED, dir=place, ignore_cleanup_errors=True)
            )
            _mirror(str(shard), folder, tables, is_writable)
            if free_room(folder) >= _HOLES:
                kept = stack.pop_all()
                break
    else:
        if not is_writable:
            raise disk_full(gettempdir(), _HOLES)
        yield shard, False
        return
    with kept:
        yield Path(folder), bool(tables)


def _places() -> tuple[str, ...]:
    return MEMORY, gettempdir(), "/var/tmp"


def _mirror(source: str, target: str, tables: Mapping[str, bytes], is_writable: bool) -> None:
    """Link what a folder holds, but for the tables and the folders that the engine lists; where it
    may not be written, only what the engine opens for reading alone: all else is copied."""
    with os.scandir(source) as entries:
        for entry in entries:
            twin = f"{target}/{entry.name}"
            is_above = any(table.startswith(f"{entry.path}/") for table in tables)
            if entry.path in tables:
                Path(twin).write_bytes(tables[entry.path])
            elif entry.is_dir() and (not is_writable or is_above or source.endswith("/segments")):
                os.mkdir(twin)
                _mirror(entry.path, twin, tables, is_writable)
            elif is_writable or entry.name in _ONLY_READ:
                os.symlink(entry.path, twin)
            else:
                copy_file(entry.path, twin)
