"""The score that is shown, which compares between queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.pipelines import SearchResponse, create_search_pipeline, search
from rag.search.relevance import in_order, relevance
from rag.stores import get_document_store

Find = Callable[..., SearchResponse]
SUBJECTS = ("harbour", "lantern", "walnut", "violin", "glacier")
NOTES = {
    **{f"{word}.md": f"# On {word}s\n\nThe {word} is told of here." for word in SUBJECTS},
    **{f"{n}.md": f"# Note {n}\n\nOther things are told of here." for n in range(30)},
    "all.md": f"# Journey\n\nA {', a '.join(SUBJECTS)}.",
}


@pytest.fixture(scope="module")
def find(build_index) -> Iterator[Find]:
    with get_document_store(build_index({"v": NOTES})) as store:
        pipeline = create_search_pipeline(store)
        yield lambda query: search(pipeline, query, top_k=10)


def test_one_word_in_five_is_weak(find: Find) -> None:
    scores = {r.file_path: r.score for r in find(" ".join(SUBJECTS)).results}
    assert all(scores[f"{word}.md"] < 0.3 for word in SUBJECTS)


def test_a_note_that_holds_all_words_is_not(find: Find) -> None:
    best = find(" ".join(SUBJECTS)).results[0]
    assert (best.file_path, best.score > 0.6) == ("all.md", True)


@pytest.mark.parametrize("title", ["Journey", "On harbours", "Note 7"])
def test_a_note_that_is_called_so_is_sure(find: Find, title: str) -> None:
    assert find(title).results[0].score > 0.8


def test_words_that_no_note_holds_make_a_hit_weaker(find: Find) -> None:
    surer, weaker = find("harbour walnut"), find("harbour walnut zeppelin quagga")
    assert weaker.results[0].score < surer.results[0].score


FINITE = st.floats(0, 1e6)


@settings(deadline=None, max_examples=examples(200))
@given(FINITE, FINITE, FINITE, st.booleans())
def test_a_score_lies_between_nothing_and_one(
    words: float, full: float, meaning: float, named: bool
) -> None:
    assert 0 <= relevance(words, full, meaning, named) <= 1


@settings(deadline=None, max_examples=examples(200))
@given(FINITE, FINITE, st.floats(0.1, 1e4), st.floats(0, 3))
def test_more_words_never_score_less(a: float, b: float, full: float, meaning: float) -> None:
    low, high = sorted((a, b))
    assert relevance(low, full, meaning) <= relevance(high, full, meaning)


@pytest.mark.parametrize("words", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_score_is_nothing(words: float) -> None:
    assert relevance(words, 10.0) == 0.0


def test_the_nearest_in_meaning_is_worth_a_half() -> None:
    assert relevance(0.0, 10.0, meaning=1.0) == 0.5


def test_ranked_scores_never_rise() -> None:
    assert in_order([0.7, 0.9, 0.2]) == [0.7, 0.7, 0.2]
