"""The embeddings of documents: those of their sentences, several a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag.stores.base.access import Access
from rag.stores.base.backend import Backend
from rag.stores.base.document_writes import fit_dense_space
from rag.stores.base.filters import WITH_EMBEDDING, WITHOUT_EMBEDDING
from rag.stores.base.point_queries import scroll_pages
from rag.stores.base.points import DENSE, dense_vector, point_id

_PAGE = 10_000  # ids read together


def cosines_of(
    vectors: Mapping[str, Sequence[Sequence[float]]], embedding: Sequence[float]
) -> dict[str, list[float]]:
    """Return how near sentences are to an embedding, by the id of their document.

    :param vectors: of the sentences of each, of length 1, from `DocumentEmbeddings.embeddings_of`.
    """
    import numpy as np

    wanted = np.asarray(embedding, np.float32)
    return {key: (np.asarray(rows, np.float32) @ wanted).tolist() for key, rows in vectors.items()}


class DocumentEmbeddings:
    """What a store of documents does about their embeddings."""

    access: Access
    backend: Backend

    @property
    def embedding_dim(self) -> int | None:
        """The size of the embeddings, or `None` when the index holds none."""
        return self.backend.dense_size()

    def count_embedded(self) -> int:
        """Return how many documents have an embedding."""
        return self.backend.count(WITH_EMBEDDING) if self.embedding_dim else 0

    def without_embedding(self) -> set[str]:
        """Return the ids of the documents that have no embedding."""
        lacking = WITHOUT_EMBEDDING if self.embedding_dim else None
        pages = scroll_pages(self.backend, _PAGE, where=lacking, fields=["id"])
        return {str(point.payload.get("id", point.id)) for points, _ in pages for point in points}

    def write_embeddings(self, embeddings: Mapping[str, Sequence[list[float]]]) -> None:
        """Give documents that are being written the embeddings of their sentences, by id; all
        else of them stays.

        :raises ValueError: when one is empty, not finite, or of another size.
        :raises IndexUnavailableError: when there is no document of an id.
        """
        if not embeddings:
            return
        with self.access.mutex:
            vectors = {
                point_id(key): [dense_vector(row, f"document {key}") for row in rows]
                for key, rows in embeddings.items()
            }
            every = [row for rows in vectors.values() for row in rows]
            self.backend.reserve(8 * sum(map(len, every)))
            fit_dense_space(self.backend, every)
            self.backend.update_vectors(vectors)

    def embeddings_of(self, ids: Sequence[str]) -> dict[str, list[list[float]]]:
        """Return the embeddings of the sentences of some documents, by id, of those that have any.

        They are in the order of the sentences.
        """
        wanted = {point_id(identity): identity for identity in ids}
        if not wanted or self.embedding_dim is None:
            return {}
        found = self.backend.retrieve([*wanted], fields=False, vectors=[DENSE])
        return {wanted[point.id]: point.embeddings for point in found if point.embeddings}

    def drop_embeddings(self) -> None:
        """Take all embeddings out of what is being written; those of another size may follow."""
        with self.access.mutex:
            self.backend.reserve(0)
            if self.embedding_dim is not None:
                self.backend.drop_dense_space()
