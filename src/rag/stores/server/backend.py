"""The points of a collection on a Qdrant server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rag.stores.base.backend import Fields, PointQuery
from rag.stores.base.points import DENSE, SPARSE, Filter, Point, checked_json
from rag.stores.server.rest import encoded, to_json
from rag.stores.server.session import ServerAccess
from rag.text.bm25 import SparseVector

# A server takes 32 MB a request unless told otherwise; a point of 1,024 numbers is 20 KB of JSON.
_BATCH = 100
_BATCH_BYTES = 4_000_000
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
        where, is_dense = query.where, isinstance(query.vector, list)
        request: Json = {
            "query": {"nearest": _vector(query.vector)},
            "using": DENSE if is_dense else SPARSE,
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
        where: Filter | None = None,
        *,
        fields: Fields = True,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        body: Json = {"filter": where, "limit": limit, "offset": offset}
        body |= {"with_payload": fields, "with_vector": vectors}
        with self._reading() as is_there:
            if not is_there:
                return [], None
            answer = self.access.ask("POST", "/points/scroll", body)
            following = answer.get("next_page_offset")
            return _points(answer), None if following is None else str(following)

    def newest(self, limit: int, where: Filter | None, fields: list[str]) -> list[Point]:
        body: Json = {"filter": where, "limit": limit, "with_payload": fields}
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

    def count(self, where: Filter | None = None) -> int:
        with self._reading() as is_there:
            return self.access.count(where) if is_there else 0

    def dense_size(self) -> int | None:
        with self._reading() as is_there:
            return self.access.layout().sizes.get(DENSE) if is_there else None

    # -- writing -----------------------------------------------------------------------

    def reserve(self, size: int) -> None:
        self.access.begin_writing()

    def upsert(self, points: Sequence[Point]) -> None:
        self._put("/points", point_requests(points))

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
        changed = ((key, {DENSE: _rounded(rows)}) for key, rows in vectors.items())
        changes = (to_json({"id": key, "vector": named}) for key, named in changed)
        self._put("/points/vectors", _requests(changes))

    def _put(self, path: str, requests: Iterable[bytes]) -> None:
        for request in requests:
            with self._writing():
                self.access.write("PUT", path, request)


def point_requests(points: Iterable[Point]) -> Iterator[bytes]:
    """Yield, in JSON, the requests by which points are written.

    :raises ValueError: for what cannot be sent, such as text that is no Unicode.
    """
    return _requests(map(_to_json, points))


def _requests(points: Iterable[bytes]) -> Iterator[bytes]:
    """Yield requests of as many points, each in JSON, as a server takes at once."""
    batch: list[bytes] = []
    size = 0
    for point in points:
        batch.append(point)
        size += len(point)
        if len(batch) == _BATCH or size > _BATCH_BYTES:
            yield _request(batch)
            batch, size = [], 0
    if batch:
        yield _request(batch)


def _request(points: list[bytes]) -> bytes:
    return b'{"points":[%b]}' % b",".join(points)


def _to_json(point: Point) -> bytes:
    named: Json = {}
    if point.embeddings:
        named[DENSE] = _rounded(point.embeddings)
    if point.sparse is not None:
        words = point.sparse
        named[SPARSE] = {"indices": words.indices, "values": _rounded(words.values)}
    body = {"id": point.id, "vector": named, "payload": point.payload}
    try:
        return to_json(body)
    except TypeError:
        checked_json(point.payload.get("id", point.id), point.payload)
        return encoded(body)  # it is a number of over 64 bits, which the server rounds


def _rounded(numbers: Any) -> Any:
    """Return numbers as an array of the 32 bits that the server keeps of each."""
    import numpy as np  # a search does without

    return np.asarray(numbers, np.float32)


def _vector(vector: list[float] | SparseVector) -> Any:
    if isinstance(vector, list):
        return [vector]
    return {"indices": vector.indices, "values": vector.values}


def _points(answer: Any) -> list[Point]:
    return [_from_json(found) for found in answer["points"]]


def _from_json(found: Any) -> Point:
    """Convert what the server found, with its vectors where they were asked for."""
    vectors = found.get("vector") or {}
    sparse = vectors.get(SPARSE)
    own = None if sparse is None else SparseVector(sparse["indices"], sparse["values"])
    identity, payload = str(found["id"]), found.get("payload") or {}
    return Point(identity, payload, vectors.get(DENSE), own, found.get("score", 0.0))
