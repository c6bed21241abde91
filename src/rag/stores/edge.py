"""`QdrantEdgeDocumentStore`: a Haystack document store on Qdrant Edge, in process.

It reads the current generation of an index, or, from its first write on, its own working
copy; `publish` makes what was written the generation that everybody reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from haystack import default_from_dict, default_to_dict

from rag.config import StoreConfig
from rag.stores.access import ShardAccess
from rag.stores.documents import NoteDocuments
from rag.stores.engine import StoreError
from rag.stores.generations import SHARD, IndexDirectory
from rag.stores.manifest import Manifest
from rag.stores.shard_backend import ShardBackend


class QdrantEdgeDocumentStore(NoteDocuments):
    """A document store in a folder, with one writer and any number of readers.

    ```python
    from haystack import Document
    from rag.stores import QdrantEdgeDocumentStore

    store = QdrantEdgeDocumentStore("/tmp/my-index")
    store.write_documents([Document(content="a note", meta={"tags": ["kitchen"]})])
    store.filter_documents({"field": "meta.tags", "operator": "==", "value": "kitchen"})
    store.publish()  # other processes see it from here on
    store.close()
    ```

    :param path: the folder of the index.
    :param similarity: how embeddings are compared: `cosine`, `dot_product` or `l2`.
    :param half_precision: keep embeddings in 16 bits a number: half the disk, the same ranking.
    """

    collection_name = StoreConfig.collection

    def __init__(self, path: str, similarity: str = "cosine", half_precision: bool = False) -> None:
        if similarity not in ("cosine", "dot_product", "l2"):
            raise ValueError(f"similarity {similarity!r}: use cosine, dot_product or l2")
        self.path = str(path)
        self.similarity = similarity
        self.half_precision = half_precision
        self.access = ShardAccess(IndexDirectory(path))
        super().__init__(ShardBackend(self.access, similarity, half_precision))

    def to_dict(self) -> dict[str, Any]:
        """Serialise the store's address, not its content."""
        return default_to_dict(
            self,
            path=self.path,
            similarity=self.similarity,
            half_precision=self.half_precision,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QdrantEdgeDocumentStore:
        """Make a store from what `to_dict` gave."""
        store: QdrantEdgeDocumentStore = default_from_dict(cls, data)
        return store

    def __deepcopy__(self, memo: dict[int, Any]) -> QdrantEdgeDocumentStore:
        # It stands for files and locks; Haystack copies component inputs.
        return self

    # -- opening and closing -----------------------------------------------------------

    def begin_writing(self, wait: bool = False) -> None:
        """Become the one writer of the index, until `close`.

        :raises LockedError: when another process is.
        """
        self.access.begin_writing(wait)

    def close(self) -> None:
        """Let go of the files; unpublished writes stay in the working copy."""
        self.access.close()

    def __enter__(self) -> QdrantEdgeDocumentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_readable(self) -> bool:
        """Whether there is anything to read: a generation, or this writer's own working copy."""
        return self.access.is_readable

    def publish(self, number: int | None = None) -> None:
        """Make what was written the current generation.

        :param number: the generation's number; by default the next one.
        :raises IndexingError: when the disk has no room.
        """
        self.access.publish(number)

    def release(self) -> None:
        """Let go of the working copy, which may then be removed; the lock is kept."""
        self.access.close_work()

    def lacks(self, expected: int) -> str:
        """Return what is wrong with a working copy that should hold so many points, or ""."""
        if not (self.directory.work / SHARD).exists():
            found = 0
        else:
            try:
                found = self.count_documents()
            except StoreError:
                return "the working copy could not be opened"
        return "" if found == expected else f"the working copy held {found} of {expected} chunks"

    # -- the manifest ------------------------------------------------------------------

    @property
    def directory(self) -> IndexDirectory:
        """The folder of the index."""
        return self.access.directory

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Go on reading the generation that is current now, whatever is published meanwhile."""
        with self.access.pinned():
            yield

    def manifest(self) -> Manifest | None:
        """Return the manifest of the generation being read.

        `None` when there is none: the index was made without one, or is being written here.
        """
        return self.access.manifest()
