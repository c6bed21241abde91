"""Segments made apart: pieces of a shard that are built elsewhere and moved in whole.

A shard grows slowly: its fresh points are kept in memory until a merge writes them out, and to
give that memory back the shard must be closed, and all of it be loaded again. A segment that is
built in a folder of its own costs its own points only, and other processes can build it: this
module needs no Haystack, which would take 45 MB of the memory of each.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import qdrant_edge as qe

from rag.index.frequencies import FREQUENCIES, Frequencies, dimension_counts
from rag.index.shard_files import SEGMENT, SEGMENTS
from rag.index.snapshots import SHARD
from rag.stores.base.points import Point
from rag.stores.edge.shard import edge_point, guard, index_fields, merge, shard_config

if TYPE_CHECKING:
    from rag.stores.edge.document_store import QdrantEdgeDocumentStore

# As many points are held in memory before they are written out: 7 KB each, 13 in the merge.
_MOST_POINTS = 40_000
_POINTS = "*id_tracker.mappings"  # the list of its points, where a segment has any
_NOBODY = "00000000-0000-0000-0000-000000000000"


def build_segments(folder: Path, batches: Iterable[Sequence[Point]]) -> None:
    """Write points into segments in `folder`, which is made; they are on disk when this returns.

    :raises StoreError: when the engine fails.
    """
    folder.mkdir(parents=True)
    with guard("make a part of the index"):
        shard = qe.EdgeShard.create(str(folder), shard_config())
    held, counts = 0, Counter[int]()
    # While the engine writes and merges, only its own form of the points is held, and not ours too.
    for batch in batches:
        counts.update(dimension_counts(point.sparse for point in batch if point.sparse))
        points = [edge_point(point) for point in batch]
        with guard("write a part of the index"):
            shard.update(qe.UpdateOperation.upsert_points(points))
        held += len(points)
        if held >= _MOST_POINTS:
            merge(shard, held)
            held = 0
    merge(shard, held)
    with guard("finish a part of the index"):
        # Once for all: with each point, and again in the merge, takes twice as long.
        index_fields(shard)
        shard.flush()
        shard.close()
    (folder / FREQUENCIES).write_bytes(Frequencies().changed(counts).to_bytes())


def import_segments(store: QdrantEdgeDocumentStore, folder: Path) -> None:
    """Move what `build_segments` wrote into the staging shard of a store; the folder goes.

    No point of it may be there already.
    """
    with store.mutex:
        with closing(Frequencies.open(folder / FREQUENCIES)) as frequencies:
            store.counts.add(frequencies)
        # The one without points, for more to come, would have the others merged with it.
        segments = [s for s in (folder / SEGMENTS).iterdir() if any(s.glob(_POINTS))]
        # A point knows the number of the operation that wrote it, and the engine passes over
        # operations of lower numbers: a later change of an imported point would be lost.
        for _ in range(max(map(_last_operation, segments), default=0)):
            store.delete_points([_NOBODY])
        store.close_work()
        for segment in segments:
            segment.rename(store.directory.work / SHARD / SEGMENTS / segment.name)
    shutil.rmtree(folder)


def _last_operation(segment: Path) -> int:
    return int(json.loads((segment / SEGMENT).read_text("utf-8"))["version"])
