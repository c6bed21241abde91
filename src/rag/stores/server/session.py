"""Who writes a collection, and what of the index lies here: the manifest, in snapshots."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

from qdrant_client import models

from rag.exceptions import IndexingError, Remedy, StoreConnectionError
from rag.index.index_snapshot import IndexSnapshot
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores.base.access import Access
from rag.stores.server.api_key import server_key
from rag.stores.server.catalog import Catalog
from rag.stores.server.claim import WriterClaim
from rag.stores.server.collection import NoteCollection
from rag.stores.server.errors import answering
from rag.stores.server.replica import refresh
from rag.stores.server.rest import RestClient

_PAGE = 10_000
_FRESH = 2.0  # seconds for which it is not asked again


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
        self._rest = RestClient(collection.settings)
        self._claim = WriterClaim(
            Catalog(self._rest), lambda: self.directory, collection.settings.timeout
        )
        self._refreshed = -_FRESH

    def answering(self) -> AbstractContextManager[None]:
        """Turn the server's failures into ours."""
        settings = self.collection.settings
        return answering(settings, server_key(settings))

    # -- writing -----------------------------------------------------------------------

    def _prepare_writing(self) -> None:
        """Make the collection if need be.

        :raises UsageError: when another machine writes the index, or the collection holds what
            nobody's index wrote.
        :raises ConnectionError: when the server does not answer.
        """
        with self.answering():
            self._claim.check(lambda: self.collection.layout() is not None and self._count() > 0)
            self.collection.create()

    def begin_step(self) -> None:
        """Make ready for a write, one of many.

        :raises LockedError: when another process or machine is writing.
        """
        self.begin_writing()
        with self.answering():
            self._claim.hold()

    @property
    def is_shared(self) -> bool:
        """Whether the server has the catalog of the current snapshot."""
        with self.answering():
            return self._claim.is_published

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
            number = number or self.directory.newest() + 1
            with self.answering():
                self._claim.publish(points, number)
            self.directory.publish(number, points)
            self._claim.published()

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

    # -- reading -----------------------------------------------------------------------

    @property
    def is_readable(self) -> bool:
        return self.reads_work or self._hold() is not None

    def _hold(self) -> IndexSnapshot | None:
        """Return the snapshot to read, once the server was asked whether there is a newer one."""
        is_held = self._pins and self._snapshot
        if not is_held and time.monotonic() - self._refreshed >= _FRESH:
            try:
                self.directory = refresh(self.collection.settings, self.directory)
            except StoreConnectionError:
                if self.directory.current() is None:
                    raise
            self._refreshed = time.monotonic()
        return super()._hold()

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
        self._claim.release()
        self._rest.close()
        self.collection.close()
