"""`QdrantEdgeDocumentStore`, a Haystack document store on Qdrant Edge, in process; and segments of
its index made by other processes."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import qdrant_edge as qe

from rag.config import StoreConfig
from rag.exceptions import IndexUnavailableError, RAGError
from rag.index.shard_files import CONFIG, SEGMENT, SEGMENTS, first_cut
from rag.index.snapshots import SHARD, IndexDirectory, IndexSnapshot, damaged_index
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import (
    DENSE,
    FILTERED,
    SPARSE,
    Filter,
    Page,
    Point,
    Search,
    StoreError,
)
from rag.stores.edge.narrow_shard import openable, sort_tables
from rag.support.disk_space import disk_full, is_of_full_disk
from rag.support.process_exit import keep
from rag.text.bm25 import SparseVector

_BATCH = 1000
_NOBODY = "00000000-0000-0000-0000-000000000000"
_Change = qe.UpdateOperation
# Fresh points are indexed in memory, some 15 KB each, until a merge writes them out, and the
# engine gives back what it mapped and allocated only when the shard is closed: merging and
# reopening as points come keeps the writer's memory low.
_MERGE_EVERY = 8_000
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


class QdrantEdgeDocumentStore(BaseDocumentStore):
    """A document store in a folder.

    :param path: the folder of the index.
    :param is_quantized: keep embeddings in 8 bits a number: a quarter of the disk.
    :param directory: the folder, where the caller holds its lock already.
    """

    collection_name = StoreConfig.collection

    def __init__(
        self, path: str, is_quantized: bool = False, directory: IndexDirectory | None = None
    ) -> None:
        super().__init__(directory or IndexDirectory(path))
        self.is_quantized = is_quantized
        self._work: qe.EdgeShard | None = None
        self._unmerged = 0
        # The snapshot's shard: opened for the words of a query, and for all when others are asked
        # for. The last is read; to close one takes longer than reading, so that both stay.
        self._readers: list[qe.EdgeShard] = []
        self._dimensions: frozenset[int] | None = None  # of the last one; `None` for all

    def to_dict(self) -> dict[str, Any]:
        from haystack import default_to_dict

        return default_to_dict(self, path=self.path, is_quantized=self.is_quantized)

    # -- the staging shard -------------------------------------------------------------

    def work(self) -> qe.EdgeShard:
        """Return the staging shard, opened for writing.

        :raises LockedError: when another process is writing.
        """
        with self.mutex:
            if self._work is None:
                self.begin_writing()
                self.directory.require_reserve()
                self._close_reader()
                path = self.directory.begin_work() / SHARD
                self._work = load_shard(path) if path.exists() else create_shard(path)
            return self._work

    def _change(self, what: str, operation: qe.UpdateOperation, points: int = 0) -> None:
        """Change the staging shard; merge when enough points were written."""
        with self.mutex, guard(what):
            self.directory.require_reserve()
            self.work().update(operation)
            self._unmerged += points
            if self._unmerged >= _MERGE_EVERY:
                self._merge()
                self.close_work()

    def _merge(self) -> None:
        with guard("merge the index"):
            if self.count_points() >= INDEXED_FROM:
                index_fields(self.work())
            self.work().optimize()
        self._unmerged = 0

    def close_work(self) -> None:
        """Flush and close the staging shard; the lock is kept."""
        with self.mutex:
            if self._work is not None:
                shard, self._work = self._work, None
                with guard("flush the index"):
                    shard.flush()  # close() swallows what goes wrong here
                    shard.close()

    def release(self) -> None:
        super().release()
        self.close_work()

    def _complete_points(self) -> int:
        self._merge()
        return self.count_points()

    def _publish(self, number: int, points: int) -> None:
        """Make the staging shard the current snapshot, if it can be read as one."""
        self.close_work()
        path = self.directory.work / SHARD
        self.directory.require_reserve()
        sort_tables(path)
        shard = load_shard(path)  # for the first time since it was filled: files of it change
        self._require_points(shard, points)
        shard.close()
        self.directory.publish(number)

    @property
    def reads_work(self) -> bool:
        return self._writing is not None and self.directory.has_work

    # -- the shard to read -------------------------------------------------------------

    @contextmanager
    def _reading(
        self, what: str, dimensions: frozenset[int] = frozenset()
    ) -> Iterator[qe.EdgeShard | None]:
        """Yield the shard to read, `None` when nothing was ever written."""
        with self.mutex, guard(what):
            if self.reads_work:
                yield self.work()
            elif snapshot := self._hold():
                missing = self._dimensions is not None and not dimensions <= self._dimensions
                if missing or not self._readers:
                    self._open_reader(snapshot, None if missing else dimensions)
                yield self._readers[-1]
            else:
                yield None

    def _open_reader(self, snapshot: IndexSnapshot, dimensions: frozenset[int] | None) -> None:
        folder = shard = snapshot.path / SHARD
        try:
            if name := first_cut(snapshot.path):
                raise ValueError(f"{snapshot.path.name}/{name}")
            with openable(shard, dimensions) as (folder, is_narrow):
                self._readers.append(load_shard(folder))
            self._dimensions = dimensions if is_narrow else None
            points = int(self._manifest_of(snapshot).get("points"))
            self._require_points(self._readers[-1], points)
        except (IndexUnavailableError, OSError, ValueError, sqlite3.DatabaseError) as error:
            self._close_reader()
            if is_of_full_disk(error):
                raise disk_full(self.directory.path, details=str(error)) from error
            if isinstance(error, IndexUnavailableError) and not isinstance(error, StoreError):
                raise
            why = str(error).replace(str(folder), str(shard))
            raise damaged_index(self.directory.path, why) from error

    def _require_points(self, shard: qe.EdgeShard, expected: int) -> None:
        """Make sure that a shard holds what was published."""
        with guard("count"):
            count = shard.info().points_count
        if count != expected:
            raise damaged_index(self.directory.path, f"{count} of {expected} points")

    def _close_reader(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers, self._dimensions = [], None
        super()._close_reader()

    def close(self) -> None:
        with self.mutex:
            if keep(*self._readers):  # nobody asks them any more: a writer may remove their files
                self._readers = []
            super().close()

    # -- reading points ----------------------------------------------------------------

    def expect(self, dimensions: Iterable[int]) -> None:
        with self._reading("open the index", frozenset(dimensions)):
            pass

    def search_points(self, searches: Sequence[Search]) -> list[list[Point]]:
        requests, dimensions = [], set[int]()
        for vector, limit, where, fields in searches:
            if isinstance(vector, SparseVector):
                dimensions.update(vector.indices)
                words = qe.SparseVector(vector.indices, vector.values)
                query = qe.Query.Nearest(words, using=SPARSE)
            else:
                query = qe.Query.Nearest(vector, using=DENSE)
            wanted: Any = {"filter": edge_filter(where), "with_payload": fields}
            requests.append(qe.QueryRequest(limit=limit, query=query, **wanted))
        with self._reading("search", frozenset(dimensions)) as shard:
            if shard is None:
                return [[] for _ in searches]
            return [
                [Point(str(hit.id), hit.payload or {}, score=hit.score) for hit in hits]
                for hits in shard.query_batch(qe.QueryBatchRequest(requests))
            ]

    def read_page(self, page: Page) -> tuple[list[Point], str | None]:
        request = qe.ScrollRequest(
            offset=page.offset,
            limit=page.limit,
            filter=edge_filter(page.where),
            with_payload=page.fields,
            with_vector=page.vectors,
            order_by=qe.OrderBy(page.newest, qe.Direction.Desc) if page.newest else None,
        )
        with self._reading("read documents") as shard:
            records, following = shard.scroll(request) if shard else ([], None)
            return [*map(_from_record, records)], None if following is None else str(following)

    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        with self._reading("read documents") as shard:
            if shard is None or not ids:
                return []
            return [*map(_from_record, shard.retrieve([*ids], fields, [*vectors] or False))]

    def count_points(self, where: Filter | None = None) -> int:
        request = qe.CountRequest(filter=edge_filter(where))
        with self._reading("count") as shard:
            return shard.count(request) if shard else 0

    @property
    def embedding_dim(self) -> int | None:
        with self.mutex:
            snapshot = None if self.reads_work else self._hold()
            if not (snapshot or self.reads_work):
                return None
            home = snapshot.path if snapshot else self.directory.work
            spaces = json.loads((home / SHARD / CONFIG).read_bytes()).get("vectors", {})
            return spaces[DENSE]["size"] if DENSE in spaces else None

    # -- writing points ----------------------------------------------------------------

    def upsert(self, points: Sequence[Point]) -> None:
        converted = [edge_point(point) for point in points]
        for start in range(0, len(converted), _BATCH):
            batch = converted[start : start + _BATCH]
            self._change("write documents", _Change.upsert_points(batch), len(batch))

    def delete_points(self, ids: Sequence[str]) -> None:
        self._change("delete documents", _Change.delete_points([*ids]))

    def update_vectors(self, vectors: Mapping[str, list[list[float]]]) -> None:
        changes = [qe.PointVectors(key, {DENSE: rows}) for key, rows in vectors.items()]
        self._change("write embeddings", _Change.update_vectors(changes), len(changes))

    def add_dense_space(self, size: int) -> None:
        kind = qe.VectorStorageDatatype.Turbo8 if self.is_quantized else None  # .001 off at most
        nearest = qe.MultiVectorConfig(qe.MultiVectorComparator.MaxSim)
        space = _Change.create_dense_vector(DENSE, size, qe.Distance.Cosine, nearest, kind)
        self._change("add the embedding space", space)

    def drop_dense_space(self) -> None:
        with self.mutex:
            self._change("drop the embedding space", _Change.delete_vector_name(DENSE))
            # Its files go with the next merge, its size only when the shard is closed.
            self.close_work()

    def import_segments(self, folder: Path, counts: Counter[int]) -> None:
        """Move what `build_segments` wrote into the staging shard; the folder goes.

        No point of it may be there already.

        :param counts: of its points, from `dimension_counts`.
        """
        with self.mutex:
            self.begin_writing()
            self.directory.begin_work()
            self._changes.update(counts)
            # The one without points, for more to come, would have the others merged with it.
            segments = [s for s in (folder / SEGMENTS).iterdir() if any(s.glob(POINT_LIST))]
            # A point knows the number of the operation that wrote it, and the engine passes over
            # operations of lower numbers: a later change of an imported point would be lost.
            states = (json.loads((segment / SEGMENT).read_bytes()) for segment in segments)
            for _ in range(max((state["version"] for state in states), default=0)):
                self.delete_points([_NOBODY])
            self.close_work()
            for segment in segments:
                segment.rename(self.directory.work / SHARD / SEGMENTS / segment.name)
        shutil.rmtree(folder)


def _from_record(record: Any) -> Point:
    vectors = record.vector or {}
    words = vectors.get(SPARSE)
    sparse = None if words is None else SparseVector(words.indices, words.values)
    return Point(str(record.id), record.payload or {}, vectors.get(DENSE), sparse)


def edge_filter(where: Filter | None) -> Any:
    """Return a filter in JSON, or a condition of one, as the engine takes it."""
    match where:
        case None:
            return None
        case {"has_id": ids}:
            return qe.HasIdCondition({*ids})
        case {"has_vector": name}:
            return qe.HasVectorCondition(name)
        case {"is_empty": {"key": path}}:
            return qe.IsEmptyCondition(path)
        case {"key": path, "match": {"value": value}}:
            return qe.FieldCondition(path, match=qe.MatchValue(value))
        case {"key": path, "match": {"any": values}}:
            return qe.FieldCondition(path, match=qe.MatchAny(values))
        case {"key": path, "range": bounds}:
            is_of_dates = isinstance(next(iter(bounds.values())), str)
            kind = qe.RangeDateTime if is_of_dates else qe.RangeFloat
            return qe.FieldCondition(path, range=kind(**bounds))
    lists: dict[str, Any] = {how: [*map(edge_filter, of)] for how, of in where.items()}
    return qe.Filter(**lists) if where else None


# -- the shard --------------------------------------------------------------------------


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
    from concurrent.futures import ThreadPoolExecutor  # a search does without it

    def index(field: str) -> None:
        params = _INDEXES[FILTERED[field]](memory=qe.Memory.Cold)
        shard.update(qe.UpdateOperation.create_field_index(field, params))

    # Each waits for the disk most of its time: one after the other they take a third longer.
    with ThreadPoolExecutor(len(FILTERED)) as pool:
        deque(pool.map(index, fields), maxlen=0)  # which raises what went wrong


def create_shard(path: Path) -> qe.EdgeShard:
    """Make an empty shard with the lexical space; the dense one comes with the first embedding."""
    path.mkdir(parents=True)
    with guard("make a shard"):
        shard = qe.EdgeShard.create(str(path), shard_config())
        index_fields(shard, ["meta.created"])
        return shard


def edge_point(point: Point) -> qe.Point:
    """Convert a point for the engine."""
    vectors: dict[str, Any] = {}
    if point.embeddings:
        vectors[DENSE] = point.embeddings
    if point.sparse is not None:
        vectors[SPARSE] = qe.SparseVector(point.sparse.indices, point.sparse.values)
    return qe.Point(point.id, vectors, point.payload)


def load_shard(path: Path) -> qe.EdgeShard:
    """Open a shard that no other process has open for writing."""
    with guard("open the index"):
        return qe.EdgeShard.load(str(path))


def build_segments(folder: Path, batches: Iterable[Sequence[Point]]) -> None:
    """Write points into segments in `folder`, which is made; they are on disk when this returns.

    Unlike a shard that grows, such segments need memory for their own points alone, and other
    processes can build them.
    """
    folder.mkdir(parents=True)
    held = 0
    with guard("make a part of the index"):
        shard = qe.EdgeShard.create(str(folder), shard_config())
        # While it writes and merges, only its own form of the points is held, and not ours too.
        for batch in batches:
            points = [edge_point(point) for point in batch]
            shard.update(qe.UpdateOperation.upsert_points(points))
            held += len(points)
            if held >= _MOST_POINTS:
                shard.optimize()
                held = 0
        shard.optimize()
        # Once for all: with each point, and again in the merge, takes twice as long.
        index_fields(shard)
        shard.flush()
        shard.close()
