"""Who writes a collection, and what of the index lies here: the manifest, in generations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from qdrant_client import models

from rag.exceptions import IndexingError, Remedy, UsageError
from rag.index.manifest import Manifest
from rag.index.snapshots import MANIFEST, SERVER, Generation, IndexDirectory
from rag.stores.server.api_key import server_key
from rag.stores.server.collection import NoteCollection
from rag.stores.server.errors import answering
from rag.support.durable_files import replace_durably

_PAGE = 10_000


class ServerAccess:
    """One writer of a collection, and any number of readers of its manifest.

    The points are the server's and change as they are written; the manifest that belongs to them
    appears, whole, when a run is published.

    :param directory: the folder of the index here.
    """

    def __init__(self, directory: IndexDirectory, collection: NoteCollection) -> None:
        self.directory = directory
        self.collection = collection
        self.mutex = threading.RLock()
        self._writing: ExitStack | None = None
        self._generation: Generation | None = None
        self._manifest: Manifest | None = None
        self._pins = 0

    def answering(self) -> AbstractContextManager[None]:
        """Turn the server's failures into ours."""
        settings = self.collection.settings
        return answering(settings, server_key(settings))

    # -- writing -----------------------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`; make the collection if need be.

        :raises LockedError: when another process of this machine is.
        :raises UsageError: when the collection holds what this index did not write.
        :raises ConnectionError: when the server does not answer.
        """
        with self.mutex:
            if self._writing is not None:
                return
            self._close_reader()
            with ExitStack() as stack:
                stack.enter_context(self.directory.writing(wait))
                with self.answering():
                    self._claim()
                    self.collection.create()
                self._writing = stack.pop_all()

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

        :param number: the generation's number; by default the next one.
        :raises IndexingError: when the server holds less.
        """
        with self.mutex:
            self.begin_writing()
            self.directory.work.mkdir(exist_ok=True)
            path = self.directory.work / MANIFEST
            with self.answering():
                points = self._count()
            if path.exists():
                with Manifest.open_work(path) as manifest:
                    expected = manifest.expected_points() or 0
                    if points > expected:
                        with self.answering():
                            self._sweep(manifest)
                            points = self._count()
                if points != expected:
                    raise IndexingError(
                        f"the server holds {points:,} of {expected:,} chunks",
                        remedy=Remedy.INDEX_MISSING,
                    )
            self.directory.publish(number or self.directory.newest() + 1, points)

    def _count(self) -> int:
        return self.collection.client.count(self.collection.index, exact=True).count

    def _sweep(self, manifest: Manifest) -> None:
        """Delete the points that no note has any more: those of an index since made anew."""
        client, name = self.collection.client, self.collection.index
        known = {key.id for note in manifest.notes() for key in note.chunks}
        offset = None
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
        """Whether there is anything to read: something published, or being written here."""
        return self._writing is not None or self.directory.current() is not None

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Go on reading the manifest that is current now, whatever is published meanwhile."""
        with self.mutex:
            if not self._pins:
                self.manifest()
            self._pins += 1
        try:
            yield
        finally:
            with self.mutex:
                self._pins -= 1

    def manifest(self) -> Manifest | None:
        """Return the published manifest; `None` when there is none, or this one is writing."""
        with self.mutex:
            current = None if self._writing else self.directory.current()
            is_stale = self._generation is None or self._generation.name != current
            if is_stale and not (self._pins and self._manifest):
                self._close_reader()
                if current:
                    self._generation = self.directory.open_current()
                    path = self._generation.path / MANIFEST
                    self._manifest = Manifest.open_generation(path) if path.exists() else None
            return self._manifest

    def close(self) -> None:
        """Let go of the files and of the connection."""
        with self.mutex:
            self._close_reader()
            self.collection.close()
            if self._writing is not None:
                self._writing.close()
                self._writing = None

    def _close_reader(self) -> None:
        for opened in (self._manifest, self._generation):
            if opened is not None:
                opened.close()
        self._manifest = self._generation = None
