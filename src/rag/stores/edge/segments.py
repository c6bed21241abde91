"""Segments made apart: pieces of a shard that are built elsewhere and moved in whole.

A shard grows slowly: its fresh points are kept in memory until a merge writes them out, and to
give that memory back the shard must be closed, and all of it be loaded again. A segment that is
built in a folder of its own costs its own points only, and other processes can build it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import qdrant_edge as qe

from rag.index.frequencies import FREQUENCIES
from rag.index.shard_files import SEGMENT, SEGMENTS, dense_size
from rag.index.snapshots import SHARD, IndexDirectory
from rag.stores.base.chunk_counts import ChunkCounts
from rag.stores.base.points import DENSE
from rag.stores.edge.layout.field_indexes import has_points
from rag.stores.edge.session import ShardAccess
from rag.stores.edge.shard import guard

_NOBODY = "00000000-0000-0000-0000-000000000000"


def has_embeddings(directory: IndexDirectory) -> bool:
    """Whether the staging index has room for embeddings, which no segment made apart has."""
    try:
        return dense_size(directory.work / SHARD, DENSE) is not None
    except FileNotFoundError:
        return False


class SegmentHome:
    """Takes segments into the staging index of an index.

    :param access: who opens and closes the staging index.
    :param counts: of its points.
    """

    def __init__(self, access: ShardAccess, counts: ChunkCounts) -> None:
        self.access, self.counts = access, counts
        self._counted = 0

    def import_segments(self, folder: Path) -> None:
        """Move what `build_segments` wrote into the staging index; the folder goes.

        No point of it may be there already. The caller has recorded which points are coming.
        """
        with self.access.mutex, self.counts.adopting(folder / FREQUENCIES):
            self._move(folder)
        shutil.rmtree(folder)

    def _move(self, folder: Path) -> None:
        # The one without points, for more to come, would have the others merged with it.
        segments = [s for s in (folder / SEGMENTS).iterdir() if has_points(s)]
        self._count_to(max(map(_last_operation, segments), default=0))
        self.access.close_work()
        for segment in segments:
            self.access.directory.working.mark.begin()
            segment.rename(self.access.directory.work / SHARD / SEGMENTS / segment.name)

    def _count_to(self, number: int) -> None:
        """Make the staging index's operations go by higher numbers than `number`.

        A point knows the number of the operation that wrote it, and the engine passes over
        operations of lower numbers: a later change of an adopted point would be lost.
        """
        nothing = qe.UpdateOperation.delete_points([_NOBODY])
        with guard("write documents"):
            for _ in range(number - self._counted):
                self.access.work().update(nothing)
        self._counted = max(self._counted, number)


def _last_operation(segment: Path) -> int:
    """Return the number of the last operation that a segment knows of."""
    return int(json.loads((segment / SEGMENT).read_text("utf-8"))["version"])
