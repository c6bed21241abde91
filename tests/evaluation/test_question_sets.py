"""Reading question sets: what a line may say, and how each mistake is named."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.evaluation.run import Question, parse_questions, read_questions
from rag.exceptions import UsageError
from tables import rows


def parse(*lines: dict[str, Any] | str) -> list[Question]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return parse_questions(text.encode(), "q.jsonl")


def test_a_line_says_what_is_asked_and_what_should_be_found():
    line = {"id": "a", "query": "x", "relevant": ["a.md"], "partial": ["b.md"], "category": "ops"}
    assert parse(line) == [Question("a", "x", ("a.md",), ("b.md",), "ops")]


def test_a_question_without_id_has_the_number_of_its_line():
    lines = [{"query": "x", "relevant": ["a.md"]}, "", {"query": "y", "relevant": ["a.md"]}]
    assert [question.id for question in parse(*lines)] == ["1", "3"]


def test_a_note_that_is_relevant_and_partial_is_relevant():
    (question,) = parse({"query": "x", "relevant": ["a.md"], "partial": ["a.md", "b.md"]})
    assert (question.relevant, question.partial) == (("a.md",), ("b.md",))


def test_paths_are_nfc_and_named_once():
    decomposed = unicodedata.normalize("NFD", "がぎ.md")
    (question,) = parse({"query": "x", "relevant": [decomposed, "がぎ.md"]})
    assert question.relevant == ("がぎ.md",)


def test_a_byte_order_mark_crlf_and_blank_lines_do_no_harm():
    data = b'\xef\xbb\xbf{"query": "x", "relevant": ["a.md"]}\r\n \r\n\r\n'
    assert len(parse_questions(data, "q.jsonl")) == 1


@rows(
    "line, cause",
    ("no JSON", "line 1 column 2"),
    ("[" * 100_000, "recursion"),
    ("[]", "not a JSON object"),
    (b"\x8f\xd8", "line 1"),
    ({"relevant": ["a.md"]}, "query is missing"),
    ({"query": None, "relevant": ["a.md"]}, "query is missing"),
    ({"query": 1.5, "relevant": "a.md"}, "relevant must be a list"),
    ({"query": " ", "relevant": ["a.md"]}, "query must have 1 or more characters"),
    ('{"query": "\\ud800", "relevant": ["a.md"]}', "hex escape"),
    ({"query": "x", "relevant": [[]]}, "relevant.0 must be a text"),
    ({"query": "x", "relevant": [], "partial": []}, "'relevant' and 'partial' name no note"),
    ({"id": True, "query": "x", "relevant": ["a.md"]}, "id must be a text"),
    ({"id": "first", "query": "x", "relevant": ["a.md"]}, "'first' is that of an earlier line"),
)
def test_a_mistake_is_named_with_file_line_and_cause(line, cause):
    first = b'{"id": "first", "query": "x", "relevant": ["a.md"]}'
    text = line if isinstance(line, (str, bytes)) else json.dumps(line)
    third = text.encode() if isinstance(text, str) else text
    with pytest.raises(UsageError) as caught:
        parse_questions(first + b"\n\n" + third, "q.jsonl")
    assert str(caught.value).startswith("q.jsonl, line 3: ")
    assert cause in str(caught.value)
    assert caught.value.hint


def test_a_missing_file_and_a_folder_are_mistakes(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="Is a directory"):
        read_questions(tmp_path)


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_anything_else_is_a_usage_error_and_never_another(data):
    with pytest.raises(UsageError):
        parse_questions(data, "q.jsonl")
