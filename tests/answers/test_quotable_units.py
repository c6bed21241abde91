"""What of a note is read out whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.answers.quotation.units import LONGEST, Kind, QuotableUnit, quotable_units
from tables import rows

LINES = st.sampled_from(
    [
        *("", "# Heading", "A sentence. Another one!", "Wrapped text that"),
        *("There are two ways:", "次の方法があります：", "文です。次の文。", "- item one"),
        *("- item two which is longer", "1. step", "  - nested", "| a | b |", "| - | - |"),
        *("| 1 | 2 |", "```", "code --flag", "> quoted", "> [!note] Title", "[[Link]]"),
        "- [[Link]]",
    ]
)
NOTES = st.lists(LINES, max_size=30).map("\n".join)


def texts(content: str) -> list[str]:
    return [unit.text for unit in quotable_units(content)]


def of_kind(content: str, kind: Kind) -> list[QuotableUnit]:
    return [unit for unit in quotable_units(content) if unit.kind == kind]


def test_a_sentence_is_a_unit_with_its_line():
    assert quotable_units("# A\n\nOne. Two\nlines.") == [
        QuotableUnit(2, 2, "One.", Kind.SENTENCE),
        QuotableUnit(2, 3, "Two lines.", Kind.SENTENCE),
    ]


def test_wrapped_japanese_lines_are_joined_without_a_space():
    assert texts("朝に\n会議する。") == ["朝に会議する。"]


def test_code_goes_with_the_sentence_that_introduces_it():
    content = "To embed a note:\n\n```md\n![[Note]]\n```"
    assert quotable_units(content) == [QuotableUnit(0, 3, "To embed a note:\n![[Note]]", Kind.CODE)]


def test_a_list_goes_with_the_sentence_that_introduces_it():
    assert (
        of_kind("用意するもの：\n\n- 塩\n- 水", Kind.LIST)[0].text == "用意するもの：\n- 塩\n- 水"
    )


@pytest.mark.parametrize("parted", ["\n", "\n\n"])
@pytest.mark.parametrize("lead", ["Before the flight,", "出発の前に、"])
def test_a_lead_in_that_ends_in_a_comma_is_quoted_with_its_list_alone(lead, parted):
    content = f"{lead}{parted}- check the passport\n- pack the adapter"
    assert texts(content)[0] == f"{lead}\n- check the passport\n- pack the adapter"


def test_a_row_is_read_with_the_names_of_its_columns():
    table = "| Bike | Day |\n| - | - |\n| Town | £24 |\n| Tandem | £40 |"
    assert [unit.text for unit in of_kind(table, Kind.ROW)] == [
        "Bike: Town, Day: £24",
        "Bike: Tandem, Day: £40",
    ]


def test_a_sentence_that_only_announces_is_read_with_the_next() -> None:
    assert "There are two discounts. Students pay 60 %." in texts(
        "There are two discounts. Students pay 60 %."
    )


@rows("links", "- [[A]]\n- [[B]]", "[A](a.md) [B](b.md)")
def test_links_alone_are_no_unit_beside_text(links):
    assert texts(f"Some text.\n\n{links}") == ["Some text."]


def test_links_to_other_notes_alone_never_are():
    assert texts("# Contents\n\n- [[A]]\n- [[B]]") == []


def test_a_long_list_is_cut_between_items():
    items = [f"item {number} " + "word " * 20 for number in range(12)]
    content = "\n".join(f"- {item.strip()}" for item in items)
    lists = of_kind(content, Kind.LIST)
    assert len(lists) > 1 and all(len(unit.text) <= LONGEST for unit in lists)
    assert "\n".join(unit.text for unit in lists) == content


@given(NOTES)
def test_every_unit_lies_in_the_text(content):
    lines = content.split("\n")
    for unit in quotable_units(content):
        assert 0 <= unit.first <= unit.last < len(lines)
        assert unit.text.strip()


@given(NOTES)
def test_an_item_is_never_cut(content):
    ends = {line.strip("->. 1|`").replace("[", "").replace("]", "") for line in content.split("\n")}
    for unit in quotable_units(content):
        if unit.kind == Kind.LIST:
            assert any(unit.text.endswith(end) for end in ends if end)


@given(NOTES)
def test_only_what_cannot_be_cut_is_longer_than_the_longest(content):
    for unit in quotable_units(content * 3):
        assert len(unit.text) <= LONGEST + 120 or "\n" not in unit.text
