"""The layout of a collection, as far as it matters for notes, in what a server says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rag.stores.base.points import SPARSE
from rag.stores.edge.shard import FILTERED


class Layout(NamedTuple):
    """The layout of a collection that exists.

    :param sizes: of embeddings, by the names of their spaces.
    :param weighs_words: whether the server multiplies queries by the IDF, which `ChunkCounts` does.
    :param indexed: the fields of the payload that have an index.
    """

    sizes: Mapping[str, int]
    weighs_words: bool
    indexed: frozenset[str]

    @property
    def is_complete(self) -> bool:
        """Whether it is as this version of rag makes it, embeddings aside."""
        return not self.weighs_words and self.indexed.issuperset(FILTERED)


def parse_layout(described: Any) -> Layout:
    """Read the answer to `GET /collections/x`.

    :raises LookupError, TypeError, AttributeError: when it is not Qdrant's.
    """
    params: Mapping[str, Any] = described["config"]["params"]
    spaces: Mapping[str, Any] = params.get("vectors") or {}
    words = (params.get("sparse_vectors") or {}).get(SPARSE) or {}
    return Layout(
        {name: space["size"] for name, space in spaces.items()},
        words.get("modifier") == "idf",
        frozenset(described.get("payload_schema") or {}),
    )
