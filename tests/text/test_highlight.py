"""Which part of a text is shown and marked: `match_spans`, `snippet`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.snippets import match_spans, snippet


def marked(text: str, query: str) -> list[str]:
    return [text[start:end] for start, end in match_spans(text, query)]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Linking notes, a link.", "how do I link", ["Linking", "link"]),
        ("Export as PDF or ＰＤＦ", "pdf", ["PDF", "ＰＤＦ"]),
        ("café Cafe", "cafe", ["café", "Cafe"]),
        ("内部リンクの作り方", "リンク", ["リンク"]),
        ("プラグインとﾌﾟﾗｸﾞｲﾝ", "プラグイン", ["プラグイン", "ﾌﾟﾗｸﾞｲﾝ"]),
        ("JSONで同期する", "同期 json", ["JSON", "同期"]),
        ("the title of the note", "what is the title", ["title"]),
        ("C++ and C", "c++", ["C++"]),
        ("Die Sicherungen laufen", "Sicherung", ["Sicherungen"]),
        ("новые заметки", "заметка", ["заметки"]),
        ("nothing here", "同期", []),
        ("", "sync", []),
        ("text", "", []),
    ],
)
def test_the_words_of_the_query_are_marked_in_any_form(
    text: str, query: str, expected: list[str]
) -> None:
    assert marked(text, query) == expected


def test_the_name_of_a_language_is_marked_beside_japanese() -> None:
    assert marked("C++を学ぶ", "c++") == ["C++"]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("誰かが来る", "誰か", ["誰か"]),
        ("何もない", "何も", ["何も"]),
        ("幾何学の本", "幾何学", ["幾何学"]),
        ("金庫を買う", "金庫とは何ですか", ["金庫"]),
        ("C++20と C#8", "c++ c#", ["C++", "C#"]),
        ("यह किताब है।", "है", ["है"]),
    ],
)
def test_what_holds_a_question_word_or_stands_beside_a_sign_is_marked(
    text: str, query: str, expected: list[str]
) -> None:
    assert marked(text, query) == expected


def test_one_shared_character_of_a_run_is_not_marked() -> None:
    assert marked("同時に起きる", "同期") == []


def test_a_character_that_stands_alone_is_marked() -> None:
    assert marked("金 と 銀", "金") == ["金"]


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert snippet("one\n\n  two\t三", "三", 80) == ("one two 三", [(8, 9)])


@pytest.mark.parametrize(
    ("filler", "needle"),
    [("Some words about nothing much. ", "vault"), ("特に何でもない文が続きます。", "保管庫")],
)
def test_a_long_text_is_shown_where_the_query_is(filler: str, needle: str) -> None:
    shown, spans = snippet(filler * 20 + needle + " " + filler * 20, needle, 100)
    assert [shown[start:end] for start, end in spans] == [needle]
    assert (shown[0], shown[-1]) == ("…", "…")
    assert len(shown) <= 102


def test_different_words_of_the_query_count_more_than_one_repeated() -> None:
    text = "sync " * 6 + "filler words here " * 20 + "sync the vault now " + "more filler " * 20
    shown, _ = snippet(text, "sync vault", 80)
    assert "sync the vault" in shown


@pytest.mark.parametrize(
    ("text", "query"),
    [("version 123457", "123456"), ("universal", "unified")],
)
def test_what_only_begins_alike_is_not_marked(text: str, query: str) -> None:
    assert marked(text, query) == []


def test_a_stretch_shows_the_part_that_it_must() -> None:
    text = "vault vault. " + "filler words here " * 20 + "one vault. " + "more filler " * 20
    at = text.index("one vault")
    shown, spans = snippet(text.strip(), "vault", 80, (at, at + 10))
    assert "one vault." in shown
    assert [shown[start:end] for start, end in spans] == ["vault"]


def test_a_part_without_a_match_is_shown_from_its_head() -> None:
    text = "vault vault. " + "filler words here " * 20 + "Nothing of it. " + "more filler " * 20
    at = text.index("Nothing")
    shown, _ = snippet(text.strip(), "vault", 80, (at, at + 14))
    assert "Nothing of it." in shown


def test_a_text_without_a_match_is_shown_from_its_head() -> None:
    assert snippet("はじめに。" + "文。" * 100, "sync", 60)[0].startswith("はじめに。")


@settings(deadline=None, max_examples=examples(400))
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["sync ", "同期", "ﾄﾞｳｷ", "プラグイン", " ", "\n", "Word ", "の", "İ"]),
            st.text(st.characters(exclude_categories=()), max_size=4),
        ),
        max_size=60,
    ).map("".join),
    st.sampled_from(["sync", "同期の", "プラグイン sync", "ドウキ", "の"]),
    st.integers(20, 200),
)
def test_spans_are_inside_the_text_in_order_and_apart(text: str, query: str, width: int) -> None:
    shown, spans = snippet(text, query, width)
    assert len(shown) <= width + 2
    assert "\n" not in shown
    for where, found in ((shown, spans), (text, match_spans(text, query))):
        edges = [edge for span in found for edge in span]
        assert edges == sorted(edges)
        assert all(0 <= start < end <= len(where) for start, end in found)
    assert bool(spans) == bool(match_spans(" ".join(text.split()), query))
