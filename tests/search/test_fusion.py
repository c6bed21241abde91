"""`fuse`: words and meaning in one score."""

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag.search.query import WEIGHTS
from rag.search.score_fusion import fuse
from rag.stores.base.points import Candidate
from tables import rows

NAMES = st.sampled_from([f"c{n}" for n in range(12)])
COSINES = st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 3))
FULL = st.floats(0.1, 60)
WORDS = st.dictionaries(NAMES, st.floats(0, 40).map(lambda x: round(x, 3)), min_size=1)
NEAR = st.dictionaries(NAMES, COSINES)
SAMPLES = st.lists(COSINES, min_size=2, max_size=30).filter(lambda some: max(some) > min(some))
SAMPLE = [0.1, 0.2, 0.3]  # mean .2, deviation .0816


def found(**scores: float) -> list[Candidate]:
    return [Candidate(name, name, 0, score) for name, score in scores.items()]


def fused(words: dict[str, float], near: dict[str, float], *how: Any) -> dict[str, float]:
    """The score of each candidate, by its name."""
    return {c.id: c.score for c in fuse(found(**words), near, *how)}


def gain(cosine: float | None, words: float = 0.0, *how: Any) -> float:
    """What a candidate gains by its cosine."""
    [candidate] = fuse(found(a=words), {} if cosine is None else {"a": cosine}, *how)
    return candidate.meaning


def order(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda name: (-round(scores[name], 6), name))


def test_a_chunk_gains_by_how_much_nearer_it_is_than_the_average():
    deviation = math.sqrt(0.02 / 3)
    unit = 10.0 * WEIGHTS.meaning
    assert gain(0.2 + deviation, 0.0, SAMPLE, 10.0) == pytest.approx(unit * math.log(2))
    assert gain(0.2 + 9 * deviation, 0.0, SAMPLE, 10.0) == pytest.approx(unit * 8, rel=1e-3)
    assert gain(0.2 - 8 * deviation, 0.0, SAMPLE, 10.0) == pytest.approx(0, abs=unit * 1e-3)


def test_what_only_meaning_finds_gains_as_what_words_find_too():
    scores = fused({"a": 3.0, "b": 0.0}, {"a": 0.4, "b": 0.4}, SAMPLE, 10.0)
    assert scores["a"] == pytest.approx(scores["b"] + 3.0)


def test_without_an_embedding_a_chunk_gains_more_the_more_of_the_words_it_holds():
    few, many = fuse(found(a=2.0, b=8.0), {}, SAMPLE, 10.0)
    assert 0 < few.meaning < many.meaning
    assert few.cosine == many.cosine == 0


def test_the_fewer_chunks_have_an_embedding_the_less_meaning_counts():
    for cosine, words in ((0.4, 0.0), (None, 3.0)):
        whole, half = (gain(cosine, words, SAMPLE, 10.0, share) for share in (1.0, 0.5))
        assert half == pytest.approx(whole / 4)


def test_meaning_counts_up_to_elevenfold_where_no_text_holds_much_of_the_query():
    gains = [gain(0.8, 0.0, SAMPLE, 10.0, 1.0, c) for c in (1.0, 0.7, 0.35, 0.0)]
    assert gains == pytest.approx([gains[0], gains[0], 3.5 * gains[0], 11 * gains[0]])


@rows("sample", [], [0.7], [0.7] * 9)
def test_where_nothing_tells_chunks_apart_the_order_is_that_of_the_words(sample):
    scores = fused({"a": 3.0, "b": 2.0, "c": 0.0}, {"a": 0.7, "c": 0.7}, sample, 10.0)
    assert scores["a"] - scores["b"] == pytest.approx(1.0)
    assert scores["b"] - scores["c"] == pytest.approx(2.0)
    assert scores["c"] > 0


@given(WORDS, NEAR, SAMPLES, FULL)
def test_nothing_is_lost_and_words_count_as_before(words, near, sample, full):
    some = fuse(found(**words), near, sample, full)
    assert [c.id for c in some] == [*words]
    for candidate in some:
        assert candidate.meaning >= 0
        assert candidate.score == words[candidate.id] + candidate.meaning


@given(WORDS, NEAR, SAMPLES, FULL, st.floats(0.01, 100), st.floats(-5, 5))
def test_in_which_range_a_models_cosines_lie_does_not_matter(
    words, near, sample, full, scale, offset
):
    def moved(cosine: float) -> float:
        return cosine * scale + offset

    first = fused(words, near, sample, full)
    second = fused(
        words,
        {name: moved(cosine) for name, cosine in near.items()},
        [*map(moved, sample)],
        full,
    )
    assert second == pytest.approx(first, rel=1e-6)


@given(SAMPLES, FULL, COSINES, COSINES)
def test_what_is_nearer_gains_no_less(sample, full, one, other):
    low, high = sorted((one, other))
    assert gain(low, 0.0, sample, full) <= gain(high, 0.0, sample, full)


@given(WORDS, SAMPLES, FULL)
def test_without_any_embedding_the_order_is_that_of_the_words(words, sample, full):
    assert order(fused(words, {}, sample, full)) == order(words)


@given(NEAR, SAMPLES, FULL)
def test_without_words_the_order_is_that_of_the_cosines(near, sample, full):
    assume(near)
    scores = fused(dict.fromkeys(near, 0.0), near, sample, full)
    by_cosine = sorted(near, key=lambda name: -near[name])
    in_order = [scores[name] for name in by_cosine]
    assert in_order == sorted(in_order, reverse=True)
