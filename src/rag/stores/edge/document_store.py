"""`QdrantEdgeDocumentStore`: a Haystack document store on Qdrant Edge, in process.

It reads the current snapshot of an index, or, from its first write on, its own staging
index; `publish` makes what was written the snapshot that everybody reads.
"""

from __future__ import annotations

from typing import Any

from haystack import default_to_dict

from rag.config import StoreConfig
from rag.index.snapshots import SHARD, IndexDirectory
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.backend import ShardBackend
from rag.stores.edge.session import ShardAccess
from rag.stores.edge.shard import StoreError
from rag.support.disk_space import is_of_full_disk


class QdrantEdgeDocumentStore(BaseDocumentStore):
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
    :param is_quantized: keep embeddings in 8 bits a number: a quarter of the disk.
    :param access: what opens the index, where that has begun.
    """

    collection_name = StoreConfig.collection
    access: ShardAccess

    def __init__(
        self,
        path: str,
        similarity: str = "cosine",
        is_quantized: bool = False,
        access: ShardAccess | None = None,
    ) -> None:
        if similarity not in ("cosine", "dot_product", "l2"):
            raise ValueError(f"similarity {similarity!r}: use cosine, dot_product or l2")
        self.is_quantized = is_quantized
        access = access or ShardAccess(IndexDirectory(path))
        super().__init__(path, similarity, access, ShardBackend(access, similarity, is_quantized))

    def to_dict(self) -> dict[str, Any]:
        """Serialise the store's address, not its content."""
        return default_to_dict(
            self,
            path=self.path,
            similarity=self.similarity,
            is_quantized=self.is_quantized,
        )

    def missing_points(self, expected: int) -> str:
        if not (self.directory.work / SHARD).exists():
            found = 0
        else:
            try:
                found = self.count_documents()
            except StoreError as error:
                if is_of_full_disk(error, self.directory.path):
                    raise
                return "the staging index could not be opened"
        return "" if found == expected else f"the staging index held {found} of {expected} chunks"
