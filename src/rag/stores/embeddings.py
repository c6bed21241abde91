"""The embeddings of an index: which chunks have one, and how they come in after the words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import qdrant_edge as qe
from haystack.dataclasses import Document

from rag.stores.access import ShardAccess
from rag.stores.engine import add_dense_space, drop_dense_space, guard
from rag.stores.generations import SHARD
from rag.stores.points import DENSE, dense_vector, point_id, to_document
from rag.stores.queries import ShardQueries

_PAGE = 500


class ShardEmbeddings(ShardQueries):
    """Embeddings of the shard that `access` opens.

    :param access: whose shard is read and written.
    :param similarity: how embeddings are compared: `cosine`, `dot_product` or `l2`.
    :param half_precision: keep them in 16 bits a number.
    """

    def __init__(self, access: ShardAccess, similarity: str, half_precision: bool) -> None:
        super().__init__(access)
        self.similarity = similarity
        self.half_precision = half_precision

    @property
    def embedding_dim(self) -> int | None:
        """The size of the embeddings, or `None` when the index holds none."""
        home = self.access.home()
        return _dense_size(home) if home else None

    def count_embedded(self) -> int:
        """Return how many documents have an embedding."""
        with self._reading("count") as shard:
            if shard is None or self.embedding_dim is None:
                return 0
            return shard.count(qe.CountRequest(filter=qe.Filter(must=[_EMBEDDED])))

    def without_embedding(self) -> Iterator[list[Document]]:
        """Yield the documents that have no embedding, some at a time, in order of point id.

        Embeddings may be written meanwhile.
        """
        lacking = qe.Filter(must_not=[_EMBEDDED]) if self.embedding_dim else None
        offset: Any = None
        while True:
            request = qe.ScrollRequest(
                offset=offset, limit=_PAGE, filter=lacking, with_payload=True
            )
            with self._reading("read documents") as shard:
                points, offset = shard.scroll(request) if shard else ([], None)
            if points:
                yield [to_document(point) for point in points]
            if offset is None:
                return

    def write_embeddings(self, embeddings: Mapping[str, list[float]]) -> None:
        """Give documents of the working copy their embeddings, by id; all else of them stays.

        :raises ValueError: when one is empty, not finite, or of another size.
        :raises StoreError: when there is no document of an id.
        """
        if not embeddings:
            return
        with self.access.mutex:
            vectors = {key: dense_vector(v, f"document {key}") for key, v in embeddings.items()}
            self._fit_dense_space(vectors.values())
            self.access.directory.require_space(16 * sum(map(len, vectors.values())))
            changes = [
                qe.PointVectors(point_id(key), {DENSE: vector}) for key, vector in vectors.items()
            ]
            with guard("write embeddings"):
                self.access.work().update(qe.UpdateOperation.update_vectors(changes))
                self.access.count_written(len(changes))

    def drop_embeddings(self) -> None:
        """Take all embeddings out of the working copy; those of another size may follow."""
        with self.access.mutex:
            shard = self.access.work()
            if self.embedding_dim is not None:
                drop_dense_space(shard)
                # Its files go with the next merge, its size only when the shard is closed.
                self.access.close_work()

    def _fit_dense_space(self, embeddings: Iterable[Sequence[float]]) -> None:
        """Check the embeddings' size; a wrong one would leave half of a batch written."""
        sizes = {len(embedding) for embedding in embeddings}
        if not sizes:
            return
        shard = self.access.work()
        size = _dense_size(self.access.directory.work)
        if size is None and len(sizes) == 1:
            add_dense_space(shard, sizes.pop(), self.similarity, self.half_precision)
        elif sizes != {size}:
            raise ValueError(f"embeddings of {sorted(sizes)} dimensions; the index holds {size}")


_EMBEDDED = qe.HasVectorCondition(DENSE)


def _dense_size(home: Path) -> int | None:
    config = json.loads((home / SHARD / "edge_config.json").read_text("utf-8"))
    size: int | None = config.get("vectors", {}).get(DENSE, {}).get("size")
    return size
