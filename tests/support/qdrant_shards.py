"""Collections in several shards that answer as one, as on a Qdrant server.

Each shard is a collection of the in-memory engine, the first under the collection's own name. So
a collection whose sparse vectors have the IDF modifier counts documents for each shard by itself,
as a real server does, and a search with a prefetch makes it in each shard.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from qdrant_client import models
from qdrant_client.http.models import CreateCollection, ScrollRequest, UpdateCollection
from qdrant_client.local.qdrant_local import QdrantLocal

Item = TypeVar("Item")


class Shards:
    """The shards of every collection of an engine."""

    def __init__(self, engine: QdrantLocal) -> None:
        self._engine = engine
        self._numbers: dict[str, int] = {}

    def names(self, name: str) -> list[str]:
        """Return the name of each shard's collection in the engine."""
        return [f"{name} {n}" if n else name for n in range(self._numbers.get(name, 1))]

    def create(self, name: str, asked: CreateCollection, shards: int) -> bool:
        """Make a collection; shards that outlived one of that name are emptied."""
        self._engine.create_collection(
            name, vectors_config=asked.vectors or {}, sparse_vectors_config=asked.sparse_vectors
        )
        self._numbers[name] = shards
        for shard in self.names(name)[1:]:
            if self._engine.collection_exists(shard):
                self._engine.delete_collection(shard)
            self._engine.create_collection(
                shard,
                vectors_config=asked.vectors or {},
                sparse_vectors_config=asked.sparse_vectors,
            )
        return True

    def update(self, name: str, asked: UpdateCollection) -> bool:
        return all(
            self._engine.update_collection(
                shard, sparse_vectors_config=asked.sparse_vectors, vectors_config=asked.vectors
            )
            for shard in self.names(name)
        )

    def create_vector_name(self, name: str, vector: str, space: Any) -> Any:
        for shard in self.names(name):
            made = self._engine.create_vector_name(shard, vector, space)
        return made

    def delete_vector_name(self, name: str, vector: str) -> Any:
        for shard in self.names(name):
            deleted = self._engine.delete_vector_name(shard, vector)
        return deleted

    def upsert(
        self, name: str, points: Iterable[models.PointStruct], mode: models.UpdateMode | None = None
    ) -> None:
        for shard, part in self._parts(name, points, lambda point: point.id):
            self._engine.upsert(shard, part, update_mode=mode)

    def overwrite_payload(
        self, name: str, payload: dict[str, Any], where: models.Filter | None
    ) -> None:
        for shard in self.names(name):
            self._engine.overwrite_payload(shard, payload, where)

    def update_vectors(self, name: str, points: Iterable[models.PointVectors]) -> None:
        for shard, part in self._parts(name, points, lambda point: point.id):
            self._engine.update_vectors(shard, part)

    def delete(self, name: str, ids: Iterable[Any]) -> None:
        for shard, part in self._parts(name, ids, lambda point: point):
            self._engine.delete(shard, models.PointIdsList(points=part))

    def delete_where(self, name: str, where: models.Filter) -> None:
        for shard in self.names(name):
            self._engine.delete(shard, where)

    def retrieve(self, name: str, ids: Iterable[Any], payload: Any, vectors: Any) -> list[Any]:
        found = {
            record.id: record
            for shard, part in self._parts(name, ids, lambda point: point)
            for record in self._engine.retrieve(shard, part, payload, vectors)
        }
        return list(found.values())

    def count(self, name: str, where: models.Filter | None = None) -> int:
        return sum(self._engine.count(shard, where).count for shard in self.names(name))

    def scroll(self, name: str, asked: ScrollRequest) -> models.ScrollResult:
        limit = asked.limit or 10
        pages = [
            self._engine.scroll(
                shard,
                scroll_filter=asked.filter,
                limit=limit,
                order_by=asked.order_by,
                offset=asked.offset,
                with_payload=asked.with_payload,
                with_vectors=asked.with_vector or False,
            )
            for shard in self.names(name)
        ]
        found = [record for page, _ in pages for record in page]
        if isinstance(asked.order_by, models.OrderBy):
            is_falling = asked.order_by.direction == models.Direction.DESC
            found.sort(key=lambda record: record.order_value, reverse=is_falling)
            return models.ScrollResult(points=found[:limit])
        found.sort(key=lambda record: str(record.id))
        following = [str(record.id) for record in found[limit:]]
        following += [str(offset) for _, offset in pages if offset is not None]
        return models.ScrollResult(
            points=found[:limit], next_page_offset=min(following, default=None)
        )

    def query(self, name: str, asked: list[models.QueryRequest]) -> list[Any]:
        answers = [self._engine.query_batch_points(shard, asked) for shard in self.names(name)]
        merged = []
        for request, *parts in zip(asked, *answers, strict=True):
            points = [point for part in parts for point in part.points]
            points.sort(key=lambda point: -point.score)
            merged.append(parts[0].model_copy(update={"points": points[: request.limit or 10]}))
        return merged

    def _parts(
        self, name: str, items: Iterable[Item], identify: Callable[[Item], Any]
    ) -> Iterator[tuple[str, list[Item]]]:
        """Yield each shard with those of the items that belong in it, if there are any."""
        names = self.names(name)
        parts: dict[str, list[Item]] = {shard: [] for shard in names}
        for item in items:
            parts[names[zlib.crc32(str(identify(item)).encode()) % len(names)]].append(item)
        return ((shard, part) for shard, part in parts.items() if part)
