"""The form in which rules read a query, and the way back to what was typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.query.planner.rules.normalized_query import HIDDEN, TAKEN, NormalizedQuery
from rag.query.planner.rules.shared_patterns import EXAMINED


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        ("Notes　ＦＲＯＭ １２月", "notes from 12月"),
        ("ﾃﾞﾌﾟﾛｲ", "デプロイ"),
        ("a\tb\x00c\u2028d", "a b c d"),
        ("“x” ’s", '"x" \'s'),
        ("㌔ ①", "キロ 1"),
    ],
)
def test_width_case_quotes_and_controls_do_not_matter(query: str, plain: str) -> None:
    assert NormalizedQuery(query).plain == plain


@pytest.mark.parametrize("word", ["ﾃﾞﾌﾟﾛｲ", "Ｋ８ｓ", "İstanbul", "é", "キ㌔"])
def test_positions_lead_back_to_what_was_typed(word: str) -> None:
    normalized = NormalizedQuery(f"Ⅻ {word} end")
    start = normalized.plain.index(" ") + 1
    assert normalized.words(start, normalized.plain.rindex(" ")) == word


@given(st.text(max_size=50))
def test_no_text_is_lost(query: str) -> None:
    normalized = NormalizedQuery(query)
    assert len(normalized.open) == len(normalized.plain)
    seen = normalized.original(0, len(normalized.plain))
    assert query.endswith(seen)
    assert not query.removesuffix(seen).strip("\u00ad\u200b\u200c\u200d\u2060\ufeff")


def test_only_the_beginning_of_a_long_query_is_read() -> None:
    normalized = NormalizedQuery("x" * EXAMINED + "rest")
    assert (len(normalized.plain), normalized.rest) == (EXAMINED, "rest")


@pytest.mark.parametrize(
    ("query", "hidden"),
    [
        ("a tag:x-y b", "tag:x-y"),
        ("a -b c", "-b"),
        ("kube* x", "kube*"),
        ('say "last week" now', "last week"),
        ("「先週」の話", "先週"),
        ("tag：ｘ y", "tag:x"),
        ("映画 昨日の世界という映画", "昨日の世界という"),
        ("it's a dog's life", ""),
        ("'last week' x", "last week"),
        ('an "open quote', ""),
    ],
)
def test_what_is_quoted_or_belongs_to_the_syntax_is_hidden(query: str, hidden: str) -> None:
    normalized = NormalizedQuery(query)
    pairs = zip(normalized.plain, normalized.open, strict=True)
    assert "".join(char for char, seen in pairs if seen == HIDDEN) == hidden


def test_what_was_taken_is_not_read_again() -> None:
    normalized = NormalizedQuery("one two")
    normalized.take(0, 3)
    assert (normalized.open, normalized.taken) == (f"{TAKEN * 3} two", [(0, 3)])
