"""Alternatives in the subject of a question about the notes themselves."""

from hypothesis import given
from hypothesis import strategies as st

from rag.query.note_questions import alternatives
from tables import rows


@rows(
    "subject, found",
    ("Sarah or Tom", ["Sarah", "Tom"]),
    ("either Sarah or Tom", ["Sarah", "Tom"]),
    ("flour, butter, or milk", ["flour", "butter", "milk"]),
    ('"trick or treat" or pumpkins', ['"trick or treat"', "pumpkins"]),
    ("Sarah or Tom -Ann", ["Sarah -Ann", "Tom -Ann"]),
    ("フェリーかバス", ["フェリー", "バス"]),
    ("田中さんまたは佐藤さん", ["田中さん", "佐藤さん"]),
    ("小麦粉、バター、もしくは牛乳", ["小麦粉", "バター", "牛乳"]),
)
def test_they_stand_beside_an_or(subject, found):
    assert alternatives(subject) == found


@rows(
    "subject",
    *("the ferry", "flour, butter", '"trick or treat"', "orchids", "3か月の計画", "静か"),
    "tag:a OR tag:b",
)
def test_there_are_none_without_one(subject):
    assert alternatives(subject) == []


@given(st.text(max_size=80))
def test_any_subject_is_read(subject):
    assert len(alternatives(subject)) != 1
