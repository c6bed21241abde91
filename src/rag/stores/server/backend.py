"""The points of a collection on a Qdrant server."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import qdrant_edge as qe
from qdrant_client import QdrantClient, models

from rag.stores.base.backend import REACH, Ask
from rag.stores.base.points import DENSE, SPARSE
from rag.stores.edge.conditions import Conditions
from rag.stores.server.collection import NoteCollection
from rag.stores.server.conditions import ServerConditions
from rag.stores.server.session import ServerAccess

# A server takes 32 MB a request unless told otherwise; a point of 1,024 numbers is 30 KB of JSON.
_BATCH = 100
_BATCH_CHARACTERS = 4_000_000
_OVERSAMPLING = 3.0


class ServerBackend:
    """The points of a collection.

    Writes count when the server says that they are applied. Every call may fail as
    `rag.stores.server.errors` says.

    :param access: who writes, and what was published.
    """

    conditions: Conditions = ServerConditions()

    def __init__(self, access: ServerAccess) -> None:
        self.access = access
        self.collection: NoteCollection = access.collection
        self._name = access.collection.index

    @property
    def mutex(self) -> threading.RLock:
        return self.access.mutex

    @contextmanager
    def _reading(self) -> Iterator[QdrantClient | None]:
        """Give the client, or `None` when nothing was ever written."""
        with self.mutex, self.access.answering():
            yield self.collection.client if self.access.is_readable else None

    @contextmanager
    def _writing(self) -> Iterator[QdrantClient]:
        with self.mutex:
            self.access.begin_writing()
            with self.access.answering():
                yield self.collection.client

    # -- reading -----------------------------------------------------------------------

    def expect(self, dimensions: Iterable[int]) -> None:
        pass  # a server is ready for all

    def search(self, asks: Sequence[Ask]) -> list[list[Any]]:
        requests = [self._request(ask) for ask in asks]
        with self._reading() as client:
            if client is None or not requests:
                return [[] for _ in asks]
            return [answer.points for answer in client.query_batch_points(self._name, requests)]

    def _request(self, ask: Ask) -> models.QueryRequest:
        is_dense = isinstance(ask.vector, list)
        # What quantization found roughly is scored again by the vectors themselves.
        is_rough = is_dense and self.collection.quantization_config
        rescored = models.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
        return models.QueryRequest(
            query=models.NearestQuery(nearest=_vector(ask.vector)),
            using=DENSE if is_dense else SPARSE,
            prefetch=_prefetch(ask),
            limit=ask.limit,
            filter=ask.where,
            with_payload=ask.fields,
            params=models.SearchParams(quantization=rescored) if is_rough else None,
        )

    def scroll(
        self,
        limit: int,
        offset: Any = None,
        where: Any = None,
        *,
        fields: bool | list[str] = True,
        vectors: bool = False,
    ) -> tuple[list[Any], Any]:
        with self._reading() as client:
            if client is None:
                return [], None
            return client.scroll(
                self._name,
                scroll_filter=where,
                limit=limit,
                offset=offset,
                with_payload=fields,
                with_vectors=vectors,
            )

    def newest(self, limit: int, where: Any, fields: list[str]) -> list[Any]:
        order = models.OrderBy(key="meta.created", direction=models.Direction.DESC)
        with self._reading() as client:
            if client is None:
                return []
            points, _ = client.scroll(
                self._name, scroll_filter=where, limit=limit, order_by=order, with_payload=fields
            )
            return points

    def retrieve(self, ids: Sequence[str], fields: bool = True) -> list[Any]:
        with self._reading() as client:
            if client is None or not ids:
                return []
            return client.retrieve(self._name, list(ids), with_payload=fields)

    def count(self, where: Any = None) -> int:
        with self._reading() as client:
            return client.count(self._name, count_filter=where).count if client else 0

    def dense_size(self) -> int | None:
        with self._reading() as client:
            return self.collection.dense_size() if client else None

    # -- writing -----------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        self.access.begin_writing()

    def upsert(self, points: Sequence[qe.Point]) -> None:
        for batch in _batches(points):
            with self._writing() as client:
                client.upsert(self._name, [_to_struct(point) for point in batch], wait=True)

    def delete(self, ids: Sequence[str]) -> None:
        with self._writing() as client:
            client.delete(self._name, models.PointIdsList(points=list(ids)), wait=True)

    def add_dense_space(self, size: int) -> None:
        with self._writing():
            self.collection.add_dense_space(size)

    def drop_dense_space(self) -> None:
        with self._writing() as client:
            client.delete_vector_name(self._name, DENSE, wait=True)

    def update_vectors(self, vectors: Mapping[str, list[float]]) -> None:
        changes = [
            models.PointVectors(id=key, vector={DENSE: vector}) for key, vector in vectors.items()
        ]
        for start in range(0, len(changes), _BATCH):
            with self._writing() as client:
                client.update_vectors(self._name, changes[start : start + _BATCH], wait=True)


def _prefetch(ask: Ask) -> list[models.Prefetch] | None:
    if ask.within is None:
        return None
    query = models.NearestQuery(nearest=_vector(ask.within))
    return [models.Prefetch(query=query, using=SPARSE, limit=REACH * ask.limit, filter=ask.where)]


def _batches(points: Sequence[qe.Point]) -> Iterator[list[qe.Point]]:
    """Yield points in batches that a server takes in one request."""
    batch: list[qe.Point] = []
    size = 0
    for point in points:
        batch.append(point)
        size += len(str((point.payload or {}).get("content") or ""))
        if len(batch) == _BATCH or size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _to_struct(point: qe.Point) -> models.PointStruct:
    """Convert a point of the embedded engine; all of it stays the same."""
    named: Any = point.vector
    vectors = {name: _vector(vector) for name, vector in named.items()}
    return models.PointStruct(id=str(point.id), vector=vectors, payload=point.payload)


def _vector(vector: list[float] | qe.SparseVector) -> Any:
    if isinstance(vector, list):
        return vector
    return models.SparseVector(indices=vector.indices, values=vector.values)
