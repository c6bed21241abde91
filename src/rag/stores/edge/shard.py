"""The shard: how it is laid out, a guard around every call into the engine, and segments made
apart.

A shard grows slowly: its fresh points are kept in memory until a merge writes them out, and to
give that memory back the shard must be closed, and all of it be loaded again. A segment that is
built in a folder of its own costs its own points only, and other processes can build it: this
module needs no Haystack, which would take 45 MB of the memory of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import qdrant_edge as qe

from rag.exceptions import IndexUnavailableError, RAGError
from rag.index.frequencies import dimension_counts
from rag.stores.base.points import DENSE, SPARSE, Point, checked_json

# Fields that filters select by. Without an index a filter reads every payload: 500 in 3 ms.
FILTERED = {
    "meta.vault": "keyword",
    "meta.tags": "keyword",
    "meta.file_id": "uuid",
    "meta.created": "datetime",
}
_INDEXES: dict[str, type[qe.KeywordIndexParams | qe.DatetimeIndexParams | qe.UuidIndexParams]] = {
    "keyword": qe.KeywordIndexParams,
    "uuid": qe.UuidIndexParams,
    "datetime": qe.DatetimeIndexParams,
}
# With fewer points there is only the index that gives an order: each is a file of 4 MB, of zeros
# mostly, which the engine reads through whenever it opens a shard.
INDEXED_FROM = 500
# Segments are merged as long as they are together smaller than this (some 14,000 chunks; half as
# many with embeddings of 768 numbers): a larger one would be written again and again while an index
# grows. With 600 fresh chunks a merge is due: 1 s at most.
_SEGMENT_KB = 24_000
# As many points are held in memory before they are written out: 7 KB each, 13 in the merge.
_MOST_POINTS = 40_000
POINT_LIST = "*id_tracker.mappings"  # the file that lists its points, where a segment has any


class StoreError(IndexUnavailableError):
    """The engine failed; `details` is what it said."""


@contextmanager
def guard(what: str) -> Iterator[None]:
    """Turn the engine's failures, panics included, into a `StoreError`."""
    try:
        yield
    except (RAGError, ValueError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        # A panic of the engine is a BaseException of a type that cannot be imported.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise StoreError(
                f"the index engine failed to {what}",
                str(error).split("\n")[0][:300],
                hint="If it happens again, rebuild the index with `rag index --rebuild`.",
            ) from error
        raise


def shard_config() -> qe.EdgeConfig:
    """Return how a shard is laid out. It keeps no journal: what a killed process was writing is
    written again."""
    return qe.EdgeConfig(
        sparse_vectors={SPARSE: qe.EdgeSparseVectorParams(memory=qe.Memory.Cold)},
        # No HNSW graph: an exact scan is fast enough below some 300,000 chunks, and building
        # a graph costs fifty times the rest. A low threshold lets `optimize` merge small shards.
        hnsw_config=qe.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        optimizers=qe.EdgeOptimizersConfig(
            indexing_threshold=1_000, default_segment_number=1, max_segment_size=_SEGMENT_KB
        ),
        wal_enabled=False,
    )


def index_fields(shard: qe.EdgeShard, fields: Iterable[str] = FILTERED) -> None:
    """Make the indexes of fields that filters select by, where they are missing."""
    for field in fields:
        params = _INDEXES[FILTERED[field]](memory=qe.Memory.Cold)
        shard.update(qe.UpdateOperation.create_field_index(field, params))


def create_shard(path: Path) -> qe.EdgeShard:
    """Make an empty shard with the lexical space; the dense one comes with the first embedding."""
    path.mkdir(parents=True)
    with guard("make a shard"):
        shard = qe.EdgeShard.create(str(path), shard_config())
        index_fields(shard, ["meta.created"])
        return shard


def edge_point(point: Point) -> qe.Point:
    """Convert a point for the engine.

    :raises ValueError: for text that is no Unicode.
    """
    vectors: dict[str, Any] = {}
    if point.embeddings:
        vectors[DENSE] = point.embeddings
    if point.sparse is not None:
        vectors[SPARSE] = qe.SparseVector(point.sparse.indices, point.sparse.values)
    try:
        return qe.Point(point.id, vectors, point.payload)
    except TypeError:
        checked_json(point.id, point.payload)  # says it in fewer words
        raise


def load_shard(path: Path) -> qe.EdgeShard:
    """Open a shard that no other process has open for writing."""
    with guard("open the index"):
        return qe.EdgeShard.load(str(path))


def merge(shard: qe.EdgeShard) -> None:
    """Merge what is due."""
    with guard("merge the index"):
        shard.optimize()


def count_points(shard: qe.EdgeShard) -> int:
    """Return how many points a shard holds."""
    with guard("count"):
        return shard.info().points_count


# -- segments made apart ---------------------------------------------------------------


def build_segments(folder: Path, batches: Iterable[Sequence[Point]]) -> Counter[int]:
    """Write points into segments in `folder`, which is made; they are on disk when this returns.
    Return how many of them each dimension has, from `dimension_counts`.

    :raises StoreError: when the engine fails.
    """
    folder.mkdir(parents=True)
    with guard("make a part of the index"):
        shard = qe.EdgeShard.create(str(folder), shard_config())
    held, counts = 0, Counter[int]()
    # While the engine writes and merges, only its own form of the points is held, and not ours too.
    for batch in batches:
        counts.update(dimension_counts(point.sparse for point in batch))
        points = [edge_point(point) for point in batch]
        with guard("write a part of the index"):
            shard.update(qe.UpdateOperation.upsert_points(points))
        held += len(points)
        if held >= _MOST_POINTS:
            merge(shard)
            held = 0
    merge(shard)
    with guard("finish a part of the index"):
        # Once for all: with each point, and again in the merge, takes twice as long.
        index_fields(shard)
        shard.flush()
        shard.close()
    return counts
