"""Who writes a collection, and what of the index lies here: the manifest, in snapshots."""

from __future__ import annotations

from contextlib import AbstractContextManager

from qdrant_client import models

from rag.exceptions import IndexingError, Remedy, UsageError
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, SERVER, IndexDirectory
from rag.stores.base.access import Access
from rag.stores.server.api_key import server_key
from rag.stores.server.collection import NoteCollection
from rag.stores.server.errors import answering
from rag.support.durable_files import replace_durably

_PAGE = 10_000


class ServerAccess(Access):
    """One writer of a collection, and any number of readers of its manifest.

    The points are the server's and change as they are written; the manifest that belongs to them
    appears, whole, when a run is published.

    :param directory: the folder of the index here.
    """

    is_synced = True

    def __init__(self, directory: IndexDirectory, collection: NoteCollection) -> None:
        super().__init__(directory)
        self.collection = collection

    def answering(self) -> AbstractContextManager[None]:
        """Turn the server's failures into ours."""
        settings = self.collection.settings
        return answering(settings, server_key(settings))

    # -- writing -----------------------------------------------------------------------

    def _prepare_writing(self) -> None:
        """Make the collection if need be.

        :raises UsageError: when the collection holds what this index did not write.
        :raises ConnectionError: when the server does not answer.
        """
        with self.answering():
            self._claim()
            self.collection.create()

    def _claim(self) -> None:
        """Note that the collection is this index's, unless somebody else's points are in it."""
        settings, mark = self.collection.settings, self.directory.path / SERVER
        if mark.exists():
            return
        if self.collection.layout() is not None and self._count():
            raise UsageError(
                f"the collection {settings.collection!r} at {settings.url} holds points that this"
                " index did not write",
                hint="Name another in store.collection, or delete that one first.",
            )
        replace_durably(mark, f"{settings.url} {settings.collection}\n".encode())

    def publish(self, number: int | None = None) -> None:
        """Make the writer's manifest the current one, once the server holds what it says.

        :param number: the snapshot's number; by default the next one.
        :raises IndexingError: when the server holds less.
        """
        with self.mutex:
            self.begin_writing()
            self.directory.work.mkdir(exist_ok=True)
            expected = self._expected()
            with self.answering():
                points = self._count()
            if expected is not None and points != expected:
                raise IndexingError(
                    f"the server holds {points:,} of {expected:,} chunks",
                    remedy=Remedy.INDEX_MISSING,
                )
            self.directory.publish(number or self.directory.newest() + 1, points)

    def holds_points(self) -> bool:
        with self.answering():
            return self._count() > 0

    def has_unknown_points(self) -> bool:
        """Return whether there are points of an index that was rebuilt since."""
        expected = self._expected()
        with self.answering():
            return expected is not None and self._count() > expected

    def remove_unknown_points(self) -> None:
        client, name = self.collection.client, self.collection.index
        with Manifest.open_work(self.directory.work / MANIFEST) as manifest:
            known = {key.id for note in manifest.notes() for key in note.chunks}
        offset = None
        with self.answering():
            while True:
                points, offset = client.scroll(name, limit=_PAGE, offset=offset, with_payload=False)
                stale = [point.id for point in points if str(point.id) not in known]
                if stale:
                    client.delete(name, models.PointIdsList(points=stale), wait=True)
                if offset is None:
                    return

    def close_work(self) -> None:
        """Do nothing: no file of the staging index is kept open."""

    def _expected(self) -> int | None:
        """Return how many points the manifest knows, `None` without one."""
        path = self.directory.work / MANIFEST
        if not path.exists():
            return None
        with Manifest.open_work(path) as manifest:
            return manifest.expected_points() or 0

    def _count(self) -> int:
        return self.collection.client.count(self.collection.index, exact=True).count

    def _close_points(self) -> None:
        self.collection.close()
