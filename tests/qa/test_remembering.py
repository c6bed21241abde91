"""Facts that the user tells: kept, forgotten, and what goes wrong with it."""

import pytest

from rag.context.memory import MemoryManager
from rag.exceptions import NotFoundError, UsageError
from rag.qa.sessions import FACTS_FILE, forget, open_memory, remember
from tables import rows

FACTS = ("I am a nurse", "I work nights", "夜勤が多い")


@pytest.fixture
def memory(tmp_path) -> MemoryManager:
    made = open_memory(tmp_path / "data")
    for fact in FACTS:
        remember(made, fact)
    return made


def known(memory: MemoryManager) -> list[str]:
    return [fact.content for fact in memory.get_all_facts()]


def test_facts_are_kept_in_the_data_folder_oldest_first(memory, tmp_path):
    remember(memory, "  I like\n tea ")
    assert known(open_memory(tmp_path / "data")) == [*FACTS, "I like tea"]
    assert (tmp_path / "data" / FACTS_FILE).exists()


@pytest.mark.parametrize(
    ("which", "forgotten"),
    [("1", 0), ("3", 2), ("２", 1), ("NURSE", 0), ("i  work nights", 1), ("夜勤", 2)],
)
def test_one_is_forgotten_by_its_number_or_words_of_it(memory, which, forgotten):
    assert forget(memory, which).content == FACTS[forgotten]
    assert known(memory) == [f for f in FACTS if f != FACTS[forgotten]]


@rows(
    "which, error, said",
    ("", UsageError, "which fact"),
    ("0", NotFoundError, "no fact 0: there are 3"),
    ("4", NotFoundError, "no fact 4: there are 3"),
    ("9" * 9, NotFoundError, "there are 3"),
    ("9" * 4301, NotFoundError, "no fact holds '9{39}…'$"),
    ("tea", NotFoundError, "no fact holds 'tea'"),
    ("I", UsageError, "2 facts hold 'I'"),
    ("-1", NotFoundError, "no fact holds"),
    ("1.5", NotFoundError, "no fact holds"),
)
def test_what_is_none_or_several_is_not_forgotten(memory, which, error, said):
    with pytest.raises(error, match=said) as caught:
        forget(memory, which)
    assert "/fact" in caught.value.hint
    assert known(memory) == list(FACTS)


def test_where_there_are_none_it_says_how_to_keep_one(tmp_path):
    with pytest.raises(NotFoundError, match="no facts") as caught:
        forget(open_memory(tmp_path / "data"), "1")
    assert "/remember" in caught.value.hint
