"""Front matter as texts to look for."""

from datetime import date, datetime

from rag.vault.frontmatter import properties_of, property_meta, searchable_fields
from rag.vault.note import read_note
from tables import rows


@rows(
    "value, texts",
    ("open", ["open"]),
    (3, ["3"]),
    (4.5, ["4.5"]),
    (True, ["true"]),
    (date(2026, 3, 1), ["2026-03-01"]),
    (datetime(2026, 3, 1, 9, 30), ["2026-03-01T09:30:00"]),
    (["Ken", "Mika", "Ken", 7], ["Ken", "Mika", "7"]),
    ("two\nlines", ["two lines"]),
    ("half a pair \ud800", ["half a pair ?"]),
    ("x" * 100, ["x" * 100]),
)
def test_a_value_becomes_texts(value, texts):
    assert searchable_fields({"status": value}) == {"status": texts}


@rows("value", None, "", {"a": 1}, [], [None, {}], "x" * 101)
def test_what_is_no_text_or_too_long_a_one_is_left_out(value):
    assert searchable_fields({"status": value}) == {}


def test_names_are_in_lower_case_and_those_of_notes_themselves_are_left_out():
    fields = {"Status": "open", "status": "new", "Title": "T", "tags": ["a"], "Aliases": "b"}
    assert searchable_fields(fields) == {"status": ["open", "new"]}


def test_each_property_has_the_line_that_it_begins_in():
    text = (
        "---\n# who\ntitle: Lantern\nOwner: '[[Priya Raman]]'\n\"due date\": 2026-12-05\n"
        "attendees:\n  - Ana\n  - owner: nobody\n  - Kenji\n担当者: [佐藤, 田中]\n---\nText.\n"
    )
    note = read_note(text.encode(), "v", "a.md", None)
    meta = property_meta(note.fields, note.lines[: note.body_line])

    found = [(one.line, one.text) for one in properties_of(meta)]
    assert found == [
        (4, "owner: Priya Raman"),
        (5, "due date: 2026-12-05"),
        (6, "attendees: Ana, Kenji"),
        (10, "担当者: 佐藤, 田中"),
    ]
