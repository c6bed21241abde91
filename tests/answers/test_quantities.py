"""Numbers with their units, in English and Japanese."""

from hypothesis import given
from hypothesis import strategies as st

from rag.answers.quantities import read_quantities
from rag.text.tokenizer import cleaned
from tables import rows


def agree(one: str, other: str) -> bool:
    """Return whether each quantity of a text may be one of the other's."""
    others = read_quantities(other)
    return all(any(q.agrees(o) for o in others) for q in read_quantities(one))


@rows(
    "one, other",
    ("1,200 photos", "1200 photos"),
    ("6万4千円", "64,000円"),
    ("175万円", "1,750,000円"),
    ("千円", "1000円"),
    ("twenty-five days", "25 days"),
    ("九十日", "90日間"),
    ("18%", "18 percent"),
    ("18%", "18パーセント"),
    ("24 hours", "1 day"),
    ("120分", "2時間"),
    ("1.5 hours", "90 minutes"),
    ("7:30 pm", "19:30"),
    ("午後7時30分", "19時30分"),
    ("9時半", "9:30"),
    ("4 March 2024", "2024-03-04"),
    ("March 4th", "4 March 2024"),
    ("3月4日", "2024年3月4日"),
    ("毎月第1木曜日", "毎月第一木曜日"),
    ("within 7 days", "7 days"),
    ("$18", "18 dollars"),
    ("90", "90 days"),  # without a unit the number has to do
    ("90 days", "90日"),
    ("two things", "twice"),
)
def test_written_otherwise_are_the_same(one, other):
    assert agree(one, other)
    assert agree(other, one) or "2024" in other


@rows(
    "one, other",
    *(("5 days", "5 hours"), ("5日", "5時間"), ("48 MB", "48 GB"), ("48MB", "48GB")),
    *(("18 euros", "18 dollars"), ("3,800ドル", "3,800円"), ("500 s", "500 ms")),
    *(("45分", "45秒"), ("week 3", "3 weeks"), ("at least 40 percent", "up to 40 percent")),
    *(("40%以上", "40%以下"), ("before 6 pm", "after 6 pm"), ("2週間前", "2週間後")),
    *(("7 am", "7 pm"), ("18 May", "17 May"), ("5月18日", "5月17日")),
    *(("192.168.8.1", "192.168.8.2"), ("1.8 litres", "1.9 litres"), ("-20 °C", "20 °C")),
    ("十二回", "二十回"),
)
def test_of_another_value_unit_or_bound_are_not(one, other):
    assert not agree(one, other)


@rows("text", "you may go", "一度に", "wpa3", "the X3 body", "march on")
def test_what_is_no_number_is_none(text):
    assert read_quantities(text) == ()


@rows("text, loose", ("one of the two ways", True), ("二つの道", True), ("2 ways", False))
def test_small_numbers_in_words_need_not_be_counts(text, loose):
    assert all(q.loose == loose for q in read_quantities(text))


@given(st.integers(0, 10**9))
def test_grouped_digits_are_the_number(number):
    (found,) = read_quantities(f"{number:,}")
    assert found.value == number


@given(st.text(max_size=200))
def test_any_text_is_read_and_quantities_stand_in_their_order(text):
    found = read_quantities(text)
    assert all(q.start < q.end <= len(cleaned(text)) for q in found)
    assert [q.start for q in found] == sorted(q.start for q in found)
