"""Who writes a collection, and what of the index lies here: the manifest, in snapshots."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx

from rag.config import StoreConfig
from rag.exceptions import INDEX_MISSING, IndexingError, StoreConnectionError
from rag.index.index_snapshot import IndexSnapshot
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.stores.base.access import Access
from rag.stores.server.api_key import server_key
from rag.stores.server.catalog import Catalog
from rag.stores.server.claim import WriterClaim
from rag.stores.server.errors import answering, is_missing_collection
from rag.stores.server.layout import Layout, parse_layout
from rag.stores.server.replica import refresh
from rag.stores.server.rest import RestClient

if TYPE_CHECKING:
    from rag.stores.server.collection import NoteCollection

_PAGE = 10_000
_FRESH = 2.0  # seconds for which it is not asked again


class ServerAccess(Access):
    """One writer of a collection, and any number of readers of its manifest.

    The points are the server's and change as they are written; the manifest that belongs to them
    appears, whole, when a run is published.

    :param directory: the folder of the index here.
    :param settings: the server and the collection.
    """

    is_synced = True

    def __init__(self, directory: IndexDirectory, settings: StoreConfig) -> None:
        super().__init__(directory)
        self.settings = settings
        self._rest = RestClient(settings)
        self._claim = WriterClaim(Catalog(self._rest), lambda: self.directory, settings.timeout)
        self._refreshed = -_FRESH
        self._layout: Layout | None = None  # of the pinned snapshot

    @cached_property
    def collection(self) -> NoteCollection:
        """What makes the collection and changes its layout; its client is slow to import."""
        from rag.stores.server.collection import NoteCollection

        return NoteCollection(self.settings)

    # -- asking ------------------------------------------------------------------------

    def answering(self) -> AbstractContextManager[None]:
        """Turn the server's failures, those of the methods below too, into ours."""
        return answering(self.settings, server_key(self.settings))

    def ask(self, method: str, path: str, body: Any = None, **params: str) -> Any:
        """Return the result of a request.

        :param path: below the collection's own, such as "/points/scroll".
        """
        own = f"/collections/{self.settings.collection}{path}"
        return self._rest.request(method, own, body, **params)

    def write(self, method: str, path: str, body: Any = None) -> None:
        """Make a request that changes points, and wait until it is applied."""
        result = self.ask(method, path, body, wait="true")
        if not isinstance(result, dict) or "status" not in result:
            raise ValueError("no status of a write")

    def count(self, selected: dict[str, Any] | None = None) -> int:
        """Return how many points a filter in JSON selects."""
        answer = self.ask("POST", "/points/count", {"filter": selected, "exact": True})
        return int(answer["count"])

    def delete(self, ids: Iterable[str]) -> None:
        """Delete points; unknown ids are passed over."""
        self.write("POST", "/points/delete", {"points": list(ids)})

    def layout(self) -> Layout:
        """Return the layout of the collection; a reader asks once for each pinned snapshot."""
        if self._layout is None or self.reads_work:
            found = parse_layout(self.ask("GET", ""))
            if not self._pins:
                return found
            self._layout = found
        return self._layout

    @contextmanager
    def pinned(self) -> Iterator[None]:
        try:
            with super().pinned():
                yield
        finally:
            with self.mutex:
                if not self._pins:
                    self._layout = None

    def _find_layout(self) -> Layout | None:
        """Return the layout of the collection, `None` when there is none."""
        try:
            return self.layout()
        except httpx.HTTPStatusError as error:
            if is_missing_collection(error.response):
                return None
            raise

    # -- writing -----------------------------------------------------------------------

    def _prepare_writing(self) -> None:
        """Make the collection if need be.

        :raises UsageError: when another machine writes the index, or the collection holds what
            nobody's index wrote.
        :raises ConnectionError: when the server does not answer.
        """
        with self.answering():
            found = self._find_layout()
            self._claim.check(lambda: found is not None and self.count() > 0)
            if found is None or not found.is_complete:
                self.collection.create(found)

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
                points = self.count()
            if expected is not None and points != expected:
                raise IndexingError(
                    f"the server holds {points:,} of {expected:,} chunks",
                    hint=INDEX_MISSING,
                )
            number = number or self.directory.newest() + 1
            with self.answering():
                self._claim.publish(points, number)
            self.directory.publish(number, points)
            self._claim.published()

    def holds_points(self) -> bool:
        with self.answering():
            return self.count() > 0

    def has_unknown_points(self) -> bool:
        """Return whether there are points of an index that was rebuilt since."""
        expected = self._expected()
        with self.answering():
            return expected is not None and self.count() > expected

    def remove_unknown_points(self) -> None:
        self.begin_step()  # another machine may have taken over, and those be its points
        with Manifest.open_work(self.directory.work / MANIFEST) as manifest:
            known = {key.id for note in manifest.notes() for key in note.chunks}
        offset = None
        with self.answering():
            while True:
                page = {"limit": _PAGE, "offset": offset, "with_payload": False}
                answer = self.ask("POST", "/points/scroll", page)
                found = [str(point["id"]) for point in answer["points"]]
                stale = [identity for identity in found if identity not in known]
                if stale:
                    self._claim.hold()
                    self.delete(stale)
                offset = answer.get("next_page_offset")
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
                self.directory = refresh(self.settings, self.directory)
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

    def _close_points(self) -> None:
        self._claim.release()
        self._rest.close()
        if "collection" in vars(self):
            self.collection.close()
