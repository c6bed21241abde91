"""Some chunks of an index that stand for all that have an embedding."""

from __future__ import annotations

from rag.stores.base.access import Access
from rag.stores.base.backend import Backend
from rag.stores.base.filters import WITH_EMBEDDING

# 100, 500 or all rank alike (docs/ranking.md).
SIZE = 200


class EmbeddedSample:
    """A sample of the documents that have an embedding: those whose points have the lowest ids,
    which are hashes.

    Their cosines tell what is near to a query in this index and by its model.

    :param access: knows which revision of the index is read.
    :param backend: the points.
    """

    def __init__(self, access: Access, backend: Backend) -> None:
        self.access, self.backend = access, backend
        self._revision = -1
        self._ids: list[str] = []

    def ids(self) -> list[str]:
        """Return the ids of the documents; asked for once for each revision of the index."""
        with self.access.mutex:
            manifest = self.access.manifest()
            revision = manifest.revision if manifest else -1
            if manifest is None or revision != self._revision:
                points, _ = self.backend.scroll(SIZE, where=WITH_EMBEDDING, fields=["id"])
                self._ids = [str(point.payload.get("id", point.id)) for point in points]
                self._revision = revision
            return self._ids
