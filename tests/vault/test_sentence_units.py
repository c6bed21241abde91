"""Which sentences of a text get an embedding of their own."""

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.index.searchable_text import embedded_text, sentence_texts
from rag.vault.sentences import sentence_units

LONG = "The harbour office opens at seven and sends the tugs out before the tide turns."
LATER = "Whoever comes late has to wait for the evening tide, which may be after dark."
META = {"title": "Harbour", "heading": ["Harbour", "Opening hours"]}


def texts(content: str) -> list[str]:
    return [unit.text for unit in sentence_units(content)]


def test_a_sentence_that_goes_on_in_the_next_line_is_one():
    assert texts(LONG.replace("seven and", "seven\nand")) == [LONG]


def test_short_ones_go_together_and_the_rest_with_the_last():
    assert texts(
        "- rope\n- pitch\n- a spare anchor for the outer mooring, and its chain\n- oil"
    ) == ["rope pitch a spare anchor for the outer mooring, and its chain oil"]


def test_a_row_of_a_table_has_the_names_of_its_columns():
    table = (
        "| berth | who may moor there |\n|---|---|\n| east | the ferry, and in winter both tugs |"
    )
    assert "berth: east, who may moor there: the ferry" in texts(table)[-1]


def test_headings_and_marks_are_left_out_and_lines_counted_from_the_first():
    content = f"# Hours\n\n> **{LONG}**\n\n{LATER}"
    assert [tuple(unit) for unit in sentence_units(content)] == [(2, LONG), (4, LATER)]


def test_each_is_embedded_with_the_title_and_the_heading_above_it():
    assert sentence_texts(META, f"{LONG}\n{LATER}") == [
        f"Harbour\nOpening hours\n{LONG}",
        f"Harbour\nOpening hours\n{LATER}",
    ]


def test_a_chunk_of_one_sentence_is_embedded_as_it_is():
    assert sentence_texts(META, LONG) == [embedded_text(META, LONG)]
    assert sentence_texts(META, "") == [embedded_text(META, "")]


@settings(max_examples=examples(200))
@given(st.text(alphabet="ab。. \n#|-`潮船、>*", max_size=400))
def test_whatever_is_read_is_in_some_unit_and_lines_never_fall(content):
    units = sentence_units(content)
    lines = [unit.line for unit in units]
    assert lines == sorted(lines) and all(unit.text.strip() for unit in units)
    assert all(0 <= line <= content.count("\n") for line in lines)
    assert len(sentence_texts({}, content)) == max(1, len(units))
