"""The points of a shard of the embedded engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import qdrant_edge as qe

from rag.index.shard_files import dense_size
from rag.index.snapshots import SHARD
from rag.stores.base.backend import Fields, PointQuery
from rag.stores.base.points import DENSE, SPARSE, Filter, Point
from rag.stores.edge.conditions import edge_filter
from rag.stores.edge.points import edge_point, from_record, from_scored
from rag.stores.edge.session import ShardAccess
from rag.stores.edge.shard import add_dense_space, drop_dense_space, guard
from rag.text.bm25 import SparseVector

_BATCH = 1000


class ShardBackend:
    """The points of the shard that `access` opens.

    :param access: whose shard is read and written.
    :param similarity: how embeddings are compared: `cosine`, `dot_product` or `l2`.
    :param is_quantized: keep them in 8 bits a number.
    """

    def __init__(self, access: ShardAccess, similarity: str, is_quantized: bool) -> None:
        self.access = access
        self.similarity = similarity
        self.is_quantized = is_quantized

    @contextmanager
    def _reading(
        self, what: str, dimensions: frozenset[int] = frozenset()
    ) -> Iterator[qe.EdgeShard | None]:
        with self.access.mutex, guard(what):
            yield self.access.shard(dimensions)

    # -- reading -----------------------------------------------------------------------

    def expect(self, dimensions: Iterable[int]) -> None:
        with self._reading("open the index", frozenset(dimensions)):
            pass

    def search(self, queries: Sequence[PointQuery]) -> list[list[Point]]:
        requests = [_request(query) for query in queries]
        with self._reading("search", _dimensions(queries)) as shard:
            if shard is None or not requests:
                return [[] for _ in queries]
            found = shard.query_batch(qe.QueryBatchRequest(requests))
            return [[from_scored(point) for point in points] for points in found]

    def scroll(
        self,
        limit: int,
        offset: str | None = None,
        where: Filter | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        request = qe.ScrollRequest(
            offset=offset,
            limit=limit,
            filter=edge_filter(where),
            with_payload=fields,
            with_vector=vectors,
        )
        with self._reading("read documents") as shard:
            found, following = shard.scroll(request) if shard else ([], None)
            points = [from_record(record) for record in found]
            return points, None if following is None else str(following)

    def newest(self, limit: int, where: Filter | None, fields: list[str]) -> list[Point]:
        request = qe.ScrollRequest(
            limit=limit,
            filter=edge_filter(where),
            with_payload=fields,
            order_by=qe.OrderBy("meta.created", qe.Direction.Desc),
        )
        with self._reading("list documents") as shard:
            found = shard.scroll(request)[0] if shard else []
            return [from_record(record) for record in found]

    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        wanted: list[Any] = list(ids)
        with self._reading("read documents") as shard:
            asked = list(vectors) or False
            found = shard.retrieve(wanted, fields, asked) if shard and wanted else []
            return [from_record(record) for record in found]

    def count(self, where: Filter | None = None) -> int:
        request = qe.CountRequest(filter=edge_filter(where))
        with self._reading("count") as shard:
            return shard.count(request) if shard else 0

    # -- writing -----------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        with self.access.mutex:
            self.access.work()
            self.access.directory.require_reserve(size)

    def upsert(self, points: Sequence[Point]) -> None:
        converted = [edge_point(point) for point in points]
        with self.access.mutex, guard("write documents"):
            for start in range(0, len(converted), _BATCH):
                batch = converted[start : start + _BATCH]
                self.access.work().update(qe.UpdateOperation.upsert_points(batch))
                self.access.count_written(len(batch))

    def delete(self, ids: Sequence[str]) -> None:
        wanted: list[Any] = list(ids)
        with self.access.mutex, guard("delete documents"):
            self.access.work().update(qe.UpdateOperation.delete_points(wanted))

    def dense_size(self) -> int | None:
        with self.access.mutex:
            home = self.access.home()
            if home is None:
                return None
            return dense_size(home / SHARD, DENSE)

    def add_dense_space(self, size: int) -> None:
        add_dense_space(self.access.work(), size, self.similarity, self.is_quantized)

    def drop_dense_space(self) -> None:
        with self.access.mutex:
            drop_dense_space(self.access.work())
            # Its files go with the next merge, its size only when the shard is closed.
            self.access.close_work()

    def update_vectors(self, vectors: Mapping[str, list[list[float]]]) -> None:
        changes: list[qe.PointVectors] = []
        for key, vector in vectors.items():
            identity: Any = key
            changes.append(qe.PointVectors(identity, {DENSE: vector}))
        with self.access.mutex, guard("write embeddings"):
            self.access.work().update(qe.UpdateOperation.update_vectors(changes))
            self.access.count_written(len(changes))


def _dimensions(queries: Sequence[PointQuery]) -> frozenset[int]:
    """Return the dimensions of the lexical space that queries have."""
    vectors = [query.vector for query in queries if not isinstance(query.vector, list)]
    return frozenset(dimension for vector in vectors for dimension in vector.indices)


def _request(query: PointQuery) -> qe.QueryRequest:
    return qe.QueryRequest(
        limit=query.limit,
        query=_nearest(query.vector),
        filter=edge_filter(query.where),
        with_payload=query.fields,
    )


def _nearest(vector: list[float] | SparseVector) -> qe.Query:
    if isinstance(vector, list):
        return qe.Query.Nearest(vector, using=DENSE)
    return qe.Query.Nearest(qe.SparseVector(vector.indices, vector.values), using=SPARSE)
