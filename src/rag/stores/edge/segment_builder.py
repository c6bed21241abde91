"""Segments built in a folder of their own, by any process: this module needs no Haystack, which
would take 45 MB of the memory of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import qdrant_edge as qe

from rag.index.frequencies import FREQUENCIES, Frequencies, FrequencyChanges
from rag.stores.base.points import Point
from rag.stores.edge.points import edge_point
from rag.stores.edge.shard import guard, index_fields, merge, shard_config

# As many points are held in memory before they are written out: 7 KB each, 13 in the merge.
_MOST_POINTS = 40_000


def build_segments(folder: Path, batches: Iterable[Sequence[Point]]) -> None:
    """Write points into segments in `folder`, which is made; they are on disk when this returns.

    :raises StoreError: when the engine fails.
    """
    folder.mkdir(parents=True)
    with guard("make a part of the index"):
        # Nobody reads what a killed process leaves here, so it keeps no journal.
        shard = qe.EdgeShard.create(str(folder), shard_config(journal=False))
    held, counts, changes = 0, Frequencies.empty(), FrequencyChanges()
    # While the engine writes and merges, only its own form of the points is held, and not ours too.
    for batch in batches:
        changes.add(point.sparse for point in batch if point.sparse is not None)
        points = [edge_point(point) for point in batch]
        with guard("write a part of the index"):
            shard.update(qe.UpdateOperation.upsert_points(points))
        held += len(points)
        if held >= _MOST_POINTS:
            merge(shard, held)
            held = 0
            counts, changes = changes.applied_to(counts), FrequencyChanges()
    merge(shard, held)
    with guard("finish a part of the index"):
        # Once for all: with each point, and again in the merge, takes twice as long.
        index_fields(shard)
        shard.flush()
        shard.close()
    (folder / FREQUENCIES).write_bytes(changes.applied_to(counts).to_bytes())
