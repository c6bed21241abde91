"""The journal of a writer's shard, restarted when all that it notes is in the shard.

The engine drops a part of its journal when that holds 32 MB, however small the shard is, and
passes over operations with lower numbers than the points know: a journal that is gone would begin
with the first number again, and what was written next would be lost. So the new one has an empty
part in the place of the old ones, whose name says with which number the next begins.

This relies on how the engine names the parts; the tests hold it to that.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from rag.index.shard_files import JOURNAL, SEGMENT, SEGMENTS

_NEW = "wal.new.tmp"
_OLD = "wal.old.tmp"
_ACKNOWLEDGED = "first-index"
_HEAD = 8  # bytes of a part without operations
_remove = shutil.rmtree


def restart(shard: Path) -> None:
    """Forget the operations that the journal of a shard holds, which is flushed and closed.

    A journal that is not as expected stays as it is.
    """
    journal, new, old = shard / JOURNAL, shard / _NEW, shard / _OLD
    try:
        empty = [part for part in journal.glob("open-*") if _is_empty(part)]
        number = _last_operation(shard) + 1
    except (LookupError, OSError, TypeError, ValueError):
        return
    if not empty or len(empty) == len([*journal.glob("*-[0-9]*")]):
        return
    for folder in filter(Path.exists, (new, old)):
        _remove(folder)
    new.mkdir()
    shutil.copyfile(journal / _ACKNOWLEDGED, new / _ACKNOWLEDGED)
    empty[0].rename(new / f"closed-{number}")
    journal.rename(old)
    new.rename(journal)
    _remove(old)


def finish_restart(shard: Path) -> None:
    """Do what is left to do where somebody was killed in `restart`."""
    if not (shard / JOURNAL).exists() and (shard / _NEW).exists():
        (shard / _NEW).rename(shard / JOURNAL)


def _is_empty(part: Path) -> bool:
    with part.open("rb") as opened:
        return not opened.read(1 << 12)[_HEAD:].strip(b"\0")


def _last_operation(shard: Path) -> int:
    """Return the number of the last operation that the shard holds."""
    acknowledged = json.loads((shard / JOURNAL / _ACKNOWLEDGED).read_bytes())["ack_index"]
    segments = shard.glob(f"{SEGMENTS}/*/{SEGMENT}")
    versions = (json.loads(segment.read_bytes())["version"] for segment in segments)
    return max(int(number or 0) for number in (acknowledged, *versions))
