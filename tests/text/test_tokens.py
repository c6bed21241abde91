"""The terms a text is indexed and searched by: `normalize`, `tokens`, `terms`."""

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.tokenizer import fold_accents, normalize, run_grams, terms
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


# Each half-width form and the full-width one a reader takes it for.
ASCII = "".join(map(chr, range(0x21, 0x7F)))


FULL_WIDTH = str.maketrans({char: chr(ord(char) + 0xFEE0) for char in ASCII} | {" ": "\u3000"})


HALF_WIDTH_KANA = str.maketrans(
    {
        "ア": "ｱ", "カ": "ｶ", "ガ": "ｶﾞ", "プ": "ﾌﾟ", "ラ": "ﾗ", "グ": "ｸﾞ", "イ": "ｲ", "ン": "ﾝ",
        "ッ": "ｯ", "ー": "ｰ", "ヲ": "ｦ", "ヴ": "ｳﾞ", "。": "｡", "、": "､", "「": "｢", "」": "｣",
        "・": "･",
    }
)  # fmt: skip


@rows(
    "text, expected",
    ("ＰＤＦ", "pdf"),
    ("ﾌﾟﾗｸﾞｲﾝ", "プラグイン"),
    ("か\u3099", "が"),
    ("①㎏㍿", "1kg株式会社"),
    ("MiXed ÄÖ", "mixed äö"),
    ("a\u00a0b\u3000c", "a b c"),
    ("日\u200b本\ufeff語 soft\u00adware", "日本語 software"),
)
def test_normalising_gives_what_a_reader_takes_it_for(text, expected):
    assert normalize(text) == expected


@settings(max_examples=examples(250))
@given(ANY_TEXT)
def test_normalising_twice_equals_once(text):
    assert normalize(normalize(text)) == normalize(text)


@rows(
    "word, expected",
    *(("café", "cafe"), ("naïve", "naive"), ("ガイド", "ガイド"), ("й", "й"), ("ệ", "e")),
)
def test_accents_are_folded_on_latin_letters_only(word, expected):
    assert fold_accents(word) == expected


def test_words_are_stemmed_and_runs_are_not():
    assert terms("Linking notes の設定") == ["link", "note", *run_grams("の設定")]


@rows(
    "one, other",
    *(("links", "linking"), ("Maria's notes", "maria note"), ("Maria’s", "maria")),
    *(("café", "Cafe"), ("PDF", "ＰＤＦ"), ("プラグイン", "ﾌﾟﾗｸﾞｲﾝ")),
    *(("プラ\u200bグイン", "プラグイン"), ("ガイド", "カ\u3099イト\u3099")),
    *(("snake_case", "snake case"), ("non\u00a0breaking", "non breaking")),
)
def test_forms_of_one_word_give_the_same_terms(one, other):
    assert terms(one) == terms(other)


@rows("one, other", ("ハ", "バ"), ("c", "c++"), ("c#", "c++"), ("年", "月"))
def test_different_words_give_different_terms(one, other):
    assert not set(terms(one)) & set(terms(other))


def test_a_run_gives_its_characters_and_its_pairs():
    assert run_grams("北海道") == ["北", "海", "道", "北海", "海道"]
    assert run_grams("北") == ["北"]
    assert terms("東京 と Tokyo") == ["東", "京", "東京", "と", "tokyo"]


@rows("text, expected", ("C++を学ぶ", "c++"), ("C#の本", "c#"), ("日本語C#", "c#"))
def test_the_name_of_a_language_meets_japanese_without_a_space(text, expected):
    assert expected in terms(text)


@rows(
    "text, expected",
    ("C++20", ["c++", "20"]),
    ("C#8 é", ["c#", "8", "e"]),
    ("C++20の本", ["c++", "20", "の", "本", "の本"]),
    ("c++d x#y _c++ abc#", ["c", "d", "x", "y", "c", "abc"]),
)
def test_the_sign_belongs_to_the_name_before_a_digit_and_not_before_a_letter(text, expected):
    assert terms(text) == expected


def test_a_danda_is_no_letter():
    assert terms("है। है॥") == terms("है है")
    assert terms("।॥") == []


def test_an_endless_word_is_known_by_its_head():
    assert terms("x" * 100_000) == ["x" * 64]


@settings(max_examples=examples(250))
@given(ANY_TEXT)
def test_no_text_makes_tokens_fail_and_none_is_empty(text):
    assert all(terms(text))
    assert terms(text) == terms(normalize(text)) or "'" in normalize(text) or "’" in text


@settings(max_examples=examples(300))
@given(st.text(st.sampled_from(ASCII + " "), max_size=40))
def test_full_width_letters_give_the_terms_of_half_width_ones(text):
    assert terms(text.translate(FULL_WIDTH)) == terms(text)


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from([chr(code) for code in HALF_WIDTH_KANA]), max_size=40))
def test_half_width_kana_give_the_terms_of_full_width_ones(text):
    assert terms(text.translate(HALF_WIDTH_KANA)) == terms(text)
