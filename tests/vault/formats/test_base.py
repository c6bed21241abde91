"""Bases: the names of their views, properties and formulas."""

from hypothesis import given
from hypothesis import strategies as st

from rag.vault import Note
from rag.vault.readers import reader_of
from tables import rows

TICKETS = """filters:
  and:
    - file.hasTag("secretfilter")
formulas:
  ppu: "(price / age).toFixed(2)"
properties:
  status:
    displayName: Zustand
  formula.ppu: {}
views:
  - type: table
    name: Open tickets
    order: [file.name, due]
  - type: cards
    name: 一覧
"""


def read(source: str) -> Note:
    return reader_of("Tickets.base").read(source.encode(), "v", "Tickets.base", 0.0)


def test_a_base_holds_the_names_of_views_properties_and_formulas():
    note = read(TICKETS)
    assert note.title == "Tickets"
    assert note.lines == [
        "views: Open tickets, 一覧",
        "",
        "properties: status, Zustand, formula.ppu, file.name, due",
        "",
        "formulas: ppu",
    ]
    assert not note.problems


@rows(
    "source, problem",
    ("views: [", "not a base: "),
    ("- a\n- b", "not a base: a list"),
    ("a: &a [*a]", "not a base: aliases are not read"),
    ("[" * 5000, "not a base: nested deeper than 32 levels"),
    ("# " + "x" * 60_000, "not a base: longer than 50,000 characters"),
)
def test_what_is_no_base_is_a_note_without_text_and_a_problem(source, problem):
    note = read(source)
    assert (note.title, note.lines) == ("Tickets", [])
    assert note.problems[0].startswith(problem)


@rows("source", "", "views: 5\nproperties: [a]\nformulas: x", "views: [1, {}]")
def test_parts_of_wrong_types_are_left_out(source):
    assert (read(source).lines, read(source).problems) == ([], [])


@given(st.text(max_size=200) | st.text("views: []{}-&*\n#", max_size=60))
def test_any_text_gives_lines_or_a_problem(source):
    note = read(source)
    assert all("\n" not in line for line in note.lines)
