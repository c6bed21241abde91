"""Canvases: their cards as text, with links to the files they show."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag.vault import Note, chunk_note, read_note
from rag.vault.readers import reader_of
from tables import rows

BOARD = {
    "nodes": [
        {"id": "3", "type": "file", "file": "Notes/Rollback.md", "subpath": "#Steps", "y": 300},
        {"id": "2", "type": "text", "text": "second card", "x": 500, "y": 0},
        {"id": "1", "type": "text", "text": "# Canary\n\nfirst card #ops", "x": 0, "y": 0},
        {"id": "4", "type": "link", "url": "https://example.com", "y": 400},
        {"id": "5", "type": "group", "label": "Phase\none", "y": 500},
    ],
    "edges": [{"id": "e", "fromNode": "1", "toNode": "2", "label": "leads to"}],
}


def read(held: Any) -> Note:
    raw = held if isinstance(held, bytes) else json.dumps(held).encode()
    return reader_of("plans/Board.canvas").read(raw, "v", "plans/Board.canvas", 0.0)


def test_cards_are_text_from_top_to_bottom_and_left_to_right():
    note = read(BOARD)
    assert note.lines == [
        *("# Canary", "", "first card #ops", "", "second card", ""),
        *("[[Notes/Rollback.md#Steps]]", "", "https://example.com", "", "Phase one", ""),
        "leads to",
    ]
    assert "first card" in chunk_note(note, 512, 0, len)[0].text


def test_files_are_links_and_tags_of_cards_are_tags():
    note = read(BOARD)
    assert ([*note.links], note.tags) == (["Notes/Rollback.md"], ["ops"])


def test_a_canvas_is_called_as_its_file_is():
    assert read(BOARD).title == "Board"


@rows(
    "raw, problem",
    (b"{", "not a canvas: Expecting property name"),
    (b"[]", "not a canvas: no table"),
    (b"null", "not a canvas: no table"),
    (b"[" * 100_000, "not a canvas: maximum recursion"),
    (b"1" * 5_000, "not a canvas: no table"),
)
def test_what_is_no_canvas_is_a_note_without_text_and_a_problem(raw, problem):
    note = read(raw)
    assert (note.title, note.lines) == ("Board", [])
    assert note.problems[0].startswith(problem)


def test_a_number_of_thousands_of_digits_is_only_a_number():
    raw = b'{"nodes": [{"type": "text", "text": "far", "y": %s}]}' % (b"1" * 5_000)
    assert (read(raw).lines, read(raw).problems) == (["far"], [])


def test_cards_of_wrong_types_are_left_out():
    odd = [1, {"type": "text", "text": 5}, {"type": "file", "file": {}}, {"type": ["text"]}]
    assert read({"nodes": [*odd, {"type": "text", "text": "kept", "x": "1", "y": None}]}).lines == [
        "kept"
    ]
    assert read({"nodes": "x", "edges": 7}).lines == []


KEYS = ["nodes", "edges", "type", "text", "file", "x", "y", "label"]
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.sampled_from(["text", "\ud800\0\r"]),
    lambda held: st.lists(held) | st.dictionaries(st.sampled_from(KEYS), held),
    max_leaves=20,
)


@given(json_values)
def test_any_json_gives_lines_that_a_file_could_hold(held):
    for line in read(held).lines:
        assert "\n" not in line and "\0" not in line and line.encode("utf-8") is not None


def test_a_canvas_has_no_more_lines_than_another_note():
    note = read({"nodes": [{"type": "text", "text": "a\n" * 300_001 + "b"}]})
    assert len(note.lines) == 300_000
    assert note.problems == ["more than 300,000 lines: only the first 300,000 are kept"]


def test_a_markdown_link_to_a_canvas_is_a_link():
    note = read_note(b"[a](Board.canvas) [b](x.base) [c](y.markdown) [d](z.png)", "v", "n.md", 0.0)
    assert [*note.links] == ["Board.canvas", "x.base", "y.markdown"]
