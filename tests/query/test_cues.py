"""The gate of planning: what looks like filters, and what only sounds like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_table import ROWS

from rag.query.cues import looks_filtered

FIRES_ON = 0.9  # of the queries of the table that filter
QUESTIONS = Path(__file__).resolve().parents[2] / "benchmarks" / "questions"


def queries(file: Path) -> list[str]:
    return [json.loads(line)["query"] for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "query",
    [
        *("#docker", "先月の＃会議", "notes tagged k8s", "with the tag travel", "タグ「料理」"),
        *("in my work vault", "仕事保管庫の予算", "note called Todo", "「計画」というノート"),
        *("what I did yesterday", "3 days ago", "先週の会議", "三日前のメモ", "この2週間"),
        *("notes from March 2024", "what we wrote in May", "3月のメモ", "５月３日に書いた"),
        *("since 2024-05", "status: draft", "with status done", "作者が佐藤の議事録"),
        *("ＮＯＴＥＳ　ＦＲＯＭ　ＬＡＳＴ　ＷＥＥＫ", "note “Todo”"),
    ],
)
def test_what_only_somebody_who_filters_would_type_passes(query: str) -> None:
    assert looks_filtered(query)


@pytest.mark.parametrize(
    "query",
    [
        *("", "kubernetes rollback", "tag cloud design", "C# generics", "issue #42", "a#b"),
        *("what happened in 1945", "March of the Penguins", "May I use this", "today I learned"),
        *("how do I create a vault", "in the same vault", "Fort Knox bank vault", "in my vault"),
        *("タグ付けの方法", "保管庫の作り方", "1945年に何が起きたか", "日本の歴史", "最近の研究"),
        *("python 3.11", "meeting at 10:30", "https://x.org/#top", "last chapter", "作者の死"),
    ],
)
def test_an_ordinary_query_does_not(query: str) -> None:
    assert not looks_filtered(query)


def test_it_stops_few_queries_that_filter() -> None:
    filtering = [row.query for row in ROWS if row.filters.keys() - {"fields"}]
    assert sum(map(looks_filtered, filtering)) >= FIRES_ON * len(filtering)


def test_it_lets_no_question_about_a_program_through() -> None:
    asked = queries(QUESTIONS / "obsidian-help.jsonl")
    assert [query for query in asked if looks_filtered(query)] == []


@pytest.mark.shared
@pytest.mark.parametrize("language", ["en", "ja"])
def test_it_lets_no_question_about_the_world_through(shared_data: Path, language: str) -> None:
    asked = queries(shared_data / "retrieval" / language / "queries.jsonl")
    assert [query for query in asked if looks_filtered(query)] == []


PIECES = [
    "#",
    "tag",
    "the ",
    "my ",
    "vault ",
    "note ",
    "last ",
    "3 ",
    "タグ",
    "の",
    "2024",
    "月",
    "\ud800",
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_every_text_gets_an_answer(query: str) -> None:
    assert looks_filtered(query) in (True, False)


@pytest.mark.parametrize("piece", PIECES)
def test_a_hundred_kilobytes_get_one_too(piece: str) -> None:
    looks_filtered(piece * (100_000 // len(piece)))
