"""`QdrantServerDocumentStore`: the same documents as in the embedded store, on a Qdrant server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from haystack import default_from_dict, default_to_dict

from rag.config import StoreConfig
from rag.stores.collection import NoteCollection
from rag.stores.documents import NoteDocuments
from rag.stores.generations import IndexDirectory
from rag.stores.manifest import Manifest
from rag.stores.server_access import ServerAccess
from rag.stores.server_backend import ServerBackend


class QdrantServerDocumentStore(NoteDocuments):
    """A document store in a collection of a Qdrant server, with its manifest in a folder here.

    It holds the points that `QdrantEdgeDocumentStore` would hold, and answers as that does.
    Readers see a writer's points as they are written, and its manifest when it is published.

    ```python
    from rag.config import StoreConfig
    from rag.stores import QdrantServerDocumentStore

    store = QdrantServerDocumentStore("/tmp/my-index", StoreConfig(url="http://127.0.0.1:6333"))
    store.write_documents([Document(content="a note")])
    ```

    :param path: the folder of the index here; one for each collection.
    :param settings: the server and the collection; as a mapping when it is read from YAML. The
        API key is read from the environment when it is needed, and kept nowhere.
    :param directory: the folder, where the caller holds its lock already.
    """

    similarity = "cosine"

    def __init__(
        self,
        path: str,
        settings: StoreConfig | dict[str, Any],
        directory: IndexDirectory | None = None,
    ) -> None:
        self.path = str(path)
        self.settings = settings if isinstance(settings, StoreConfig) else StoreConfig(**settings)
        self.collection_name = self.settings.collection
        self.collection = NoteCollection(self.settings)
        self.access = ServerAccess(directory or IndexDirectory(path), self.collection)
        super().__init__(ServerBackend(self.access))

    def to_dict(self) -> dict[str, Any]:
        """Serialise the store's address, not its content and not its key."""
        return default_to_dict(self, path=self.path, settings=asdict(self.settings))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QdrantServerDocumentStore:
        """Make a store from what `to_dict` gave."""
        store: QdrantServerDocumentStore = default_from_dict(cls, data)
        return store

    def __deepcopy__(self, memo: dict[int, Any]) -> QdrantServerDocumentStore:
        # It stands for files and a connection; Haystack copies component inputs.
        return self

    # -- opening and closing -----------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`; make the collection if need be.

        :raises LockedError: when another process of this machine is.
        :raises UsageError: when the collection holds what this index did not write.
        :raises ConnectionError: when the server does not answer.
        """
        self.access.begin_writing(wait)

    def close(self) -> None:
        """Let go of the files and of the connection."""
        self.access.close()

    def __enter__(self) -> QdrantServerDocumentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: something published, or being written here."""
        return self.access.is_readable

    def publish(self, number: int | None = None) -> None:
        """Make the writer's manifest the current one, once the server holds what it says.

        :param number: the generation's number; by default the next one.
        :raises IndexingError: when the server holds less.
        """
        self.access.publish(number)

    def release(self) -> None:
        """Do nothing: no file of the working copy is kept open."""

    def lacks(self, expected: int) -> str:
        """Return what is wrong with a collection that should hold so many points, or "".

        More of them are no harm: those that no note has are deleted when a run is published.
        """
        found = self.count_documents()
        return f"the server held {found} of {expected} chunks" if found < expected else ""

    # -- the manifest ------------------------------------------------------------------

    @property
    def directory(self) -> IndexDirectory:
        """The folder of the index here."""
        return self.access.directory

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Go on reading the manifest that is current now, whatever is published meanwhile."""
        with self.access.pinned():
            yield

    def manifest(self) -> Manifest | None:
        """Return the published manifest; `None` when there is none, or this one is writing."""
        return self.access.manifest()
