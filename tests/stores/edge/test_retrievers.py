"""The retrievers: their arguments, and their place in a Haystack pipeline."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.in_memory import InMemoryDocumentStore

from rag.stores import (
    QdrantEdgeDocumentStore,
    QdrantEdgeEmbeddingRetriever,
    QdrantEdgeSparseRetriever,
)

WORK = {"field": "meta.vault", "operator": "==", "value": "work"}
HOME = {"field": "meta.vault", "operator": "==", "value": "home"}
NEW = {"field": "meta.year", "operator": ">=", "value": 2025}

# What each retriever is asked; "near" is the best match for both, then "middle", then "far".
QUERIES: dict[type, dict[str, Any]] = {
    QdrantEdgeSparseRetriever: {"query_sparse_embedding": SparseEmbedding([1], [1.0])},
    QdrantEdgeEmbeddingRetriever: {"query_embedding": [1.0, 0.0]},
}
RETRIEVERS = list(QUERIES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[QdrantEdgeDocumentStore]:
    def document(name: str, vault: str, year: int, weight: float) -> Document:
        return Document(
            id=name,
            content=name,
            meta={"vault": vault, "year": year},
            embedding=[weight, 1.0],
            sparse_embedding=SparseEmbedding([1, 2], [weight, 1.0]),
        )

    with QdrantEdgeDocumentStore(str(tmp_path / "index")) as store:
        store.write_documents(
            [
                document("far", "work", 2025, 1.0),
                document("near", "work", 2024, 3.0),
                document("middle", "home", 2025, 2.0),
            ]
        )
        yield store


def names(found: dict[str, list[Document]]) -> list[str]:
    return [document.id for document in found["documents"]]


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_another_kind_of_store_is_refused(retriever: Any) -> None:
    with pytest.raises(ValueError, match="QdrantEdgeDocumentStore"):
        retriever(InMemoryDocumentStore())


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("arguments", [{"top_k": 0}, {"filter_policy": "perhaps"}])
def test_an_argument_that_cannot_be_meant_is_refused(
    retriever: Any, arguments: dict[str, Any], store: QdrantEdgeDocumentStore
) -> None:
    with pytest.raises(ValueError, match=r"top_k|perhaps"):
        retriever(store, **arguments)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize(
    ("policy", "expected"), [("replace", ["middle", "far"]), ("merge", ["far"])]
)
def test_filters_given_to_run_replace_or_join_its_own(
    retriever: Any, policy: str, expected: list[str], store: QdrantEdgeDocumentStore
) -> None:
    made = retriever(store, filters=WORK, filter_policy=policy)
    assert names(made.run(**QUERIES[retriever], filters=NEW)) == expected


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_pipeline_is_dumped_loaded_and_finds_the_same(
    retriever: Any, store: QdrantEdgeDocumentStore
) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever(store, filters=HOME, top_k=3))
    store.publish()
    store.close()
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
    found = loaded.run({"retriever": QUERIES[retriever]})["retriever"]
    assert loaded.to_dict() == pipeline.to_dict()
    assert names(found) == ["middle"]
    loaded.get_component("retriever").document_store.close()
