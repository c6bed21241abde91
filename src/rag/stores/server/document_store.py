"""`QdrantServerDocumentStore`: the same documents as in the embedded store, on a Qdrant server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from haystack import default_to_dict

from rag.config import StoreConfig
from rag.index.snapshots import IndexDirectory
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.server.collection_points import CollectionPoints


class QdrantServerDocumentStore(BaseDocumentStore):
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

    def __init__(
        self,
        path: str,
        settings: StoreConfig | dict[str, Any],
        directory: IndexDirectory | None = None,
    ) -> None:
        self.settings = settings if isinstance(settings, StoreConfig) else StoreConfig(**settings)
        self.collection_name = self.settings.collection
        directory = directory or IndexDirectory(path)
        super().__init__(path, "cosine", CollectionPoints(directory, self.settings))

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, path=self.path, settings=asdict(self.settings))

    def missing_points(self, expected: int) -> str:
        """Return what is wrong with a collection that should hold so many points, or "".

        More of them are no harm: those that no note has are deleted when a run is published.
        """
        found = self.count_documents()
        return f"the server held {found} of {expected} chunks" if found < expected else ""
