"""What is known of the engine's files: which may have a name in two snapshots, and what each held
when it was published.

    checksums   by path: size, time and CRC-32 of every file of a snapshot; blocks of zeros, of
                which the engine allocates many, are left out of the sum

`rag doctor` reads every file. `rag index` reads those that have another size or time than they had:
a fault of the disk changes neither, and shows to `rag doctor` or to the engine. Searches look at
sizes alone, and leave the rest to the engine and to SQLite.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from zlib import crc32

from rag.support.disk_space import data_blocks, files_below
from rag.support.files import MARK, open_file, read_file

CONFIG = "edge_config.json"
SEGMENT = "segment.json"  # the same of a segment
SEGMENTS = "segments"
TABLE = "indices_tracker.json"  # of the dimensions of a lexical space, by their places
SUMS = "checksums"
SORTED = "dimensions.sorted"  # the second form of it (`rag.stores.edge.narrow_shard`)
# What a merged segment has beside its points, written with it.
_FIXED = (
    *("inverted_index.dat", TABLE, SORTED, "id_tracker.mappings"),
    *("values_to_points.bin", "point_to_values.bin", "data.bin"),
)
_TEMPORARY = ("temp_segments", ".atomicwrite")  # where it merges, and where it writes small files

Facts = tuple[int, int, int]  # size, time and checksum of a file


def is_unlisted(name: str) -> bool:
    """Return whether a file or folder of a snapshot is no part of it: the mark, the checksums, and
    what the engine, or we, soon remove."""
    return name in (MARK, SUMS) or name.startswith(_TEMPORARY) or name.endswith(".tmp")


def is_settings(file: str | Path) -> bool:
    """Return whether a file holds settings of a shard or of a segment, as JSON."""
    return str(file).endswith((CONFIG, SEGMENT))


def is_fixed(file: str) -> bool:
    """Return whether the engine never writes a file again, so that snapshots may share it: what a
    merged segment has, and the pages of its payloads and vectors; what is deleted there is noted
    beside them."""
    name = file.rpartition("/")[2]
    if not name.startswith("page_"):
        return name in _FIXED
    # Only a merged segment has this kind of list of its points.
    segment = file.rpartition("_storage")[0].rpartition("/")[0]
    return Path(segment, "id_tracker.mappings").exists()


def write_checksums(folder: Path, before: Path | None = None) -> None:
    """Write down what the files of a folder hold.

    :param before: a snapshot with which it shares files that never change.
    """
    former = (_read_checksums(before) if before else None) or {}
    sums: dict[str, Facts] = {}
    for path in files_below(folder, is_unlisted):
        name, facts = path[len(f"{folder}/") :], os.stat(path)  # noqa: PTH116
        size, written, checksum = former.get(name, (0, 0, 0))
        is_same = is_fixed(path) and (size, written) == (facts.st_size, facts.st_mtime_ns)
        sums[name] = facts.st_size, facts.st_mtime_ns, checksum if is_same else _checksum(path)
    body = json.dumps(sums).encode()
    (folder / SUMS).write_bytes(b"%08x\n" % crc32(body) + body)


def find_damage(folder: Path, all_read: bool = False) -> list[str]:
    """Return the files of a snapshot that do not hold what they did, by their paths in it.

    :param all_read: read every file, whatever its size and time.
    """
    sums = _read_checksums(folder)
    if sums is None:
        return [SUMS]
    damaged = []
    for name, (size, written, checksum) in sums.items():
        with suppress(OSError, ValueError, RecursionError):
            facts = (folder / name).stat()
            is_same = (facts.st_size, facts.st_mtime_ns) == (size, written)
            if (is_same and not all_read) or _checksum(folder / name) == checksum:
                continue
        damaged.append(name)
    return damaged


def first_cut(folder: Path) -> str | None:
    """Return a file of a snapshot that is gone, no file, or of another size than it had; `None`
    where there is none. The engine would wait for a pipe, and the system ends who maps a file that
    is cut short.
    """
    for name, (size, *_) in (_read_checksums(folder) or {}).items():
        with suppress(OSError):
            facts = os.stat(f"{folder}/{name}")  # noqa: PTH116
            if S_ISREG(facts.st_mode) and (facts.st_size == size or is_settings(name)):
                continue
        if not name.endswith(SORTED):  # it is done without
            return name
    return None


def _read_checksums(folder: Path) -> dict[str, Facts] | None:
    """Return the checksums of a snapshot; `None` where they are missing or damaged."""
    with suppress(OSError, ValueError):
        head, _, body = read_file(folder / SUMS).partition(b"\n")
        if head == b"%08x" % crc32(body):
            sums: dict[str, Facts] = json.loads(body)
            return sums
    return None


def _checksum(file: str | Path) -> int:
    """Return the checksum of a file, whose holes count as zeros; of the engine's settings, that of
    what they say: it lays them out in another order each time it opens a shard."""
    if is_settings(file):
        return crc32(json.dumps(json.loads(read_file(file)), sort_keys=True).encode())
    with open_file(file) as stream:
        crc = crc32(b"%d" % os.fstat(stream.fileno()).st_size)
        for position, block in data_blocks(stream.fileno()):
            crc = crc32(block, crc32(b"%d" % position, crc))
    return crc
