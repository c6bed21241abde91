"""The points of a collection on a Qdrant server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from qdrant_client import QdrantClient, models

from rag.stores.base.backend import PREFETCH_FACTOR, Fields, PointQuery
from rag.stores.base.conditions import Condition
from rag.stores.base.points import DENSE, SPARSE, Point, checked_json, from_record, from_scored
from rag.stores.server.collection import NoteCollection
from rag.stores.server.conditions import server_filter
from rag.stores.server.session import ServerAccess
from rag.text.bm25 import SparseVector

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

    def __init__(self, access: ServerAccess) -> None:
        self.access = access
        self.collection: NoteCollection = access.collection
        self._name = access.collection.index

    @contextmanager
    def _reading(self) -> Iterator[QdrantClient | None]:
        """Give the client, or `None` when nothing was ever written."""
        with self.access.mutex, self.access.answering():
            yield self.collection.client if self.access.is_readable else None

    @contextmanager
    def _writing(self) -> Iterator[QdrantClient]:
        with self.access.mutex:
            self.access.begin_step()
            with self.access.answering():
                yield self.collection.client

    # -- reading -----------------------------------------------------------------------

    def expect(self, dimensions: Iterable[int]) -> None:
        pass  # a server is ready for all

    def search(self, queries: Sequence[PointQuery]) -> list[list[Point]]:
        requests = [self._request(query) for query in queries]
        with self._reading() as client:
            if client is None or not requests:
                return [[] for _ in queries]
            answers = client.query_batch_points(self._name, requests)
            return [[from_scored(point) for point in answer.points] for answer in answers]

    def _request(self, query: PointQuery) -> models.QueryRequest:
        is_dense = isinstance(query.vector, list)
        # What quantization found roughly is scored again by the vectors themselves.
        is_rough = is_dense and self.collection.quantization_config
        rescored = models.QuantizationSearchParams(rescore=True, oversampling=_OVERSAMPLING)
        return models.QueryRequest(
            query=models.NearestQuery(nearest=_vector(query.vector)),
            using=DENSE if is_dense else SPARSE,
            prefetch=_prefetch(query),
            limit=query.limit,
            filter=server_filter(query.where),
            with_payload=query.fields,
            params=models.SearchParams(quantization=rescored) if is_rough else None,
        )

    def scroll(
        self,
        limit: int,
        offset: str | None = None,
        where: Condition | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        selected = server_filter(where)
        with self._reading() as client:
            if client is None:
                return [], None
            found, following = client.scroll(
                self._name,
                scroll_filter=selected,
                limit=limit,
                offset=offset,
                with_payload=fields,
                with_vectors=vectors,
            )
            points = [from_record(record) for record in found]
            return points, None if following is None else str(following)

    def newest(self, limit: int, where: Condition | None, fields: list[str]) -> list[Point]:
        selected = server_filter(where)
        order = models.OrderBy(key="meta.created", direction=models.Direction.DESC)
        with self._reading() as client:
            if client is None:
                return []
            found, _ = client.scroll(
                self._name, scroll_filter=selected, limit=limit, order_by=order, with_payload=fields
            )
            return [from_record(record) for record in found]

    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: bool = False
    ) -> list[Point]:
        with self._reading() as client:
            if client is None or not ids:
                return []
            found = client.retrieve(
                self._name,
                list(ids),
                with_payload=fields,
                with_vectors=[SPARSE] if vectors else False,
            )
            return [from_record(record) for record in found]

    def count(self, where: Condition | None = None) -> int:
        selected = server_filter(where)
        with self._reading() as client:
            return client.count(self._name, count_filter=selected).count if client else 0

    def dense_size(self) -> int | None:
        with self._reading() as client:
            return self.collection.dense_size() if client else None

    # -- writing -----------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        self.access.begin_writing()

    def upsert(self, points: Sequence[Point]) -> None:
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


def _prefetch(query: PointQuery) -> list[models.Prefetch] | None:
    if query.prefetch is None:
        return None
    return [
        models.Prefetch(
            query=models.NearestQuery(nearest=_vector(query.prefetch)),
            using=SPARSE,
            limit=PREFETCH_FACTOR * query.limit,
            filter=server_filter(query.where),
        )
    ]


def _batches(points: Sequence[Point]) -> Iterator[list[Point]]:
    """Yield points in batches that a server takes in one request."""
    batch: list[Point] = []
    size = 0
    for point in points:
        batch.append(point)
        size += len(str(point.payload.get("content") or ""))
        if len(batch) == _BATCH or size > _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _to_struct(point: Point) -> models.PointStruct:
    """Convert a point for the client.

    :raises ValueError: for text that is no Unicode, which the client would fail to send.
    """
    checked_json(point.id, point.payload)
    vectors = {DENSE: point.dense, SPARSE: point.sparse}
    named = {name: _vector(v) for name, v in vectors.items() if v is not None}
    return models.PointStruct(id=point.id, vector=named, payload=point.payload)


def _vector(vector: list[float] | SparseVector) -> Any:
    if isinstance(vector, list):
        return vector
    return models.SparseVector(indices=vector.indices, values=vector.values)
