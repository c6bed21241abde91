"""The form in which rules read a query, and the way back to what was typed."""

from hypothesis import given
from hypothesis import strategies as st

from rag.query.planner.query_text import NormalizedQuery
from tables import rows


@rows("word", "ﾃﾞﾌﾟﾛｲ", "Ｋ８ｓ", "İstanbul", "é", "キ㌔")
def test_positions_lead_back_to_what_was_typed(word):
    normalized = NormalizedQuery(f"Ⅻ {word} end")
    start = normalized.plain.index(" ") + 1
    assert normalized.words(start, normalized.plain.rindex(" ")) == word


@given(st.text(max_size=50))
def test_no_text_is_lost(query):
    normalized = NormalizedQuery(query)
    assert len(normalized.open) == len(normalized.plain)
    seen = normalized.original(0, len(normalized.plain))
    assert query.endswith(seen)
    assert not query.removesuffix(seen).strip("\u00ad\u200b\u200c\u200d\u2060\ufeff")
