"""What the files of a snapshot held when it was published.

    checksums   by path: size, time and CRC-32 of every file

`rag doctor` reads every file. `rag index` reads those that have another size or time than they had:
a fault of the disk changes neither, and shows to `rag doctor` or to the engine. Searches look at
sizes alone, and leave the rest to the engine and to SQLite.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from zlib import crc32

from rag.index.shard_files import SORTED, is_fixed, is_leftover, is_settings
from rag.support.owned_folders import MARK
from rag.support.regular_files import open_file, read_file
from rag.support.sparse_files import files_below

SUMS = "checksums"
_BLOCK = 1 << 20

Sums = dict[str, tuple[int, int, int]]  # size, time and checksum of a file by its path


def write_checksums(folder: Path, before: Path | None = None) -> None:
    """Write down what the files of a folder hold.

    :param before: a snapshot with which it shares files that never change.
    """
    known = (_read(before) if before else None) or {}
    sums: Sums = {}
    for name in _files(folder):
        path = f"{folder}/{name}"
        facts = os.stat(path)  # noqa: PTH116
        size, written, checksum = known.get(name, (0, 0, 0))
        is_same = is_fixed(path) and (size, written) == (facts.st_size, facts.st_mtime_ns)
        sums[name] = facts.st_size, facts.st_mtime_ns, checksum if is_same else _checksum(path)
    body = json.dumps(sums).encode()
    (folder / SUMS).write_bytes(b"%08x\n" % crc32(body) + body)


def find_damage(folder: Path, all_read: bool = False) -> list[str]:
    """Return the files of a snapshot that do not hold what they did, by their paths in it.

    :param all_read: read every file, whatever its size and time.
    """
    sums = _read(folder)
    if sums is None:
        return [SUMS]
    return [name for name, known in sums.items() if not _holds(folder / name, known, all_read)]


def first_cut(folder: Path) -> str | None:
    """Return a file of a snapshot that is gone, no file, or of another size than it had; `None`
    where there is none.

    The engine would wait for a pipe, and the system ends who maps a file that is cut short. What is
    done without is passed over.
    """
    for name, (size, *_) in (_read(folder) or {}).items():
        if name.endswith(SORTED):
            continue
        try:
            facts = os.stat(f"{folder}/{name}")  # noqa: PTH116
        except OSError:
            return name
        if not S_ISREG(facts.st_mode) or (facts.st_size != size and not is_settings(name)):
            return name
    return None


def _files(folder: Path) -> Iterator[str]:
    above = len(f"{folder}/")
    for file in files_below(folder, lambda name: name in (MARK, SUMS) or is_leftover(name)):
        yield file[above:]


def _read(folder: Path) -> Sums | None:
    """Return the checksums of a snapshot; `None` where they are missing, damaged, or those of an
    older program."""
    with suppress(OSError, ValueError, TypeError):
        head, _, body = read_file(folder / SUMS).partition(b"\n")
        if head == b"%08x" % crc32(body):
            return {name: (size, at, crc) for name, (size, at, crc) in json.loads(body).items()}
    return None


def _holds(path: Path, known: tuple[int, int, int], all_read: bool) -> bool:
    with suppress(OSError, ValueError, RecursionError):
        facts = path.stat()
        if not S_ISREG(facts.st_mode):
            return False
        is_same = (facts.st_size, facts.st_mtime_ns) == known[:2]
        return (is_same and not all_read) or _checksum(path) == known[2]
    return False


def _checksum(file: str | Path) -> int:
    """Return the checksum of a file; of the engine's settings, that of what they say: it lays them
    out in another order each time it opens a shard."""
    if is_settings(file):
        return crc32(json.dumps(json.loads(read_file(file)), sort_keys=True).encode())
    crc = 0
    with open_file(file) as stream:
        while block := stream.read(_BLOCK):
            crc = crc32(block, crc)
    return crc
