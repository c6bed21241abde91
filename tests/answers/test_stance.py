"""Yes and no: negation and opposites, in English and Japanese."""

from hypothesis import given
from hypothesis import strategies as st

from rag.answers.claims import stance
from rag.text.tokenizer import cleaned
from tables import rows


def oppose(one: str, other: str) -> bool:
    """Return whether one of two clauses denies the other."""
    first, second = stance(cleaned(one)), stance(cleaned(other))
    return first.opposes(second) or first.flips(second, second) % 2 == 1


@rows(
    "one, other",
    ("the copy is encrypted", "the copy is not encrypted"),
    ("pets are allowed", "pets are not allowed"),
    ("you may camp", "camping is prohibited"),
    ("it must be kept cool", "it must not be kept cool"),
    ("a visa is required", "a visa is not needed"),
    ("it is mandatory", "it is optional"),
    ("the network is enabled", "the network is disabled"),
    ("it is always sold", "it is never sold"),
    ("it never expires", "it expires in May"),
    ("water is free", "water costs 3 euros"),
    ("it is included", "it is excluded"),
    ("the trail is longer", "the trail is shorter"),
    ("two weeks later", "two weeks earlier"),
    ("the price was raised", "the price was lowered"),
    ("he runs once a week", "he runs once a month"),
    ("犬を連れて入れます", "犬を連れて入れません"),
    ("使用できる", "使用できない"),
    ("予約が必要です", "予約は不要です"),
    ("農薬の使用は許可されている", "農薬の使用は禁止されている"),
    ("通知は有効です", "通知は無効です"),
    ("利用は無料です", "利用は有料です"),
    ("水害は補償される", "水害は補償されない"),
    ("水場がある", "水場はない"),
    ("北コースは長い", "北コースは短い"),
    ("毎週集まる", "毎月集まる"),
    ("靴を脱がなければならない", "靴を脱がなくてもよい"),
)
def test_opposites_oppose_each_other(one, other):
    assert oppose(one, other)
    assert oppose(other, one)


@rows(
    "one, other",
    ("pets are not allowed", "pets are prohibited"),
    ("you cannot camp there", "camping is forbidden"),
    ("do not use vinegar", "vinegar must not be used"),
    ("it is not required", "it is optional"),
    ("you don't have to pay", "paying is optional"),
    ("it is not enabled", "it is disabled"),
    ("it is free of charge", "it can be had without paying"),
    ("no more than 5", "at most 5"),
    ("it is not unavailable", "it is available"),
    ("it is not available with the lock enabled", "it is unavailable with the lock enabled"),
    ("使用できません", "使用は禁止です"),
    ("必要ありません", "不要です"),
    ("有効ではない", "無効です"),
    ("書かなければならない", "書く必要がある"),
    ("入ってもかまわない", "入ることができる"),
    ("少なくとも二回", "二回以上"),
    ("閉まるかもしれない", "閉まる"),
)
def test_the_same_in_other_words_does_not(one, other):
    assert not oppose(one, other)


@rows(
    "text, words",
    ("photos are taken without glasses", ("glasses",)),
    ("there is no water here", ("water here",)),
    ("予約なしで入れる", ("予約",)),
)
def test_what_is_missing_is_named(text, words):
    assert stance(text).without == words


@given(st.text(max_size=100))
def test_no_text_opposes_itself(text):
    assert not oppose(text, text)
