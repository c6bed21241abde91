"""`QdrantEdgeDocumentStore`: a Haystack document store on Qdrant Edge, in process."""

from __future__ import annotations

from typing import Any

from haystack import default_to_dict

from rag.config import StoreConfig
from rag.index.snapshots import IndexDirectory
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.shard import StoreError
from rag.stores.edge.shard_points import ShardPoints
from rag.support.disk_space import is_of_full_disk


class QdrantEdgeDocumentStore(BaseDocumentStore):
    """A document store in a folder, with one writer and any number of readers.

    It reads the current snapshot of an index, or, from its first write on, its own staging
    index; `publish` makes what was written the snapshot that everybody reads.

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
    :param points: those of the index, where it is being opened already.
    """

    collection_name = StoreConfig.collection
    points: ShardPoints

    def __init__(
        self,
        path: str,
        similarity: str = "cosine",
        is_quantized: bool = False,
        points: ShardPoints | None = None,
    ) -> None:
        if similarity not in ("cosine", "dot_product", "l2"):
            raise ValueError(f"similarity {similarity!r}: use cosine, dot_product or l2")
        points = points or ShardPoints(IndexDirectory(path), similarity, is_quantized)
        super().__init__(path, similarity, points)

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(
            self,
            path=self.path,
            similarity=self.similarity,
            is_quantized=self.points.is_quantized,
        )

    def missing_points(self, expected: int) -> str:
        try:
            held = self.count_documents()
        except StoreError as error:
            if is_of_full_disk(error, self.directory.path):
                raise
            return "the staging index could not be opened"
        return "" if held == expected else f"the staging index held {held} of {expected} chunks"
