"""What ranking asks of an index beyond Haystack's protocol, of either engine."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.stores import QdrantEdgeDocumentStore
from rag.stores.base.points import Candidate

Store = QdrantEdgeDocumentStore


def doc(name: str, *weights: tuple[int, float], **meta: Any) -> Document:
    """`doc("a", (1, 0.5), vault="work")`: weighs .5 in dimension 1; no weights, no vector."""
    vector = SparseEmbedding(*map(list, zip(*weights, strict=True))) if weights else None
    return Document(id=name, content=f"text of {name}", meta=meta, sparse_embedding=vector)


def query(**weights: float) -> SparseEmbedding:
    """`query(d1=0.5)`: asks for dimension 1 with a weight of .5."""
    return SparseEmbedding([int(name[1:]) for name in weights], list(weights.values()))


def ids(found: list[Any]) -> list[str]:
    return [one.id for one in found]


@pytest.fixture
def store(either) -> Store:
    return either


# -- candidates ------------------------------------------------------------------------


def test_the_best_candidates_come_first(store):
    store.write_documents([doc(str(n), (1, 1.0 + n % 7), (2 + n % 3, 2.0 + n)) for n in range(60)])
    candidates = store.find_candidates(query(d1=1.0, d2=0.5), top_k=20)
    scores = [candidate.score for candidate in candidates]
    assert len(scores) == 20 and scores == sorted(scores, reverse=True)


def test_a_candidate_names_its_note_and_its_section(store):
    note = str(uuid.uuid4())
    store.write_documents([doc("chunk", (1, 1.0), file_id=note, section=3)])
    [candidate] = store.find_candidates(query(d1=1.0))
    assert candidate == Candidate("chunk", note, 3, candidate.score)
    assert candidate.score > 0


# -- all that hold a word --------------------------------------------------------------


def holding(store: Store, dimension: int) -> list[Document]:
    """Return all documents whose sparse vector has a dimension."""
    return store.get_documents([*(store.points_with([dimension], 10_000) or {})])


def test_notes_with_any_of_some_words_are_named_once(store):
    store.write_documents(
        [
            doc("a", (1, 1.0), file_id="first"),
            doc("b", (2, 1.0), file_id="first"),
            doc("c", (2, 1.0), file_id="second"),
            doc("d", (3, 1.0), file_id="third"),
        ]
    )
    assert store.notes_with([1, 2], 3) == ["first", "second"]
    assert store.notes_with([9], 3) == []


def test_all_are_found_however_many_there_are(store):
    store.write_documents(
        [doc(f"{n:02}", (1, 1.0), file_id=str(uuid.UUID(int=n))) for n in range(30)]
    )
    assert sorted(ids(holding(store, 1))) == [f"{n:02}" for n in range(30)]
    assert len(store.notes_with([1], 30) or ()) == 30
    assert store.notes_with([1], 29) is None


def test_more_points_than_wanted_are_none(store):
    store.write_documents([doc(name, (1, 1.0)) for name in "abc"])
    assert store.points_with([1], 2) is None
    assert store.points_with([9], 0) == {}
    assert store.points_with([1], 0) is None


# -- scores, taken apart ---------------------------------------------------------------


WEIGHTS = st.floats(0.125, 8, width=16)
VECTORS = st.dictionaries(st.integers(0, 5), WEIGHTS, min_size=1)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Iterator[Store]:
    """A store that every example empties and fills anew."""
    with Store(str(tmp_path_factory.mktemp("scratch") / "index")) as store:
        yield store


@settings(max_examples=examples(50))
@given(vectors=st.lists(VECTORS, min_size=1, max_size=8), asked=VECTORS)
def test_the_scores_of_the_dimensions_add_up_to_the_candidate_s(scratch, vectors, asked):
    scratch.delete_documents(ids(scratch.filter_documents()))
    scratch.write_documents([doc(str(n), *vector.items()) for n, vector in enumerate(vectors)])
    sparse = SparseEmbedding(list(asked), list(asked.values()))
    candidates = scratch.find_candidates(sparse)
    alone = [query(**{f"d{dimension}": weight}) for dimension, weight in asked.items()]
    by_dimension = scratch.score_each([(one, ids(candidates)) for one in alone])
    sharing = {str(n) for n, vector in enumerate(vectors) if vector.keys() & asked}
    assert set(ids(candidates)) == sharing
    for candidate in candidates:
        parts = [scores[candidate.id] for scores in by_dimension if candidate.id in scores]
        assert sum(parts) == pytest.approx(candidate.score, rel=1e-5)
        assert len(parts) == len(vectors[int(candidate.id)].keys() & asked)


# -- the newest ------------------------------------------------------------------------


def test_the_notes_created_last_come_first(store):
    store.write_documents(
        [
            doc("old", created="2023-12-31"),
            doc("morning", created="2025-03-14T08:00:00"),
            doc("evening", created="2025-03-14T20:00:00"),
            doc("day", created="2025-03-14"),
            doc("ancient", created="1969-07-20"),
        ]
    )
    assert ids(store.newest()) == ["evening", "morning", "day", "old", "ancient"]


def test_documents_without_a_date_are_listed_after_the_others(store):
    store.write_documents([doc("dated", created="2025-01-01"), doc("bare"), doc("no", created="")])
    assert ids(store.newest()) == ["dated", "bare", "no"]
    assert ids(store.newest(top_k=1)) == ["dated"]
