"""Which part of a text is shown and marked: `match_spans`, `snippet`."""

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.matches import match_spans, snippet
from tables import rows


def marked(text: str, query: str) -> list[str]:
    return [text[start:end] for start, end in match_spans(text, query)]


@rows(
    "text, query, expected",
    ("Linking notes, a link.", "how do I link", ["Linking", "link"]),
    ("Export as PDF or ＰＤＦ", "pdf", ["PDF", "ＰＤＦ"]),
    ("The fern is dying.", "die", ["dying"]),
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
)
def test_the_words_of_the_query_are_marked_in_any_form(text, query, expected):
    assert marked(text, query) == expected


def test_a_short_text_is_shown_whole_on_one_line():
    assert snippet("one\n\n  two\t三", "三", 80) == ("one two 三", [(8, 9)])


@rows(
    "filler, needle",
    ("Some words about nothing much. ", "vault"),
    ("特に何でもない文が続きます。", "保管庫"),
)
def test_a_long_text_is_shown_where_the_query_is(filler, needle):
    shown, spans = snippet(filler * 20 + needle + " " + filler * 20, needle, 100)
    assert [shown[start:end] for start, end in spans] == [needle]
    assert (shown[0], shown[-1]) == ("…", "…")
    assert len(shown) <= 102


@rows("text, query", ("version 123457", "123456"), ("universal", "unified"))
def test_what_only_begins_alike_is_not_marked(text, query):
    assert marked(text, query) == []


def test_a_text_without_a_match_is_shown_from_its_head():
    assert snippet("はじめに。" + "文。" * 100, "sync", 60)[0].startswith("はじめに。")


@settings(max_examples=examples(400))
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
def test_spans_are_inside_the_text_in_order_and_apart(text, query, width):
    shown, spans = snippet(text, query, width)
    assert len(shown) <= width + 2
    assert "\n" not in shown
    for where, found in ((shown, spans), (text, match_spans(text, query))):
        edges = [edge for span in found for edge in span]
        assert edges == sorted(edges)
        assert all(0 <= start < end <= len(where) for start, end in found)
    assert bool(spans) == bool(match_spans(" ".join(text.split()), query))
