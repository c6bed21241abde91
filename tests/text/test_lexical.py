"""What a query asks of the lexical index: `query_terms`, `encode_query`, and what it then finds."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.bm25 import (
    BESIDE,
    MOST_TERMS,
    content_terms,
    content_words,
    encode_query,
    pieces,
    query_terms,
)
from rag.text.bm25_documents import encode_documents
from rag.text.ngrams import weigh_grams
from rag.text.tokenizer import cleaned, terms
from tables import rows

WORDS = """the What is linking administration Maria's don't C++ c# 4月 同期 の サーバー か\u3099 ﾌﾟﾗｸﾞ
도서관 数据库 ห้องสมุด привет café ＰＤＦ 🎉 \x00 \ud800 _ - 。 。 です 誰か いつも どの 教えて"""
SEAM = 0.15  # what a pair of two scripts weighs
ANY_TEXT = st.lists(
    st.one_of(
        st.sampled_from(WORDS.split()),
        st.sampled_from(" \n\u3000"),
        st.characters(exclude_categories=()),
    ),
    max_size=15,
).map("".join)


def document(text: str) -> dict[int, float]:
    vector = encode_documents([text]).vectors[0]
    return dict(zip(vector.indices, vector.values, strict=True))


def score(query: str, text: str, also: tuple[str, ...] = ()) -> float:
    """The dot product, which is what the store computes, without its idf."""
    asked, weights = encode_query(query, also), document(text)
    return sum(
        value * weights.get(index, 0.0)
        for index, value in zip(asked.indices, asked.values, strict=True)
    )


def asked(query: str, field: str, also: tuple[str, ...] = ()) -> dict[str, float]:
    """What a query asks of one field: text and weight."""
    return {t.text: round(t.weight, 9) for t in query_terms(query, also) if t.field == field}


# ---- the vector of a query


@settings(max_examples=examples(250))
@given(ANY_TEXT)
def test_a_text_has_all_that_it_asks_for(text):
    in_text = {term.dimension for term in query_terms(text) if term.field not in BESIDE}
    assert in_text <= document(text).keys()


def test_words_grams_and_first_letters_are_asked_for():
    assert asked("Linked administration サバ", "words") == {"linked": 1.0, "administration": 1.0}
    assert asked("Linked administration サバ", "grams") == {"サバ": 0.5}
    assert asked("サーバー", "words") == {"サーバー": 0.5}
    assert asked("サーバー", "grams") == {"サー": 0.5, "ーバ": 0.5, "バー": 0.5}
    assert asked("Linked administration サバ", "edges") == {"admini…": 0.1}


# ---- further words


def test_a_word_that_was_not_typed_weighs_four_fifths():
    assert asked("note", "words", ("administration",)) == {"note": 1.0, "administration": 0.8}
    assert asked("note", "words", ("サーバー",)) == {"note": 1.0, "サーバー": 0.4}


# ---- katakana words


def test_a_katakana_run_of_three_characters_or_more_is_asked_for_as_a_word_too():
    assert asked("テンプレート・ﾌﾟﾗｸﾞｲﾝの使い方", "words") == {"テンプレート": 0.5, "プラグイン": 0.5}
    assert asked("バスとひらがなと図書館と도서관", "words") == {}
    assert asked("ーーバー", "words") == {}
    assert asked("ーサーバー", "words") == {"サーバー": 0.5}


# ---- question words


@rows(
    "query, expected",
    ("How do I link to a heading?", {"link", "heading"}),
    ("What is a vault?", {"vault"}),
    ("ＨＯＷ ｔｏ export", {"export"}),
    ("don't you sync", {"sync"}),
    ("What’s the title", {"title"}),
    ("Which of these is for whom and with whose key", {"key"}),
    ("where are my notes from", {"notes"}),
)
def test_question_words_are_left_out(query, expected):
    assert asked(query, "words").keys() == expected
    assert all(edge[:-1] in " ".join(expected) for edge in asked(query, "edges"))


@rows(
    "query, subject, seams",
    ("金庫とは何ですか", "金庫", {"庫と"}),
    ("なぜ同期", "同期", set()),
    ("いつ同期", "同期", set()),
    ("誰の鍵でしょうか", "の鍵", {"誰の", "鍵で"}),
    ("同期の設定を教えてください", "同期の設定を", set()),
    ("どうやって暗号化", "暗号化", set()),
    ("何か 同期", "同期", set()),
    ("サーバーとは何ですか", "サーバー", set()),
)
def test_of_japanese_question_phrases_only_the_seams_with_the_subject_are_asked_for(
    query, subject, seams
):
    expected = {gram.text: gram.weight for run in subject.split() for gram in weigh_grams(run)}
    found = asked(query, "grams")
    assert found.keys() == expected.keys() | seams
    assert all(found[gram] <= SEAM for gram in seams)
    # A pair that is a word by itself weighs more than within a run.
    assert all(found[gram] <= weight for gram, weight in expected.items())
    assert all(
        found[gram] == weight for gram, weight in expected.items() if gram not in subject[:2]
    )


@rows("query", "who is who", "To be or not to be", "いつ", "どうやって", "何ですか", "the")
def test_question_words_stay_when_nothing_else_remains(query):
    assert score(query, query) > 0
    assert content_terms(query) == Counter(terms(query))


def test_the_words_of_a_query_are_given_as_they_are_written():
    assert content_words("How do I link Maria's CAFÉS to 同期 C++?") == [
        *("link", "maria", "cafés", "c++")
    ]
    assert content_words("what is the") == []


# ---- cutting a text into words and runs


@rows(
    "text, expected",
    ("Maria's notes", ["maria", "notes"]),
    ("Maria’s notes", ["maria", "notes"]),
    ("the boss' chair", ["the", "boss", "chair"]),
    ("it's", ["it"]),
    ("C++, C# and F#.", ["c++", "c#", "and", "f#"]),
    ("C++; objective-c c", ["c++", "objective", "c", "c"]),
    ("Ｃ＋＋ é", ["c++", "é"]),
    ("C++20 C#8 F#é", ["c++", "20", "c#", "8", "f", "é"]),
    ("c++20 c#8 f#x", ["c++", "20", "c#", "8", "f", "x"]),
    ("C++20の本", ["c++", "20", "\0"]),
    ("a#b c++d abc++", ["a", "b", "c", "d", "abc"]),
    ("snake_case __init__", ["snake", "case", "init"]),
    ("3.14 x2", ["3", "14", "x2"]),
    ("JSONで返すAPI", ["json", "\0", "api"]),
    ("C#の本とC++", ["c#", "\0", "c++"]),
    ("nul\0nul é", ["nul", "nul", "é"]),
    ("a 한국어 b", ["a", "\0", "b"]),
    ("soft\u00adware zero\u200bwidth", ["software", "zerowidth"]),
    ("e\u0301te\u0301 हिन्दी", ["été", "हिन्दी"]),
)
def test_the_spaced_words_of_a_text(text, expected):
    assert pieces(cleaned(text))[0] == expected


# ---- what finds what


@rows(
    "query, text",
    ("linking notes", "How to link a note"),
    ("administer", "The administration of servers"),
    ("ＰＤＦ", "Export to pdf"),
    ("pdf", "ＰＤＦに書き出す"),
    ("ﾌﾟﾗｸﾞｲﾝ", "コミュニティプラグインの一覧"),
    ("ガイド", "カ\u3099イト\u3099"),
    ("①", "1"),
    ("cafe", "Le Café"),
    ("CAFÉ", "cafe"),
    ("istanbul", "İSTANBUL"),
    ("maria", "Maria's plan"),
    ("Maria’s", "maria"),
    ("c++", "C++の入門"),
    ("C++入門", "C++の本"),
    ("c#", "日本語のC#"),
    ("4月", "4月の予定"),
    ("x" * 64, "x" * 80),
    ("है", "यह किताब है।"),
    ("किताब", "यह मेरी किताब॥"),
    ("C++20", "C++20 in practice"),
    ("c++", "C++20 in practice"),
    ("C#", "new in C#8"),
    ("C++20", "C++の本"),
    ("c++", "日本語C++"),
)
def test_a_query_finds_other_forms_of_its_words(query, text):
    assert score(query, text) > 0


@rows(
    "query, text",
    *(("c++", "C and c#"), ("c", "C++ and C#"), ("バ", "ハ"), ("й", "и"), ("link", "blink")),
    *(("cat", "category"), ("東京", "北海道")),
)
def test_a_query_does_not_find_other_words(query, text):
    assert score(query, text) == 0


LANGUAGES = {
    "english": ("deploy", "Our deployment failed on Friday.", "Our garden grew on Friday."),
    "kanji": ("図書館", "昨日は市立図書館で本を借りた。", "昨日は市立体育館で本気を出した。"),
    "katakana": ("サーバー", "新しいファイルサーバーを買う", "新しいコーヒーカップを買う"),
    "hiragana": ("ひまわり", "庭にひまわりの花がさいた", "庭にひなげしの花がさいた"),
    "verb": ("食べる", "夜に家で食べることが多い", "夜に家で寝ることが多い"),
    "chinese": ("数据库", "我们需要备份数据库的内容", "我们需要清洗房间的地板"),
    "korean": ("도서관", "국립중앙도서관에서 책을 빌렸다", "시립체육관에서 공을 찼다"),
    "thai": ("ห้องสมุด", "เมื่อวานฉันไปห้องสมุดของเมือง", "เมื่อวานฉันไปสระว่ายน้ำของเมือง"),
    "khmer": ("បណ្ណាល័យ", "ខ្ញុំទៅបណ្ណាល័យជាតិ", "ខ្ញុំទៅផ្សារជាតិ"),
    "russian": ("библиотека", "Я был в библиотеке весь день", "Я был в бассейне весь день"),
    "ukrainian": ("їжак", "У саду живе їжак", "У саду живе кіт"),
    "french": ("été", "Nous avons passé un ete à la mer", "Nous avons passé un hiver à la mer"),
    "vietnamese": ("thư viện", "Hôm qua tôi đến thư viện", "Hôm qua tôi đến hồ bơi"),
    "german": ("bucher", "Wir haben viele Bücher gelesen", "Wir haben viele Filme gesehen"),
    "greek": ("βιβλίο", "Διάβασα ένα βιβλίο χθες", "Διάβασα ένα γράμμα χθες"),
    "arabic": ("مكتبة", "ذهبت إلى مكتبة المدينة", "ذهبت إلى مسبح المدينة"),
    "hebrew": ("ספר", "קראתי ספר אתמול", "קראתי מכתב אתמול"),
    "hindi": ("किताब", "मैंने कल किताब पढ़ी", "मैंने कल फिल्म देखी"),
}


@rows("language", LANGUAGES)
def test_a_word_is_found_in_the_middle_of_a_text_of_its_language(language):
    word, with_it, without = LANGUAGES[language]
    assert score(word, with_it) > 0
    assert score(word, with_it) > 2 * score(word, without)


class TestBounds:
    def test_a_query_asks_for_the_heaviest_of_its_terms(self):
        text = "".join(map(chr, range(0x4E00, 0x5300))) + " word"
        terms = query_terms(text)
        assert len(terms) == MOST_TERMS
        kept = [term.weight for term in terms]
        assert 1.0 in kept  # the word, though it comes last
        assert min(kept) >= 0.3  # of its letters and the pairs of kanji none is left
