"""What stands side by side in a query and in a text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rag.text.bm25 import pieces, saturated
from rag.text.exact_forms import asked_pairs, weigh_pairs
from rag.text.tokenizer import cleaned, stem
from tables import rows


def asked(query: str) -> dict[str, int]:
    return {pair.text: pair.times for pair in asked_pairs(query)}


def held(text: str, query: str) -> set[str]:
    return {pair.text for pair in weigh_pairs(text, asked_pairs(query))}


def test_words_side_by_side_are_asked_for_as_often_as_the_query_has_them():
    assert asked("Green tea, green TEA") == {"green tea": 2, "tea green": 1}


def test_words_that_only_ask_have_neighbours_too():
    assert asked("to do list").keys() == {"to do", "do list"}
    assert held("a record by The Who", "the who") == {"the who"}
    assert held("who did the record", "the who") == set()


def test_neighbours_are_found_in_any_form_but_in_their_order():
    assert held("It linked notes.", "linking note") == {"linking note"}
    assert held("Notes are linked.", "linking note") == set()
    assert held("A happy day.", "happy days") == {"happy days"}
    assert held("Un café crème.", "cafe creme") == {"cafe creme"}


@rows(
    "query, seams",
    ("設定のメモ", {"定の": 0, "のメ": 1}),
    ("リストから削除", {"トか": 1, "ら削": 1}),
    ("お茶を飲む", {"を飲": 1}),
    ("新メニュー", {"新メ": 1}),
)
def test_of_two_scripts_those_are_asked_for_that_are_no_gram(query, seams):
    assert asked(query) == {text: times for text, times in seams.items() if times}


def test_a_seam_is_found_where_both_characters_stand_side_by_side():
    assert held("一覧から削除する", "リストから削除") == {"ら削"}
    assert held("から、削除", "リストから削除") == set()


def test_a_pair_weighs_as_a_term_of_bm25_does():
    [pair] = asked_pairs("green tea")
    assert weigh_pairs("green tea for green tea", [pair]) == {pair: saturated(2, 5)}
    [seam] = asked_pairs("ら削")
    assert weigh_pairs("から削除 now", [seam]) == {seam: saturated(1, 2 + 4 / 3)}


@given(
    st.text(alphabet="aeis studyng'c+#_-. 茶のé🍵", max_size=30),
    st.text(alphabet="aeis studyngé茶", max_size=12),
)
def test_a_text_holds_the_pairs_that_stand_side_by_side_when_all_its_words_are_looked_at(
    text, query
):
    words, unsegmented = pieces(cleaned(text))
    side_by_side = {*pairwise(map(stem, words))}
    pairs = asked_pairs(query)
    assert {*weigh_pairs(text, pairs)} == {
        pair
        for pair in pairs
        if (pair.words in side_by_side if pair.words else pair.text in unsegmented)
    }
