"""The words without which no query is planned: nothing that the rules read is lost to them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan_table import CATALOGUE, ROWS, TODAY
from rag.query.planner.rules import extract
from rag.query.planner.words import may_filter

QUESTIONS = Path(__file__).resolve().parents[2] / "benchmarks" / "questions"


def reads(query: str) -> bool:
    """Whether the rules read a filter, or miss one that the index does not have."""
    got = extract(query, CATALOGUE, today=TODAY)
    return got.metadata.filters_anything or bool(got.open or got.time_slot)


def questions(file: Path) -> list[str]:
    return [json.loads(line)["query"] for line in file.read_text("utf-8").splitlines()]


JOINTS = (
    "# |tag |the |my |vault |note |last |this |3 |May |タグ|の|2024|月|先週|書いた|\ud800| by Sato"
    "|status | is |draft|due |作者|が|佐藤|\u3000|Q3 | ago|“1984”|the other day |wrote "
)
PIECES = [*(row.query for row in ROWS), *JOINTS.split("|")]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join) | st.text())
def test_what_the_rules_read_holds_one(query):
    assert may_filter(query, CATALOGUE.fields()) or not reads(query)


def test_no_question_about_a_program_filters():
    assert [q for q in questions(QUESTIONS / "obsidian-help.jsonl") if reads(q)] == []


@pytest.mark.shared
@pytest.mark.parametrize("language", ["en", "ja"])
def test_hardly_a_question_about_the_world_filters(shared_data, language):
    asked = questions(shared_data / "retrieval" / language / "queries.jsonl")
    assert sum(map(reads, asked)) <= 0.005 * len(asked)
