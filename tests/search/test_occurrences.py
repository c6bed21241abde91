"""Which notes hold a phrase, rare or frequent, and what happens when a query may read no more."""

from uuid import UUID

import pytest

from rag.pipelines import create_search_pipeline, search
from rag.search import conditions as occurrences
from rag.search.components.query_analyzer import understand
from rag.search.conditions import Occurrences
from rag.stores import get_document_store

NOTES = {
    "a.md": "# Walrus\n\n## Diet\n\nClams and cold water, cold as water.\n",
    "b.md": "# Icebergs\n\nThe walruses sleep.\n\n## Two\n\nWater: cold; warm water.\n",
    "c.md": "# Café Müller\n\nCold Water Café. Pod設定とは何か。\n",
    "d.md": "# 証明書の更新\n\n有効期限を確認する。設定\n",
    "e.md": "# 期限\n\n証明書 の有効期限。を\n",
    "cold water.md": "# Else\n\nNothing of the sort, only c++ and C++17.\n",
}
PHRASES = [
    *("cold water", "water cold", "walruses", "walrus", "the walruses sleep", "cafe muller"),
    *("cold water cafe", "pod 設定", "設定", "設", "有効期限", "証明書の", "期限", "を", "の有効"),
    *("c++ 17", "c++", "nothing of the sort", "xylophone", "warm cold", "何か"),
]


@pytest.fixture(scope="module")
def store(build_index):
    with get_document_store(build_index({"v": NOTES})) as store:
        yield store


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_frequent_phrase_is_found_where_a_rare_one_is(store, monkeypatch, phrase):
    [rare] = Occurrences(store, store.manifest(), [phrase]).wanted()
    monkeypatch.setattr(occurrences, "RARE", 0)
    [frequent] = Occurrences(store, store.manifest(), [phrase]).wanted()
    assert frequent == rare
    assert not rare.notice
    [unwanted] = Occurrences(store, store.manifest(), [], [phrase]).unwanted()
    assert unwanted == rare


def test_words_are_found_alike_whether_they_are_rare(store, monkeypatch):
    words = ["water", "walrus", "cafés"]
    [rare] = Occurrences(store, store.manifest(), [], [], words).unwanted()
    monkeypatch.setattr(occurrences, "RARE", 0)
    assert Occurrences(store, store.manifest(), [], [], words).unwanted() == [rare]
    assert len(rare.notes) == 4


def test_only_notes_are_read_that_may_hold_all_phrases(store, monkeypatch):
    read: list[str] = []
    really = store.get_points
    monkeypatch.setattr(store, "get_points", lambda ids: read.extend(ids) or really(ids))
    phrases = ["walrus", "water", "cold"]
    holding = Occurrences(store, store.manifest(), phrases).wanted()
    [walrus] = Occurrences(store, store.manifest(), ["walrus"]).wanted()
    assert {*holding[0].notes}.intersection(*(found.notes for found in holding)) == {*walrus.notes}
    owners = store.manifest().notes_by_chunk()
    notes = {owners[UUID(chunk).bytes] for chunk in read}
    names = {identity: path for _, path, _, _, identity in store.manifest().names()}
    # The walruses of b are one word with the walrus as the index has it.
    assert {names[note] for note in notes} == {"a.md", "b.md"}


def test_what_is_frequent_is_asked_for_once_however_many_phrases_hold_it(store, monkeypatch):
    asked: list[tuple[int, ...]] = []
    really = store.points_with

    def counted(dimensions, most):
        asked.append(tuple(dimensions))
        return really(dimensions, most)

    monkeypatch.setattr(occurrences, "RARE", 0)
    monkeypatch.setattr(store, "points_with", counted)
    phrases = ["cold water", "water cold", "warm water"]
    assert all(
        found.notes for found in Occurrences(store, store.manifest(), [], others=phrases).wanted()
    )
    assert len(asked) == len({*asked})


class TestWhenNoMoreMayBeRead:
    def test_only_notes_are_found_that_hold_a_phrase_and_all_that_may_are_left_out(
        self, store, monkeypatch
    ):
        everything = Occurrences(store, store.manifest(), ["cold water"]).wanted()[0].notes
        monkeypatch.setattr(occurrences, "TEXTS", 1)
        [found] = Occurrences(store, store.manifest(), ["cold water"]).wanted()
        assert len(found.notes) <= 1 and {*found.notes} <= {*everything}
        assert found.notice == 'only 1 of 4 passages that may hold "cold water" were read'
        [found] = Occurrences(store, store.manifest(), [], ["cold water"]).unwanted()
        assert {*found.notes} >= {*everything}
        assert found.notice == 'notes that may hold "cold water" are left out unread'

    def test_a_phrase_in_too_many_notes_is_no_condition(self, store, monkeypatch):
        monkeypatch.setattr(occurrences, "RARE", 0)
        monkeypatch.setattr(occurrences, "ENTRIES", 0)
        understood = understand(store, '"cold" water -"cold water" -cold', None)
        assert understood.matched == []
        assert understood.notices == [
            '"cold" does not count: it is in too many notes to look it up',
            "excluded words do not count: they are in too many notes",
            '"cold water" does not count: it is in too many notes to look it up',
        ]
        found = search(create_search_pipeline(store), '"cold" water -"cold water" -cold')
        assert len(found.results) > 2
        assert found.notices == understood.notices
