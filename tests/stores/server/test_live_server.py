"""Against a Qdrant server that really runs: RAG_TEST_QDRANT_URL says where (`make integration`).

    docker run --rm -p 127.0.0.1:6333:6333 qdrant/qdrant
    RAG_TEST_QDRANT_URL=http://127.0.0.1:6333 make integration

Its collections begin with `rag-test-` and are deleted.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy

from rag.config import StoreConfig
from rag.stores import BaseDocumentStore, QdrantEdgeDocumentStore, QdrantServerDocumentStore
from store_documents import DOCUMENTS

# Read here: tests see none of the user's RAG_*.
URL = os.environ.get("RAG_TEST_QDRANT_URL", "")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not URL, reason="RAG_TEST_QDRANT_URL names no server"),
]
Both = tuple[QdrantEdgeDocumentStore, QdrantServerDocumentStore]


def direction(at: int) -> list[float]:
    return [float((at * at * n + n) % 11 - 5) + 0.25 for n in range(8)]


def words(at: int) -> SparseEmbedding:
    return SparseEmbedding([at % 3, 3 + at % 5, 8], [1.0 + at % 7, 2.0, 0.5])


def chunk(at: int) -> Document:
    meta = {
        "vault": ["work", "日記"][at % 2],
        "tags": ["a"] if at % 3 else ["a", "b"],
        "created": f"2025-0{1 + at % 9}-01",
        "file_id": str(uuid.UUID(int=at // 4)),
        "position": at % 4,
    }
    return Document(
        id=str(uuid.UUID(int=1000 + at)),
        content=f"chunk {at}",
        meta=meta,
        sparse_embedding=words(at),
        embedding=direction(at) if at % 10 else None,
    )


def delete(settings: StoreConfig) -> None:
    """Delete a collection and its catalog."""
    for name in (settings.collection, f"{settings.collection}.catalog"):
        httpx.delete(f"{settings.addresses[0]}/collections/{name}", timeout=30)


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Iterator[Both]:
    """The same documents in an embedded store and on the server."""
    base = tmp_path_factory.mktemp("live")
    settings = StoreConfig(url=URL, collection=f"rag-test-{uuid.uuid4()}", quantization="scalar")
    with (
        QdrantEdgeDocumentStore(str(base / "one"), is_quantized=True) as one,
        QdrantServerDocumentStore(str(base / "other"), settings) as other,
    ):
        for store in (one, other):
            store.write_documents(DOCUMENTS)
            store.write_documents([chunk(at) for at in range(120)])
        yield one, other
        delete(settings)


FILTERS = [
    None,
    {"field": "vault", "operator": "==", "value": "日記"},
    {"field": "tags", "operator": "in", "value": ["b", "c"]},
    {"field": "created", "operator": ">=", "value": "2025-05-01"},
    {"field": "n", "operator": ">", "value": 1},
    {"field": "date created", "operator": "!=", "value": None},
    {
        "operator": "NOT",
        "conditions": [{"field": "file_id", "operator": "==", "value": str(uuid.UUID(int=3))}],
    },
]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_select_the_same(both, filters):
    one, other = both
    assert {d.id for d in other.filter_documents(filters)} == {
        d.id for d in one.filter_documents(filters)
    }
    assert other.count_documents_by_filter(filters) == one.count_documents_by_filter(filters)


@pytest.mark.parametrize("filters", FILTERS[:5], ids=str)
def test_queries_find_the_same_with_the_same_scores(both, filters):
    query = SparseEmbedding([1, 4, 8], [1.0, 0.5, 0.1])
    for mine, theirs in zip(
        *(store.find_lists([(query, 200), (direction(7), 200)], filters) for store in both),
        strict=True,
    ):
        # Of only 8 numbers, 8 bits each leave cosines .002 off.
        scores = {c.id: pytest.approx(c.score, abs=4e-3) for c in mine}
        assert {c.id: c.score for c in theirs} == scores


def test_the_rest_of_what_ranking_asks_is_answered_alike(both):
    one, other = both
    assert other.newest(top_k=20) == one.newest(top_k=20)
    assert other.is_used(8) and not other.is_used(99)
    assert other.notes_with([1], 100) == one.notes_with([1], 100)
    assert (other.embedding_dim, other.count_embedded()) == (8, one.count_embedded())
    ids = [chunk(at).id for at in (5, 1)]
    assert [d.content for d in other.get_documents(ids)] == ["chunk 5", "chunk 1"]


def test_embeddings_are_dropped_and_come_in_another_size(both):
    _, other = both
    other.drop_embeddings()
    assert other.embedding_dim is None
    other.write_embeddings({chunk(1).id: [[1.0, 0.0]]})
    assert (other.embedding_dim, other.count_embedded()) == (2, 1)


def test_six_shards_one_shard_and_the_embedded_store_score_alike(tmp_path_factory):
    base = tmp_path_factory.mktemp("shards")
    settings = [
        StoreConfig(url=URL, collection=f"rag-test-{uuid.uuid4()}", shard_number=shards)
        for shards in (1, 6)
    ]
    with ExitStack() as stack:
        stores: list[BaseDocumentStore] = [
            stack.enter_context(QdrantEdgeDocumentStore(str(base / "embedded")))
        ]
        for number, one in enumerate(settings):
            server = QdrantServerDocumentStore(str(base / f"server {number}"), one)
            stores.append(stack.enter_context(server))
            stack.callback(delete, one)
        for store in stores:
            store.write_documents([chunk(at) for at in range(300)])
            changed = [replace(chunk(at), sparse_embedding=words(at + 1)) for at in range(50)]
            store.write_documents(changed, DuplicatePolicy.OVERWRITE)
            store.delete_documents([chunk(at).id for at in range(40, 90)])
        for query in (SparseEmbedding([1, 4, 8], [1.0, 0.5, 0.1]), words(2), words(3)):
            embedded, *others = (
                {c.id: c.score for c in store.find_candidates(query, top_k=500)} for store in stores
            )
            assert len(embedded) > 100
            assert all(other == pytest.approx(embedded, rel=1e-6) for other in others)
