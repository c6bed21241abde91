"""Embeddings that come in after the words, of either engine."""

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.exceptions import IndexUnavailableError
from rag.stores import QdrantEdgeDocumentStore

Store = QdrantEdgeDocumentStore


def doc(name: str, vault: str = "work", embedding: list[float] | None = None) -> Document:
    words = SparseEmbedding([1, 2], [1.0, 0.5])
    meta = {"vault": vault}
    return Document(
        id=name, content=f"text of {name}", meta=meta, sparse_embedding=words, embedding=embedding
    )


def lacking(store: Store) -> list[str]:
    return sorted(store.without_embedding())


@pytest.fixture
def store(either) -> Store:
    return either


@pytest.fixture
def three(store) -> Store:
    store.write_documents([doc("a"), doc("b"), doc("c", "home")])
    return store


def test_documents_get_embeddings_later_and_keep_all_else(three):
    before = {d.id: d for d in three.filter_documents()}
    three.write_embeddings({"a": [[0.6, 0.8]]})
    after = {d.id: d for d in three.filter_documents()}
    assert after["a"].embedding == pytest.approx([0.6, 0.8], abs=1e-6)
    assert after["a"].content == before["a"].content and after["a"].meta == before["a"].meta
    assert after["a"].sparse_embedding == before["a"].sparse_embedding
    assert after["b"].embedding is None


def test_a_document_is_found_by_its_nearest_sentence(three):
    three.write_embeddings({"a": [[1.0, 0.0], [0.0, 1.0]], "b": [[0.8, 0.6]], "c": [[-1.0, 0.0]]})
    query = [0.0, 1.0]
    [nearest] = three.find_lists([(query, 3)])
    assert [c.id for c in nearest] == ["a", "b", "c"]
    assert [c.score for c in nearest] == pytest.approx([1.0, 0.6, 0.0], abs=1e-2)
    assert three.score_each([(query, ["b"])]) == [{"b": pytest.approx(0.6, abs=1e-2)}]


@pytest.mark.parametrize("bad", [[], [float("nan"), 1.0], [1.0, 2.0, 3.0]])
def test_a_bad_embedding_is_refused_and_none_of_its_batch_is_written(three, bad):
    three.write_embeddings({"a": [[1.0, 0.0]]})
    with pytest.raises(ValueError, match=r"embedding"):
        three.write_embeddings({"b": [[0.0, 1.0]], "c": [bad]})
    assert lacking(three) == ["b", "c"]


def test_an_embedding_of_no_document_is_refused(three):
    with pytest.raises(IndexUnavailableError):
        three.write_embeddings({"nobody": [[1.0, 0.0]]})
    assert three.count_documents() == 3


def test_after_dropping_all_embeddings_may_have_another_size(three):
    three.write_embeddings({"a": [[1.0, 0.0]]})
    three.drop_embeddings()
    assert (three.embedding_dim, three.count_embedded()) == (None, 0)
    three.write_embeddings({"b": [[1.0, 0.0, 0.0]]})
    assert (three.embedding_dim, lacking(three)) == (3, ["a", "c"])


def test_quantized_embeddings_keep_a_hundredth(path):
    with Store(path, is_quantized=True) as store:
        store.write_documents([doc("a", embedding=[0.6, 0.8])])
        [found] = store.filter_documents()
        assert found.embedding == pytest.approx([0.6, 0.8], abs=1e-2)
        assert found.embedding != [0.6, 0.8]
