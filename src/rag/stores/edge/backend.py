"""The points of a shard of the embedded engine."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import qdrant_edge as qe

from rag.index.shard_files import dense_size
from rag.index.snapshots import SHARD
from rag.stores.base.backend import REACH, Ask
from rag.stores.base.points import DENSE, SPARSE
from rag.stores.edge.conditions import Conditions, EdgeConditions
from rag.stores.edge.session import ShardAccess
from rag.stores.edge.shard import add_dense_space, drop_dense_space, guard

_BATCH = 1000


class ShardBackend:
    """The points of the shard that `access` opens.

    :param access: whose shard is read and written.
    :param similarity: how embeddings are compared: `cosine`, `dot_product` or `l2`.
    :param half_precision: keep them in 16 bits a number.
    """

    conditions: Conditions = EdgeConditions()

    def __init__(self, access: ShardAccess, similarity: str, half_precision: bool) -> None:
        self.access = access
        self.similarity = similarity
        self.half_precision = half_precision

    @property
    def mutex(self) -> threading.RLock:
        return self.access.mutex

    @contextmanager
    def _reading(
        self, what: str, dimensions: frozenset[int] = frozenset()
    ) -> Iterator[qe.EdgeShard | None]:
        with self.mutex, guard(what):
            yield self.access.shard(dimensions)

    # -- reading -----------------------------------------------------------------------

    def expect(self, dimensions: Iterable[int]) -> None:
        with self._reading("open the index", frozenset(dimensions)):
            pass

    def search(self, asks: Sequence[Ask]) -> list[list[Any]]:
        requests = [_request(ask) for ask in asks]
        with self._reading("search", _dimensions(asks)) as shard:
            if shard is None:
                return [[] for _ in asks]
            return shard.query_batch(qe.QueryBatchRequest(requests)) if requests else []

    def scroll(
        self,
        limit: int,
        offset: Any = None,
        where: Any = None,
        *,
        fields: bool | list[str] = True,
        vectors: bool = False,
    ) -> tuple[list[Any], Any]:
        request = qe.ScrollRequest(
            offset=offset, limit=limit, filter=where, with_payload=fields, with_vector=vectors
        )
        with self._reading("read documents") as shard:
            return shard.scroll(request) if shard else ([], None)

    def newest(self, limit: int, where: Any, fields: list[str]) -> list[Any]:
        request = qe.ScrollRequest(
            limit=limit,
            filter=where,
            with_payload=fields,
            order_by=qe.OrderBy("meta.created", qe.Direction.Desc),
        )
        with self._reading("list documents") as shard:
            return shard.scroll(request)[0] if shard else []

    def retrieve(self, ids: Sequence[str], fields: bool = True) -> list[Any]:
        wanted: list[Any] = list(ids)
        with self._reading("read documents") as shard:
            return shard.retrieve(wanted, fields, False) if shard and wanted else []

    def count(self, where: Any = None) -> int:
        with self._reading("count") as shard:
            return shard.count(qe.CountRequest(filter=where)) if shard else 0

    # -- writing -----------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        with self.mutex:
            self.access.work()
            self.access.directory.require_reserve(size)

    def upsert(self, points: Sequence[qe.Point]) -> None:
        with self.mutex, guard("write documents"):
            for start in range(0, len(points), _BATCH):
                batch = list(points[start : start + _BATCH])
                self.access.work().update(qe.UpdateOperation.upsert_points(batch))
                self.access.count_written(len(batch))

    def delete(self, ids: Sequence[str]) -> None:
        wanted: list[Any] = list(ids)
        with self.mutex, guard("delete documents"):
            self.access.work().update(qe.UpdateOperation.delete_points(wanted))

    def dense_size(self) -> int | None:
        with self.mutex:
            home = self.access.home()
            if home is None:
                return None
            return dense_size(home / SHARD, DENSE)

    def add_dense_space(self, size: int) -> None:
        add_dense_space(self.access.work(), size, self.similarity, self.half_precision)

    def drop_dense_space(self) -> None:
        with self.mutex:
            drop_dense_space(self.access.work())
            # Its files go with the next merge, its size only when the shard is closed.
            self.access.close_work()

    def update_vectors(self, vectors: Mapping[str, list[float]]) -> None:
        changes: list[qe.PointVectors] = []
        for key, vector in vectors.items():
            identity: Any = key
            changes.append(qe.PointVectors(identity, {DENSE: vector}))
        with self.mutex, guard("write embeddings"):
            self.access.work().update(qe.UpdateOperation.update_vectors(changes))
            self.access.count_written(len(changes))


def _dimensions(asks: Sequence[Ask]) -> frozenset[int]:
    """Return the dimensions of the lexical space that queries have; `within` has no others."""
    vectors = [ask.vector for ask in asks if not isinstance(ask.vector, list)]
    return frozenset(dimension for vector in vectors for dimension in vector.indices)


def _request(ask: Ask) -> qe.QueryRequest:
    return qe.QueryRequest(
        limit=ask.limit,
        query=_nearest(ask.vector),
        prefetches=[
            qe.Prefetch(limit=REACH * ask.limit, query=_nearest(ask.within), filter=ask.where)
        ]
        if ask.within
        else None,
        filter=ask.where,
        with_payload=ask.fields,
    )


def _nearest(vector: list[float] | qe.SparseVector) -> qe.Query:
    return qe.Query.Nearest(vector, using=DENSE if isinstance(vector, list) else SPARSE)
