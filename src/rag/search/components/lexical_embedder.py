"""The component that gives a query its sparse vector."""

from __future__ import annotations

from haystack import component
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.weights import WEIGHTS
from rag.text.bm25 import encode_query


@component
class LexicalTextEmbedder:
    """Give a query the sparse vector of BM25."""

    @component.output_types(sparse_embedding=SparseEmbedding)
    def run(self, text: str, also: list[str] | None = None) -> dict[str, SparseEmbedding]:
        """Return `sparse_embedding`; empty when the query holds no word.

        :param also: further words to look for, at a little less weight.
        """
        vector = encode_query(text, also or (), WEIGHTS.fields)
        return {"sparse_embedding": SparseEmbedding(vector.indices, vector.values)}
