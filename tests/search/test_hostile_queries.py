"""Queries that attack: whatever is typed, a search asks the index only so much.

`make faults` measures what they cost, over more notes and at full length.
"""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile_queries import FAMILIES, fragments, query
from property_examples import examples
from rag.exceptions import RAGError
from rag.pipelines import create_search_pipeline, search
from rag.search.components.query_analyzer import understand
from rag.search.run import intent_of
from rag.stores import get_document_store

NOTES = {
    f"{number}.md": f"---\ntags: [work, t{number}]\n---\n# Note {number}: 証明書の更新\n\n"
    f"The note of backup {number}: restore and check the water. 設定を確認すること。サーバー\n"
    for number in range(8)
}
# A search that has all that a query may, twice over: nothing fits, and it is tried without filters.
MOST_ASKS = 600
MOST_DIMENSIONS = 5_000
LENGTH = 2_000


@pytest.fixture(scope="module")
def opened(build_index):
    config = build_index({"v": NOTES})
    with get_document_store(config) as store:
        yield store, config, create_search_pipeline(store)


@pytest.fixture
def asked(opened, monkeypatch):
    """Count what the index is asked for."""
    store, _, _ = opened
    counts: Counter[str] = Counter()
    really = store.search_points

    def counted(asks):
        counts["asks"] += len(asks)
        vectors = [ask.vector for ask in asks if not isinstance(ask.vector, list)]
        counts["dimensions"] += max((len(vector.indices) for vector in vectors), default=0)
        return really(asks)

    monkeypatch.setattr(store, "search_points", counted)
    return counts


def run(opened, text: str):
    """Search for a text; `None` when it is refused."""
    store, config, pipeline = opened
    try:
        intent, _ = intent_of(store, config, text)
        return search(pipeline, text, intent=intent)
    except RAGError:
        return None


@pytest.mark.sampled
@pytest.mark.parametrize("group", range(8))
def test_no_query_asks_the_index_for_much(opened, asked, group):
    for family in sorted(FAMILIES)[group::8]:
        asked.clear()
        run(opened, query(family, LENGTH))
        assert asked["asks"] <= MOST_ASKS, family
        assert asked["dimensions"] <= MOST_DIMENSIONS, family


@settings(max_examples=examples(50))
@given(
    st.lists(st.sampled_from(fragments()), min_size=1, max_size=12),
    st.sampled_from(["", " ", "\n", "、"]),
    st.integers(1, 40),
)
def test_no_mixture_fails_and_equal_ones_find_the_same(opened, pieces, joint, times):
    text = joint.join(pieces * times)[:1_000]
    first, second = run(opened, text), run(opened, text)
    assert (first and first.results) == (second and second.results)
    assert (first and first.notices) == (second and second.notices)


def test_beginnings_stand_for_so_many_words_together(opened, monkeypatch):
    monkeypatch.setattr("rag.search.conditions.MOST_WORDS", 2)
    store, _, _ = opened
    understood = understand(store, "no* re* ch*")
    assert understood.also == ["note", "restore"]
    assert understood.notices == ['"ch*" stands for 1 word, of which 0 count']
