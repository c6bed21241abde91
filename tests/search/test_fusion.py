"""`fuse`: words and meaning in one score."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag.search.score_fusion import fuse
from rag.stores.base.scored_chunk import Candidate

COSINES = st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 4))
WEIGHTS = st.floats(0.1, 50)


def found(**scores: float) -> list[Candidate]:
    """Candidates as a store returns them: best first."""
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [Candidate(name, name, 0, score) for name, score in ranked]


def scored(candidates: list[Candidate]) -> dict[str, float]:
    return {candidate.id: candidate.score for candidate in candidates}


def ranked(candidates: list[Candidate]) -> list[str]:
    return [c.id for c in sorted(candidates, key=lambda c: (-c.score, c.id))]


@st.composite
def lists(draw: st.DrawFn) -> tuple[list[Candidate], list[Candidate]]:
    """What is found by words and what is nearest, some of it the same."""
    names = st.sampled_from([f"c{n}" for n in range(12)])
    words = draw(st.dictionaries(names, st.floats(0, 40)))
    near = draw(st.dictionaries(names, COSINES))
    return found(**words), found(**near)


def test_the_nearest_gains_the_weight_and_the_last_of_a_full_list_nothing():
    fused = scored(fuse(found(a=3, b=2, c=1), found(c=0.9, b=0.7, a=0.5), 4.0, 3))
    assert fused == pytest.approx({"a": 3, "b": 2 + 2, "c": 1 + 4})


def test_the_floor_of_a_shorter_list_is_zero():
    fused = scored(fuse(found(a=3, b=2), found(b=0.8, a=0.4), 4.0, 100))
    assert fused == pytest.approx({"a": 3 + 2, "b": 2 + 4})


def test_what_only_meaning_finds_is_found():
    [only] = fuse([], found(a=0.8), 4.0, 100)
    assert only == Candidate("a", "a", 0, 4.0, 4.0, 0.8)


def test_what_only_words_find_keeps_its_score():
    fused = fuse(found(a=3), found(b=0.8), 4.0, 100)
    assert Candidate("a", "a", 0, 3, 0.0, 0.0) in fused


def test_it_says_what_of_a_score_is_meaning_and_how_near_that_was():
    [both] = fuse(found(a=3), found(a=0.8), 4.0, 100)
    assert both == Candidate("a", "a", 0, 7.0, 4.0, 0.8)


def test_ties_stay_ties():
    fused = scored(fuse(found(a=1, b=1), found(a=0.5, b=0.5, c=0.1), 4.0, 3))
    assert fused["a"] == fused["b"]


@pytest.mark.parametrize("depth", [1, 3])
def test_a_full_list_that_is_all_alike_changes_nothing(depth):
    alike = [Candidate(name, name, 0, 0.7) for name in "abcx"]
    assert scored(fuse(found(a=3, b=2), alike, 4.0, depth)) == {"a": 3, "b": 2}


def test_what_is_turned_away_from_the_query_is_not_found():
    assert fuse([], found(a=0.5, b=-0.5), 4.0, 100) == fuse([], found(a=0.5), 4.0, 100)
    assert fuse([], found(a=-0.5), 4.0, 100) == []


def test_nothing_and_nothing_is_nothing():
    assert fuse([], [], 4.0, 100) == []


@given(lists(), WEIGHTS)
def test_without_a_dense_list_words_stay_as_they_are(both, weight):
    words, _ = both
    assert fuse(words, [], weight, 100) == words


@given(lists(), WEIGHTS, st.integers(1, 30))
def test_gains_lie_within_0_and_the_weight_and_nothing_found_by_words_is_lost(both, weight, depth):
    words, nearest = both
    fused = fuse(words, nearest, weight, depth)
    before = scored(words)
    assert before.keys() <= scored(fused).keys() <= before.keys() | scored(nearest).keys()
    assert len(fused) == len(scored(fused))
    for candidate in fused:
        assert 0 <= candidate.meaning <= weight * (1 + 1e-9)
        assert candidate.score == before.get(candidate.id, 0.0) + candidate.meaning


@given(lists(), WEIGHTS, st.integers(1, 30))
def test_what_is_nearer_gains_no_less(both, weight, depth):
    words, nearest = both
    gains = {candidate.id: candidate.meaning for candidate in fuse(words, nearest, weight, depth)}
    in_order = [gains.get(candidate.id, 0.0) for candidate in nearest]
    assert in_order == sorted(in_order, reverse=True)


@given(lists(), WEIGHTS, st.floats(0.01, 100), st.floats(-5, 5))
def test_the_range_of_a_full_lists_cosines_does_not_matter(both, weight, scale, offset):
    words, nearest = both
    assume(len({candidate.score for candidate in nearest}) > 1)
    moved = [c._replace(score=c.score * scale + offset) for c in nearest]
    first = scored(fuse(words, nearest, weight, len(nearest)))
    second = scored(fuse(words, moved, weight, len(nearest)))
    for key in first.keys() | second.keys():
        assert second.get(key, 0.0) == pytest.approx(first.get(key, 0.0), abs=1e-6 * weight)


@given(lists(), WEIGHTS)
def test_with_nothing_by_words_the_order_is_that_of_the_cosines(both, weight):
    _, nearest = both
    gaining = fuse([], nearest, weight, 100)
    names = {candidate.id for candidate in gaining}
    assert [c.score for c in sorted(gaining, key=lambda c: -c.cosine)] == sorted(
        (c.score for c in gaining), reverse=True
    )
    assert names == {c.id for c in nearest if c.score > 0}
