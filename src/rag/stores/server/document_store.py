"""The document store on a Qdrant server: points in a collection, the manifest in a folder here."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from rag.config import StoreConfig
from rag.exceptions import INDEX_MISSING, IndexingError, UsageError
from rag.index.embedding_space import read_embedded
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory, IndexSnapshot
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.points import DENSE, FILTERED, SPARSE, Filter, Page, Point, Search
from rag.stores.server.catalog import Catalog, Head, check_writer, claim, refresh, taken_over
from rag.stores.server.rest import RestClient, to_json
from rag.text.bm25 import SparseVector

Json = dict[str, Any]

_FRESH = 2.0  # seconds for which it is not asked again whether there is a newer catalog
_PAGE = 10_000
_WAITED = {"wait": "true"}
# A server takes 32 MB a request unless told otherwise; a point of 1,024 numbers is 20 KB of JSON.
_BATCH = 100
_BATCH_BYTES = 4_000_000
_OVERSAMPLING = 3.0
_QUANTIZATIONS: dict[str, Json] = {
    "none": {},
    "scalar": {"quantization_config": {"scalar": {"type": "int8", "always_ram": True}}},
    "binary": {"quantization_config": {"binary": {"always_ram": True}}},
}


class QdrantServerDocumentStore(BaseDocumentStore):
    """A document store in a collection of a Qdrant server, with its manifest in a folder here.

    Points change as they are written; the manifest that belongs to them appears, whole, when a run
    is published. Every call may fail as `RestClient.answering` says.

    :param path: the folder of the index here; one for each collection.
    :param settings: the server and the collection, or a mapping of them. The API key is read from
        the environment when it is needed, and kept nowhere.
    :param directory: the folder, where the caller holds its lock already.
    """

    _head: Head  # of the catalog, once this machine writes

    def __init__(
        self,
        path: str,
        settings: StoreConfig | Json,
        directory: IndexDirectory | None = None,
    ) -> None:
        super().__init__(directory or IndexDirectory(path))
        settings = settings if isinstance(settings, StoreConfig) else StoreConfig(**settings)
        self.settings, self.collection_name = settings, settings.collection
        self._rest = RestClient(settings)
        self._catalog = Catalog(self._rest)
        self._refreshed = -_FRESH

    def to_dict(self) -> Json:
        from haystack import default_to_dict

        return default_to_dict(self, path=self.path, settings=asdict(self.settings))

    # -- asking ------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: Any = None, **how: Any) -> Any:
        """Return the result of a request; `path` is below the collection's own."""
        own = f"/collections/{self.settings.collection}{path}"
        return self._rest.request(method, own, body, **how)

    def _write(self, method: str, path: str, body: Any = None) -> None:
        """Change points, and wait until that is applied."""
        with self._answering():
            self._begin_step()
            result = self._ask(method, path, body, params=_WAITED)
            if not isinstance(result, dict) or "status" not in result:
                raise ValueError("no status of a write")

    @contextmanager
    def _answering(self) -> Iterator[None]:
        with self.mutex, self._rest.answering():
            yield

    # -- the writer --------------------------------------------------------------------

    def _prepare_writing(self) -> None:
        """Claim the index for this machine, and make its collection, or what is missing of it."""
        with self._rest.answering():
            description = self._ask("GET", "", allowed=404)
            everything = {"exact": True}
            is_used = description and self._ask("POST", "/points/count", everything)["count"]
            self._had_points = bool(is_used)
            self._head = self._claim()
            if description is None:
                self._ask("PUT", "", self._layout(), allowed=409)  # another process was faster
            indexed = (description or {}).get("payload_schema") or {}
            for name, kind in FILTERED.items():
                if name not in indexed:
                    index = {"field_name": name, "field_schema": kind}
                    self._ask("PUT", "/index", index, params=_WAITED)

    def _claim(self) -> Head:
        owner, head = claim(self.directory), self._catalog.head()
        check_writer(head, owner["machine"])
        if Head.read(self.directory.path) is None:
            if head is None and self._had_points:
                place = f"the collection {self.settings.collection!r} at {self.settings.url}"
                raise UsageError(
                    f"{place} holds points, and no catalog says whose they are",
                    hint="Index on the machine that wrote them, or name another in"
                    " store.collection.",
                )
            Head().write(self.directory.path)
        if head is None:
            head = self._catalog.create(Head(**owner, unfinished=self._had_points))
            check_writer(head, owner["machine"])  # another may have been faster
        return head if head.machine == owner["machine"] else self._catalog.change(head, **owner)

    def _layout(self) -> Json:
        """Return what a new collection is like."""
        settings = self.settings
        return {
            "vectors": {},
            "sparse_vectors": {SPARSE: {"index": {"on_disk": settings.on_disk}}},
            "replication_factor": settings.replication_factor,
            "write_consistency_factor": settings.write_consistency_factor,
            "on_disk_payload": True,
            "hnsw_config": {"m": settings.hnsw_m},
            **_QUANTIZATIONS[settings.quantization],
            **({"shard_number": settings.shard_number} if settings.shard_number else {}),
        }

    def _begin_step(self) -> None:
        """Make ready for a write: the catalog must know of it, and be still this machine's."""
        self.begin_writing()
        head = self._catalog.head()
        if head is None or head.machine != self._head.machine:
            raise taken_over(head)
        if not self._head.unfinished:
            self._head = self._catalog.change(self._head, unfinished=True)

    @property
    def is_unfinished(self) -> bool:
        return self._head.unfinished

    @property
    def is_shared(self) -> bool:
        """Whether the server has the catalog of the current snapshot."""
        head = self._head
        if not head.version or head.unfinished:
            return False
        with self._rest.answering():
            is_here = head.is_same_catalog(Head.read(self.directory.path))
            return is_here and self._catalog.is_whole(head)

    def _publish(self, number: int, points: int) -> None:
        """Make the writer's files the catalog, and what readers here see."""
        with self._rest.answering():
            files = self._catalog.send(self.directory.begin_work(), uuid4().hex)
            head = self._catalog.change(self._head, **files, unfinished=False)
            self._catalog.sweep(head)
        self.directory.publish(number)
        head.write(self.directory.path)
        self._head = head

    def _complete_points(self) -> int:
        """Delete the points of a run that was killed, and of an index that was rebuilt since: those
        that no note of the manifest has.

        :raises IndexingError: when the server holds less than the manifest says.
        """
        points = self.count_points()
        with Manifest.open_work(self.directory.begin_work() / MANIFEST) as manifest:
            if not manifest.get("fingerprint"):  # it was made without a manifest of notes
                return points
            expected = manifest.totals()[1]
            if points > expected:
                chunk_ids = {key.id for note in manifest.notes() for key in note.chunks}
                for page in self.point_pages(Page(_PAGE, fields=False)):
                    # They were never counted.
                    self.delete_points([p.id for p in page if p.id not in chunk_ids])
                points = self.count_points()
        if points != expected:
            message = f"the server holds {points:,} of {expected:,} chunks"
            raise IndexingError(message, hint=INDEX_MISSING)
        return points

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._rest.close()

    # -- embeddings --------------------------------------------------------------------

    @property
    def embedding_dim(self) -> int | None:
        if manifest := self.manifest():  # it tells without a request
            embedded = read_embedded(manifest)
            return embedded.space.dimension if embedded and embedded.embedded else None
        with self._answering():
            description = self._ask("GET", "", allowed=404) if self.is_readable else None
            spaces = (description or {"config": {"params": {}}})["config"]["params"].get("vectors")
            return spaces[DENSE]["size"] if spaces and DENSE in spaces else None

    def add_dense_space(self, size: int) -> None:
        """Make room for embeddings of that size, any number a point, kept in 16 bits a number."""
        space = {
            "size": size,
            "distance": "Cosine",
            "datatype": "float16",
            "multivector_config": {"comparator": "max_sim"},
        }
        self._write("PUT", f"/vectors/{DENSE}", {"dense": space})
        if self.settings.on_disk:
            with self._rest.answering():
                self._ask("PATCH", "", {"vectors": {DENSE: {"on_disk": True}}})

    def drop_dense_space(self) -> None:
        self._write("DELETE", f"/vectors/{DENSE}")

    # -- reading points ----------------------------------------------------------------

    def _hold(self) -> IndexSnapshot | None:
        """Return the snapshot to read, once the server was asked whether there is a newer one."""
        is_held = self._pins and self._snapshot
        if not is_held and time.monotonic() - self._refreshed >= _FRESH:
            refresh(self.settings, self.directory)
            self._refreshed = time.monotonic()
        return super()._hold()

    def _query(self, search: Search) -> Json:
        vector, limit, where, fields = search
        query: Json = {"limit": limit, "filter": where, "with_payload": fields}
        if isinstance(vector, SparseVector):
            nearest = {"indices": vector.indices, "values": vector.values}
            return query | {"query": {"nearest": nearest}, "using": SPARSE}
        if self.settings.quantization != "none":  # what is found roughly is scored again
            query["params"] = {"quantization": {"rescore": True, "oversampling": _OVERSAMPLING}}
        return query | {"query": {"nearest": [vector]}, "using": DENSE}

    def search_points(self, searches: Sequence[Search]) -> list[list[Point]]:
        with self._answering():
            if not self.is_readable:
                return [[] for _ in searches]
            body = {"searches": [*map(self._query, searches)]}
            answers = self._ask("POST", "/points/query/batch", body)
            if len(answers) != len(searches):
                raise ValueError("answers for other queries")
            return [[*map(_from_json, answer["points"])] for answer in answers]

    def read_page(self, page: Page) -> tuple[list[Point], str | None]:
        body: Json = {"limit": page.limit, "filter": page.where, "with_payload": page.fields}
        body |= {"with_vector": page.vectors}
        body |= {"offset": page.offset} if page.offset else {}
        body |= {"order_by": {"key": page.newest, "direction": "desc"}} if page.newest else {}
        with self._answering():
            if not self.is_readable:
                return [], None
            answer = self._ask("POST", "/points/scroll", body)
            following = answer.get("next_page_offset")
            points = [*map(_from_json, answer["points"])]
            return points, None if following is None else str(following)

    def retrieve(
        self, ids: Sequence[str], fields: bool = True, vectors: Sequence[str] = ()
    ) -> list[Point]:
        body = {"ids": [*ids], "with_payload": fields, "with_vector": [*vectors] or False}
        with self._answering():
            is_readable = ids and self.is_readable
            return [*map(_from_json, self._ask("POST", "/points", body))] if is_readable else []

    def count_points(self, where: Filter | None = None) -> int:
        body = {"filter": where, "exact": True}
        with self._answering():
            is_readable = self.is_readable
            return int(self._ask("POST", "/points/count", body)["count"]) if is_readable else 0

    # -- writing points ----------------------------------------------------------------

    def upsert(self, points: Sequence[Point]) -> None:
        for request in point_requests(map(point_json, points)):
            self._write("PUT", "/points", request)

    def update_vectors(self, vectors: Mapping[str, list[list[float]]]) -> None:
        changes = ((key, {DENSE: _rounded(rows)}) for key, rows in vectors.items())
        for request in point_requests(to_json({"id": key, "vector": v}) for key, v in changes):
            self._write("PUT", "/points/vectors", request)

    def delete_points(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _PAGE):
            self._write("POST", "/points/delete", {"points": [*ids[start : start + _PAGE]]})


def point_requests(points: Iterable[bytes]) -> Iterator[bytes]:
    """Yield requests, in JSON, of as many points as a server takes at once."""
    batch: list[bytes] = []
    for point in points:
        batch.append(point)
        if len(batch) == _BATCH or sum(map(len, batch)) > _BATCH_BYTES:
            yield b'{"points":[%b]}' % b",".join(batch)
            batch = []
    if batch:
        yield b'{"points":[%b]}' % b",".join(batch)


def point_json(point: Point) -> bytes:
    """Return a point as it is written, in JSON."""
    vectors: Json = {}
    if point.embeddings:
        vectors[DENSE] = _rounded(point.embeddings)
    if point.sparse is not None:
        words = point.sparse
        vectors[SPARSE] = {"indices": words.indices, "values": _rounded(words.values)}
    return to_json({"id": point.id, "vector": vectors, "payload": point.payload})


def _rounded(numbers: Any) -> Any:
    import numpy as np  # a search does without

    return np.asarray(numbers, np.float32)


def _from_json(point: Any) -> Point:
    """Convert a point of the server, with its vectors where they were asked for."""
    vectors = point.get("vector") or {}
    words = vectors.get(SPARSE)
    sparse = None if words is None else SparseVector(words["indices"], words["values"])
    identity, payload = str(point["id"]), point.get("payload") or {}
    return Point(identity, payload, vectors.get(DENSE), sparse, point.get("score", 0.0))
