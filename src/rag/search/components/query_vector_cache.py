"""Vectors of queries that were made within a day, in memory that the commands of a warm process
share.

Each command is a process that is forked from the warm one and ends soon. So the memory is one that
forked processes have in common: a table of slots, each chosen by the hash of what it holds. Two
may write the same slot at once: its checksum tells a reader that it is neither's.
"""

from __future__ import annotations

import struct
import time
from hashlib import blake2b
from mmap import mmap
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Sequence

_SLOTS = 256
_SIZE = 16 << 10  # bytes of a slot: a vector of 4,000 numbers
_DAY = 86_400.0
_HEAD = struct.Struct("=16sdII")  # key, time, bytes of the vector, checksum of all before and it
_table: mmap | None = None


def share() -> None:
    """Begin to keep vectors, for this process and those that will be forked from it."""
    global _table
    _table = mmap(-1, _SLOTS * _SIZE)


def recall(space: str, text: str) -> list[float] | None:
    """Return the vector of a query, if it is known.

    :param space: what makes it.
    """
    if _table is None:
        return None
    key = _key(space, text)
    at = _slot(key)
    slot = _table[at : at + _SIZE]
    found, made, size, checksum = _HEAD.unpack_from(slot)
    vector = slot[_HEAD.size : _HEAD.size + size]
    is_whole = found == key and checksum == _checksum(key, made, vector)
    if not is_whole or not 0 <= time.time() - made < _DAY:
        return None
    return list(struct.unpack(f"={size // 4}f", vector))


def remember(space: str, text: str, vector: Sequence[float]) -> None:
    """Keep the vector of a query, in single precision."""
    packed = struct.pack(f"={len(vector)}f", *vector)
    if _table is None or len(packed) > _SIZE - _HEAD.size:
        return
    key, now = _key(space, text), time.time()
    at = _slot(key)
    head = _HEAD.pack(key, now, len(packed), _checksum(key, now, packed))
    _table[at : at + len(head) + len(packed)] = head + packed


def _key(space: str, text: str) -> bytes:
    return blake2b(f"{space}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()


def _slot(key: bytes) -> int:
    return int.from_bytes(key[:4], "big") % _SLOTS * _SIZE


def _checksum(key: bytes, made: float, vector: bytes) -> int:
    return crc32(vector, crc32(key + struct.pack("=d", made)))
