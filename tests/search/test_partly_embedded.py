"""Chunks with an embedding beside chunks without, in a real store with vectors made up here."""

import math
from collections.abc import Iterator

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.components.note_ranker import ChunkRetriever, rank_notes
from rag.search.query import Query
from rag.stores import QdrantEdgeDocumentStore
from rag.stores.base.points import Candidate

QUERY = [1.0, 0.0]
WORD = SparseEmbedding([1], [1.0])
FULL = 3.0


def at(cosine: float) -> list[float]:
    """A vector of that cosine to the query's."""
    return [cosine, math.sqrt(1 - cosine * cosine)]


def chunk(name: str, words: float = 0.0, cosine: float | None = None) -> Document:
    sparse = SparseEmbedding([1], [words]) if words else SparseEmbedding([2], [1.0])
    return Document(
        id=name,
        content=name,
        meta={"file_id": name, "section": 0},
        sparse_embedding=sparse,
        embedding=None if cosine is None else at(cosine),
    )


@pytest.fixture
def store(tmp_path) -> Iterator[QdrantEdgeDocumentStore]:
    with QdrantEdgeDocumentStore(str(tmp_path / "index")) as made:
        made.write_documents([chunk(f"far {n}", cosine=n / 100) for n in range(40)])
        yield made


def found(store: QdrantEdgeDocumentStore, share: float = 1.0) -> dict[str, Candidate]:
    query = Query("", "", embedding=QUERY, full=FULL, mode="hybrid", share=share)
    vars(query)["lexical"] = WORD  # in the place of that of the text
    retrieval = ChunkRetriever(store).run(query)["retrieval"]
    return {candidate.id: candidate for candidate in retrieval.candidates}


def test_what_words_find_gains_by_its_own_cosine_though_others_are_nearer(store, monkeypatch):
    monkeypatch.setattr(Query, "chunk_limit", 1)
    store.write_documents([chunk("both", 1.0, 0.5), chunk("nearer", cosine=0.9)])
    candidates = found(store)
    assert set(candidates) == {"both", "nearer"}
    assert candidates["both"].cosine == pytest.approx(0.5, abs=1e-3)
    assert candidates["both"].meaning > 0


def test_of_the_same_words_the_unknown_lies_between_the_near_and_the_far(store):
    store.write_documents(
        [chunk("near", 1.0, 0.99), chunk("unknown", 1.0), chunk("distant", 1.0, 0.01)]
    )
    candidates = found(store)
    ranked = sorted(candidates, key=lambda name: -candidates[name].score)
    order = [name for name in ranked if name in ("near", "unknown", "distant")]
    assert order == ["near", "unknown", "distant"]
    assert candidates["unknown"].cosine == 0


def test_the_first_vectors_already_find_what_words_do_not(store):
    store.write_documents([chunk("meant", cosine=0.9), chunk("worded", 1.0)])
    candidates = found(store, share=0.01)
    assert candidates["meant"].meaning > candidates["far 1"].meaning
    assert candidates["worded"].score > candidates["meant"].score


def test_meaning_counts_for_the_best_section_of_a_note_alone():
    one = Candidate("a", "long", 0, 5.0, meaning=2.0)
    other = Candidate("b", "long", 1, 4.0, meaning=1.5)
    [hit] = rank_notes([one, other], Query("words", "words"))
    assert hit.score == pytest.approx(5.0 + 0.3 * 2.5)
    assert [part.meaning for part in hit.parts] == [2.0, 0.0]


@pytest.mark.parametrize("words", [FULL, 0.1])
def test_the_nearest_sentence_counts(store, words):
    store.write_documents([chunk("split"), chunk("worded", words)])
    above, below = at(0.8), [at(0.8)[0], -at(0.8)[1]]
    store.write_embeddings({"split": [above, below]})  # their mean is the query's direction
    assert found(store)["split"].cosine == pytest.approx(0.8, abs=1e-2)
