"""The score that is shown, which compares between queries."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.pipelines import SearchResponse
from rag.search.relevance import Evidence, are_borne
from tables import rows

Find = Callable[..., SearchResponse]
SUBJECTS = ("harbour", "lantern", "walnut", "violin", "glacier")
NOTES = {
    **{f"{word}.md": f"# On {word}s\n\nThe {word} is told of here." for word in SUBJECTS},
    **{f"{n}.md": f"# Note {n}\n\nOther things are told of here." for n in range(30)},
    "all.md": f"# Journey\n\nA {', a '.join(SUBJECTS)}.",
}


@pytest.fixture(scope="module")
def find(searching) -> Find:
    return searching({"v": NOTES}, top_k=10)


def test_one_word_in_five_is_weak(find):
    scores = {r.file_path: r.score for r in find(" ".join(SUBJECTS)).results}
    assert all(scores[f"{word}.md"] < 0.3 for word in SUBJECTS)


def test_a_note_that_holds_all_words_is_not(find):
    best = find(" ".join(SUBJECTS)).results[0]
    assert (best.file_path, best.score > 0.6) == ("all.md", True)


@rows("title", "Journey", "On harbours", "Note 7")
def test_a_note_that_is_called_so_is_sure(find, title):
    assert find(title).results[0].score > 0.8


def test_words_that_no_note_holds_make_a_hit_weaker(find):
    surer, weaker = find("harbour walnut"), find("harbour walnut zeppelin quagga")
    assert weaker.results[0].score < surer.results[0].score


COVERED = st.none() | st.floats(0, 100)
EXCESS = st.none() | st.floats(-1, 1)
MARGIN = st.floats(-100, 100)


@settings(max_examples=examples(200))
@given(COVERED, EXCESS, MARGIN, st.booleans())
def test_a_score_lies_between_nothing_and_one(words, excess, margin, named):
    assert 0 <= Evidence(words, excess, margin, named).score() <= 1


@settings(max_examples=examples(200))
@given(st.floats(0, 100), st.floats(0, 100), EXCESS, MARGIN)
def test_more_words_never_speak_against_a_note(a, b, excess, margin):
    low, high = (Evidence(words, excess, margin) for words in sorted((a, b)))
    assert low.score() <= high.score() and low.presence() <= high.presence()


@settings(max_examples=examples(200))
@given(COVERED, st.floats(-1, 1), st.floats(-1, 1), MARGIN)
def test_nor_does_nearness(words, a, b, margin):
    low, high = (Evidence(words, excess, margin) for excess in sorted((a, b)))
    assert low.score() <= high.score() and low.presence() <= high.presence()


def test_a_list_is_shown_where_words_or_nearness_bear_it_and_ends_where_they_do_not():
    near, held = Evidence(0.0, 0.12, 0.0), Evidence(1.0, 0.03, 0.0)
    stranger = Evidence(0.0, 0.01, 0.0)
    assert are_borne([near, held, stranger]) == [True, True, False]
    assert are_borne([stranger, stranger]) == [False, False]
    assert are_borne([]) == []
    just_written = Evidence(0.9, None, 0.5)
    assert are_borne([just_written, stranger]) == [True, False]


def test_a_note_that_is_called_so_is_shown_whatever_else_speaks_for_it():
    assert are_borne([Evidence(0.0, -0.1, 0.0, is_named=True)]) == [True]


def test_a_note_that_holds_all_words_of_a_query_is_shown_however_far_it_is_in_meaning():
    assert are_borne([Evidence(1.1, -0.015, 0.5), Evidence(0.0, 0.03, 0.0)]) == [True, False]


def test_a_score_is_the_same_however_many_results_are_wanted(find):
    [one] = find("harbour lantern", top_k=1).results
    best, *_ = find("harbour lantern", top_k=5).results
    assert one.score == best.score
