"""The lines of a note as a reader sees them: `readable_lines`."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import FRAGMENTS
from property_examples import examples
from rag.vault.sentences import readable_lines
from tables import rows


def read(text: str) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in readable_lines(text)]


@rows(
    "text, expected",
    ("- [ ] call **Ana**", "call Ana"),
    ("  * [x] done", "done"),
    ("1. [ ] first", "1. first"),
    ("> quoted", "quoted"),
    ("> > - deeper", "deeper"),
    ("> [!warning]- Mind the gap", "Mind the gap"),
    ("## 見出し ##", "見出し"),
    ("See [[Note|the note]] and [x](y.md).", "See the note and x."),
    ("`**code**` stays", "`**code**` stays"),
    ("look *before* you _leap_, **now**", "look before you leap, now"),
    ("snake_case_name and 2*3*4 and `a *b* c`", "snake_case_name and 2*3*4 and `a *b* c`"),
    ("* * star", "* star"),
    ("shown <!-- hidden --> text", "shown  text"),
    ("one<br>two", "one two"),
    ("a - b > c | d", "a - b > c | d"),
    ("-5 degrees", "-5 degrees"),
)
def test_the_marks_of_a_line_go(text, expected):
    assert read(text) == [(0, expected)]


@rows("text", "", "---", "* * *", "<!-- a\nb\n-->", "%%\nhidden\n%%", "```", "> ", "- ")
def test_what_lays_out_and_says_nothing_is_no_line(text):
    assert read(text) == []


def test_code_is_shown_as_it_is_written_and_its_fences_are_not():
    text = "Before.\n\n```py\nx = a **b** [[c]]\n\n# no heading\n```\nAfter."
    assert read(text) == [
        *((0, "Before."), (3, "x = a **b** [[c]]"), (5, "# no heading"), (7, "After."))
    ]


def test_a_row_of_a_table_names_its_columns():
    text = (
        "| Name | Port |\n|:-----|-----:|\n| redis | 6379 |\n| | 80 |\n| a \\| b | [[x\\|y]] | z |"
    )
    assert read(text) == [
        (0, "Name, Port"),
        (2, "Name: redis, Port: 6379"),
        (3, "Port: 80"),
        (4, "Name: a | b, Port: y, z"),
    ]
    row = readable_lines(text)[1]
    assert [row.text[start:end] for start, end in row.names] == ["Name", "Port"]


def test_a_wrapped_line_goes_on_and_an_item_does_not():
    lines = readable_lines("one\ntwo\n- three\n  four\n\nfive")
    assert [line.goes_on for line in lines] == [False, True, False, True, False]


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=40).map("".join))
def test_lines_are_in_order_within_the_text_and_hold_something(text):
    lines = readable_lines(text)
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers))
    assert all(0 <= number <= text.count("\n") for number in numbers)
    for line in lines:
        assert line.text.strip()
        assert all(0 <= start < end <= len(line.text) for start, end in line.names)
