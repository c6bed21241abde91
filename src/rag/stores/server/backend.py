"""The points of a collection on a Qdrant server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rag.stores.base.backend import Fields, PointQuery
from rag.stores.base.conditions import Condition
from rag.stores.base.points import DENSE, SENTENCES, SPARSE, Point, checked_json, dense_vectors
from rag.stores.server.conditions import server_filter
from rag.stores.server.session import ServerAccess
from rag.text.bm25 import SparseVector

# A server takes 32 MB a request unless told otherwise; a point of 1,024 numbers is 30 KB of JSON.
_BATCH = 100
_BATCH_CHARACTERS = 4_000_000
_OVERSAMPLING = 3.0

Json = dict[str, Any]


class ServerBackend:
    """The points of a collection.

    Writes count when the server says that they are applied. Every call may fail as
    `rag.stores.server.errors` says.

    :param access: who asks the server, who writes, and what was published.
    """

    def __init__(self, access: ServerAccess) -> None:
        self.access = access
        self._is_quantized = access.settings.quantization != "none"

    @contextmanager
    def _reading(self) -> Iterator[bool]:
        """Tell whether anything was ever written."""
        with self.access.mutex, self.access.answering():
            yield self.access.is_readable

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self.access.mutex:
            self.access.begin_step()
            with self.access.answering():
                yield

    # -- reading -----------------------------------------------------------------------

    def expect(self, dimensions: Iterable[int]) -> None:
        pass  # a server is ready for all

    def search(self, queries: Sequence[PointQuery]) -> list[list[Point]]:
        searches = [self._request(query) for query in queries]
        with self._reading() as is_there:
            if not (is_there and searches):
                return [[] for _ in queries]
            answers = self.access.ask("POST", "/points/query/batch", {"searches": searches})
            pairs = zip(queries, answers, strict=True)
            return [[_from_json(found) for found in answer["points"]] for _, answer in pairs]

    def _request(self, query: PointQuery) -> Json:
        where, is_dense = server_filter(query.where), isinstance(query.vector, list)
        request: Json = {
            "query": {"nearest": _vector(query.vector, query.space)},
            "using": query.space if is_dense else SPARSE,
            "limit": query.limit,
            "with_payload": query.fields,
        }
        if where is not None:
            request["filter"] = where
        # What quantization found roughly is scored again by the vectors themselves.
        if is_dense and self._is_quantized:
            rescored = {"rescore": True, "oversampling": _OVERSAMPLING}
            request["params"] = {"quantization": rescored}
        return request

    def scroll(
        self,
        limit: int,
        offset: str | None = None,
        where: Condition | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        body: Json = {"filter": server_filter(where), "limit": limit, "offset": offset}
        body |= {"with_payload": fields, "with_vector": vectors}
        with self._reading() as is_there:
            if not is_there:
                return [], None
            answer = self.access.ask("POST", "/points/scroll", body)
            following = answer.get("next_page_offset")
            return _points(answer), None if following is None else str(following)

    def newest(self, limit: int, where: Condition | None, fields: list[str]) -> list[Point]:
        body: Json = {"filter": server_filter(where), "limit": limit, "with_payload": fields}
        body["order_by"] = {"key": "meta.created", "direction": "desc"}
        with self._reading() as is_there:
            if not is_there:
                return []
            return _points(self.access.ask("POST", "/points/scroll", body))

    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        body: Json = {"ids": list(ids), "with_payload": fields}
        body["with_vector"] = list(vectors) or False
        with self._reading() as is_there:
            if not (is_there and ids):
                return []
            return [_from_json(found) for found in self.access.ask("POST", "/points", body)]

    def count(self, where: Condition | None = None) -> int:
        selected = server_filter(where)
        with self._reading() as is_there:
            return self.access.count(selected) if is_there else 0

    def dense_size(self, space: str = DENSE) -> int | None:
        with self._reading() as is_there:
            return self.access.layout().sizes.get(space) if is_there else None

    # -- writing -----------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        self.access.begin_writing()

    def upsert(self, points: Sequence[Point]) -> None:
        for batch in _batches(points):
            with self._writing():
                self.access.write("PUT", "/points", {"points": list(map(_to_json, batch))})

    def delete(self, ids: Sequence[str]) -> None:
        with self._writing():
            self.access.delete(ids)

    def add_dense_space(self, size: int) -> None:
        with self._writing():
            self.access.collection.add_dense_space(size)

    def drop_dense_space(self) -> None:
        with self._writing():
            for name in self.access.layout().sizes:
                self.access.write("DELETE", f"/vectors/{name}")

    def update_vectors(self, vectors: Mapping[str, list[list[float]]]) -> None:
        changes = [{"id": key, "vector": dense_vectors(rows)} for key, rows in vectors.items()]
        for start in range(0, len(changes), _BATCH):
            with self._writing():
                batch = {"points": changes[start : start + _BATCH]}
                self.access.write("PUT", "/points/vectors", batch)


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


def _to_json(point: Point) -> Json:
    """Convert a point for the server.

    :raises ValueError: for text that is no Unicode, which could not be sent.
    """
    checked_json(point.id, point.payload)
    named: Json = {} if point.dense is None else dense_vectors([point.dense])
    if point.sparse is not None:
        named[SPARSE] = _vector(point.sparse)
    return {"id": point.id, "vector": named, "payload": point.payload}


def _vector(vector: list[float] | SparseVector, space: str = DENSE) -> Any:
    if isinstance(vector, list):
        return [vector] if space == SENTENCES else vector
    return {"indices": vector.indices, "values": vector.values}


def _points(answer: Any) -> list[Point]:
    return [_from_json(found) for found in answer["points"]]


def _from_json(found: Any) -> Point:
    """Convert what the server found, with its vectors where they were asked for."""
    vectors = found.get("vector") or {}
    sparse = vectors.get(SPARSE)
    own = None if sparse is None else SparseVector(sparse["indices"], sparse["values"])
    identity, payload = str(found["id"]), found.get("payload") or {}
    dense, score, sentences = vectors.get(DENSE), found.get("score", 0.0), vectors.get(SENTENCES)
    return Point(identity, payload, dense, own, score, sentences)
