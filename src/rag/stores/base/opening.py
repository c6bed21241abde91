"""Opening, writing, publishing and closing: what both stores hand on to their access."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

from rag.index.manifest import Manifest
from rag.index.snapshots import IndexDirectory
from rag.stores.base.backend import Backend
from rag.stores.base.document_store import NoteDocuments


class Access(Protocol):
    """One writer of an index and any number of readers: `ShardAccess` and `ServerAccess`."""

    directory: IndexDirectory

    @property
    def is_readable(self) -> bool: ...
    def begin_writing(self, wait: bool = False) -> None: ...
    def publish(self, number: int | None = None) -> None: ...
    def pinned(self) -> AbstractContextManager[None]: ...
    def manifest(self) -> Manifest | None: ...
    def close(self) -> None: ...


class OpenedDocuments(NoteDocuments):
    """The documents of a backend, which an access opens and closes.

    :param access: whose files, locks and connection it works with.
    """

    def __init__(self, access: Access, backend: Backend) -> None:
        super().__init__(backend)
        self._access = access

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # It stands for files, locks and connections; Haystack copies component inputs.
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process of this machine is.
        :raises UsageError: when a server's collection holds what this index did not write.
        :raises ConnectionError: when a server does not answer.
        """
        self._access.begin_writing(wait)

    def publish(self, number: int | None = None) -> None:
        """Make what was written what readers see.

        :param number: the generation's number; by default the next one.
        :raises IndexingError: when the disk has no room, or a server holds less.
        """
        self._access.publish(number)

    def close(self) -> None:
        """Let go of files and connections; unpublished writes stay in the working copy."""
        self._access.close()

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: something published, or being written here."""
        return self._access.is_readable

    @property
    def directory(self) -> IndexDirectory:
        """The folder of the index."""
        return self._access.directory

    def pinned(self) -> AbstractContextManager[None]:
        """Go on reading the generation that is current now, whatever is published meanwhile."""
        return self._access.pinned()

    def manifest(self) -> Manifest | None:
        """Return the manifest of the generation being read.

        `None` when there is none: the index was made without one, or is being written here.
        """
        return self._access.manifest()
