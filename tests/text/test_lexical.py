"""BM25 as sparse vectors: `encode_document`, `encode_query`, `content_terms`, `bounded_score`."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.text.lexical import (
    AVERAGE_WORDS,
    K1,
    B,
    SparseVector,
    bounded_score,
    content_terms,
    encode_document,
    encode_query,
)
from rag.text.tokens import terms

ANY_TEXT = st.text(
    st.one_of(st.sampled_from("ab cd 日本語の、。がぎ\n"), st.characters(exclude_categories=())),
    max_size=80,
)


def score(query: str, document: str) -> float:
    """The dot product, which is what the store computes, without its idf."""
    weights = dict(zip(*(lambda v: (v.indices, v.values))(encode_document(document)), strict=True))
    asked = encode_query(query)
    return sum(
        value * weights.get(index, 0.0)
        for index, value in zip(asked.indices, asked.values, strict=True)
    )


@settings(deadline=None, max_examples=400)
@given(ANY_TEXT)
def test_vectors_are_what_the_store_demands(text: str) -> None:
    for vector in (encode_document(text), encode_query(text)):
        assert len(vector.indices) == len(vector.values)
        assert len(set(vector.indices)) == len(vector.indices)
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(value > 0 and math.isfinite(value) for value in vector.values)


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT)
def test_a_text_with_words_finds_itself(text: str) -> None:
    assert (score(text, text) > 0) == bool(terms(text))


@pytest.mark.parametrize("text", ["", " \n", "。！", "---"])
def test_a_text_without_words_is_an_empty_vector(text: str) -> None:
    assert encode_document(text) == encode_query(text) == SparseVector([], [])


def test_the_weight_of_a_term_is_bm25s() -> None:
    text = "apple " * 3 + "pear " * 7
    k = K1 * (1 - B + B * 10 / AVERAGE_WORDS)
    assert score("apple", text) == pytest.approx(3 * (K1 + 1) / (3 + k))


def test_six_grams_make_a_text_as_long_as_one_word() -> None:
    grams = 2 * 30 - 1
    k = K1 * (1 - B + B * (grams / 6) / AVERAGE_WORDS)
    assert encode_document("ん" * 30).values[0] == pytest.approx(30 * (K1 + 1) / (30 + k))


def test_more_of_a_term_weighs_more_but_never_more_than_the_limit() -> None:
    scores = [score("りんご", "りんご。" * n) for n in (1, 2, 5)]
    assert scores == sorted(set(scores))
    assert all(value < K1 + 1 for value in encode_document("apple " * 5000).values)


def test_the_same_words_weigh_less_in_a_longer_text() -> None:
    assert score("apple", "apple " + "pear " * 20) < score("apple", "apple pear")
    assert score("林檎", "林檎。" + "梨と桃。" * 20) < score("林檎", "林檎。梨と桃。")


def test_words_side_by_side_weigh_more_than_apart() -> None:
    assert score("green tea", "a cup of green tea") > score("green tea", "a tea of green cup")
    assert score("緑茶", "熱い緑茶を飲む") > score("緑茶", "緑の茶を飲む")


def test_a_query_finds_other_forms_of_its_words() -> None:
    assert score("linking notes", "How to link a note") > 0
    assert score("ＰＤＦ", "Export to pdf") > 0
    assert score("ﾌﾟﾗｸﾞｲﾝ", "コミュニティプラグインの一覧") > 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("How do I link to a heading?", {"link": 1, "head": 1}),
        ("What is a vault?", {"vault": 1}),
        ("ＨＯＷ ｔｏ export", {"export": 1}),
        ("link the link", {"link": 2}),
        ("リンクの作り方を教えてください", terms("リンクの作り方を")),
        ("金庫とは何ですか", terms("金庫")),
        ("なぜ同期", terms("同期")),
    ],
)
def test_question_words_are_left_out(query: str, expected: dict[str, int] | list[str]) -> None:
    assert content_terms(query) == Counter(expected)


@pytest.mark.parametrize("query", ["who is who", "to be or not to be", "いつ", "どうやって"])
def test_question_words_stay_when_nothing_else_remains(query: str) -> None:
    assert content_terms(query) == Counter(terms(query))
    assert encode_query(query).indices


def test_a_longer_query_repeats_its_terms_in_its_weights() -> None:
    once, twice = encode_query("sync"), encode_query("sync, sync")
    assert once.indices[0] == twice.indices[0]
    assert twice.values[0] == 2 * once.values[0]


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_score_that_is_none_is_bounded_to_nothing(value: float) -> None:
    assert bounded_score(value, "sync") == 0.0


def test_a_score_without_a_query_is_nothing() -> None:
    assert bounded_score(5.0, "。") == 0.0


@settings(deadline=None, max_examples=100)
@given(st.floats(0.001, 1e6), st.floats(0.001, 1e6), st.sampled_from(["sync", "同期", "a b c"]))
def test_bounded_scores_keep_the_order_and_stay_below_one(a: float, b: float, query: str) -> None:
    low, high = sorted((a, b))
    assert 0 < bounded_score(low, query) <= bounded_score(high, query) < 1


def test_one_match_of_a_term_found_in_one_text_of_twenty_is_a_half() -> None:
    assert bounded_score(3.0, "sync") == 0.5
