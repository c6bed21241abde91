"""The terms a text is indexed and searched by: `normalize`, `tokens`, `terms`."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.normalize import fold_accents, normalize
from rag.text.tokenizer import Token, run_grams, terms, tokens
from tables import rows

ANY_TEXT = st.text(
    st.one_of(
        st.sampled_from(
            "aZ é'+#_-1１。、 \n\u3000\u00a0\u200b\u200d\ufeffがか\u3099プﾌﾟ漢Ａ한ไ\u0301"
        ),
        st.characters(exclude_categories=()),
    ),
    max_size=60,
)


@rows(
    "text, expected",
    [
        ("ＰＤＦ", "pdf"),
        ("ﾌﾟﾗｸﾞｲﾝ", "プラグイン"),
        ("か\u3099", "が"),
        ("①㎏㍿", "1kg株式会社"),
        ("MiXed ÄÖ", "mixed äö"),
        ("a\u00a0b\u3000c", "a b c"),
        ("日\u200b本\ufeff語 soft\u00adware", "日本語 software"),
    ],
)
def test_normalising_gives_what_a_reader_takes_it_for(text: str, expected: str) -> None:
    assert normalize(text) == expected


@settings(deadline=None, max_examples=examples(250))
@given(ANY_TEXT)
def test_normalising_twice_equals_once(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@rows(
    "word, expected",
    [("café", "cafe"), ("naïve", "naive"), ("ガイド", "ガイド"), ("й", "й"), ("ệ", "e")],
)
def test_accents_are_folded_on_latin_letters_only(word: str, expected: str) -> None:
    assert fold_accents(word) == expected


def test_words_are_stemmed_and_runs_are_not() -> None:
    assert list(tokens("Linking notes プラグインの設定")) == [
        Token("link", False),
        Token("note", False),
        Token("プラグインの設定", True),
    ]


@rows(
    "one, other",
    [
        ("links", "linking"),
        ("Maria's notes", "maria note"),
        ("Maria’s", "maria"),
        ("café", "Cafe"),
        ("PDF", "ＰＤＦ"),
        ("プラグイン", "ﾌﾟﾗｸﾞｲﾝ"),
        ("プラ\u200bグイン", "プラグイン"),
        ("ガイド", "カ\u3099イト\u3099"),
        ("snake_case", "snake case"),
        ("non\u00a0breaking", "non breaking"),
    ],
)
def test_forms_of_one_word_give_the_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other)


def test_a_run_gives_its_characters_and_its_pairs() -> None:
    assert run_grams("北海道") == ["北", "海", "道", "北海", "海道"]
    assert run_grams("北") == ["北"]
    assert terms("東京 と Tokyo") == ["東", "京", "東京", "と", "tokyo"]


@rows("text, expected", [("C++を学ぶ", "c++"), ("C#の本", "c#"), ("日本語C#", "c#")])
def test_the_name_of_a_language_meets_japanese_without_a_space(text: str, expected: str) -> None:
    assert expected in terms(text)


@rows(
    "text, expected",
    [
        ("C++20", ["c++", "20"]),
        ("C#8 é", ["c#", "8", "e"]),
        ("C++20の本", ["c++", "20", "の", "本", "の本"]),
        ("c++d x#y _c++ abc#", ["c", "d", "x", "y", "c", "abc"]),
    ],
)
def test_the_sign_belongs_to_the_name_before_a_digit_and_not_before_a_letter(
    text: str, expected: list[str]
) -> None:
    assert terms(text) == expected


@settings(deadline=None, max_examples=examples(250))
@given(ANY_TEXT)
def test_no_text_makes_tokens_fail_and_none_is_empty(text: str) -> None:
    assert all(token.text for token in tokens(text))
    assert all(terms(text)) or not terms(text)
    assert terms(text) == terms(normalize(text)) or "'" in normalize(text) or "’" in text
