"""The embeddings of an index: which chunks have one, and how they come in after the words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from haystack.dataclasses import Document

from rag.stores.base.chunk_queries import NoteQueries
from rag.stores.base.points import DENSE, dense_vector, point_id, to_document

_PAGE = 500


class NoteEmbeddings(NoteQueries):
    """Embeddings of the points of a backend."""

    @property
    def embedding_dim(self) -> int | None:
        """The size of the embeddings, or `None` when the index holds none."""
        return self.backend.dense_size()

    def count_embedded(self) -> int:
        """Return how many documents have an embedding."""
        if self.embedding_dim is None:
            return 0
        return self.backend.count(self.backend.conditions.has_vector(DENSE))

    def without_embedding(self) -> Iterator[list[Document]]:
        """Yield the documents that have no embedding, some at a time, in order of point id.

        Embeddings may be written meanwhile.
        """
        conditions = self.backend.conditions
        lacking = conditions.none_of([conditions.has_vector(DENSE)]) if self.embedding_dim else None
        offset: Any = None
        while True:
            points, offset = self.backend.scroll(_PAGE, offset, lacking)
            if points:
                yield [to_document(point) for point in points]
            if offset is None:
                return

    def write_embeddings(self, embeddings: Mapping[str, list[float]]) -> None:
        """Give documents that are being written their embeddings, by id; all else of them stays.

        :raises ValueError: when one is empty, not finite, or of another size.
        :raises IndexUnavailableError: when there is no document of an id.
        """
        if not embeddings:
            return
        with self.backend.mutex:
            vectors = {
                point_id(key): dense_vector(vector, f"document {key}")
                for key, vector in embeddings.items()
            }
            self.backend.reserve(16 * sum(map(len, vectors.values())))
            self._fit_dense_space(vectors.values())
            self.backend.update_vectors(vectors)

    def drop_embeddings(self) -> None:
        """Take all embeddings out of what is being written; those of another size may follow."""
        with self.backend.mutex:
            self.backend.reserve(0)
            if self.embedding_dim is not None:
                self.backend.drop_dense_space()

    def _fit_dense_space(self, embeddings: Iterable[Sequence[float]]) -> None:
        """Check the embeddings' size; a wrong one would leave half of a batch written."""
        sizes = {len(embedding) for embedding in embeddings}
        if not sizes:
            return
        size = self.embedding_dim
        if size is None and len(sizes) == 1:
            self.backend.add_dense_space(sizes.pop())
        elif sizes != {size}:
            raise ValueError(f"embeddings of {sorted(sizes)} dimensions; the index holds {size}")
