"""The gate of planning: what looks like filters, and what only sounds like it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan_table import ROWS
from rag.query.planner.rules.cue_gate import looks_filtered

FIRES_ON = 0.8  # of the queries of the table that filter; the others need --plan
QUESTIONS = Path(__file__).resolve().parents[4] / "benchmarks" / "questions"


def queries(file: Path) -> list[str]:
    return [json.loads(line)["query"] for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "query",
    [
        *("#docker", "先月の＃会議", "notes tagged k8s", "with the tag travel", "タグ「料理」"),
        *(
            "in my work vault",
            "in the local-files vault",
            "仕事保管庫の予算",
            "work の保管庫の予算",
        ),
        *("the note called Todo", "「計画」というノート"),
        *("what I did yesterday", "3 days ago", "先週の議事録", "三日前のメモ", "この2週間"),
        *("notes from March 2024", "what we wrote in May", "3月のメモ", "５月３日に書いた"),
        *("what happened on 24 February 2026?", "2026年2月24日に何があった？"),
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


@pytest.mark.parametrize(
    "query",
    [
        "昨年のメモ",
        "本年のノート",
        "おととしのメモ",
        "きのうのメモ",
        "recently updated notes",
        "recently updated",
        "notes in March",
        "notes from Q3 2025",
        "2024年5月以降のノート",
        "3月から5月までのメモ",
        "旅行または料理のタグ",
        "ステータスが完了",
        "2024年5月以降の予算のメモ",
        "2025年第3四半期のメモ",
        "notes in March about rollbacks",
        "notes between March and May",
        "notes from spring 2024",
        "what have I written about rollbacks since March?",
        "status is draft",
        'the "Deploy checklist" note',
        "旅行タグを除くノート",
        "三月のノートで予算について",
        "昨年の予算のメモ",
        "2024-05-01以降のノート",
        "notes older than 3 months",
        "3か月以上前のメモ",
        "what did I decide about pricing last week?",
        "what I did yesterday",
        "3 days ago",
        "since 2024-05",
        "先週",
        "notes from march 5-7",
    ],
)
def test_a_time_passes_beside_notes_or_alone(query: str) -> None:
    assert looks_filtered(query)


@pytest.mark.parametrize(
    "query",
    [
        *("meetings last week", "meetings this month", "yesterday's meeting", "先週の会議"),
        *("what happened last week", "what happened in the last 3 days?", "昨日何があった"),
        *("今週のミーティング", "先週の出来事", "昨日何をした"),
        *("先週フェリーについて何を決めた", "昨日何を話しましたか"),
        *("meetings in October", "meetings since March 2025", "10月の会議", "3月以降の打ち合わせ"),
        *("Okafor this week", "Mika Sato today", "田中さんの今週"),
    ],
)
def test_a_time_passes_beside_what_happens_then(query: str) -> None:
    assert looks_filtered(query)


@pytest.mark.parametrize(
    "query",
    [
        *("quokka yesterday", "budget last quarter", "dns deploy last monday?"),
        *("quokka 昨日", "先週 quokka", "先月の予算"),
    ],
)
def test_a_past_time_passes_at_the_end_of_a_few_words(query: str) -> None:
    assert looks_filtered(query)


@pytest.mark.parametrize(
    "query",
    [
        *("last week tonight", "what happened", "what happened in 2020", "何があった"),
        *("1945年に何を決定したか", "何を決めたか"),
        *("songs about the past year", "the man from yesterday", "meeting", "会議"),
        "how the whole of it came about last week",
    ],
)
def test_a_time_in_a_title_and_an_event_without_a_time_do_not(query: str) -> None:
    assert not looks_filtered(query)


@pytest.mark.parametrize(
    "query",
    [
        "sync not working since yesterday",
        "昨日から同期できない",
        "同期が昨日から動かない",
        "昨日から頭が痛い",
        "in the last 30 days how many devices",
        "keep deleted files for the past month",
        "過去30日の履歴を復元",
        "pricing this year",
        "goals for this year",
        "今週の目標",
        "今月の料金",
        "最近編集したファイルを表示する方法",
        "list all notes created this week in a base",
        "今日作成したファイルを表示するBasesのフィルター",
        "yesterday once more",
        "the world of yesterday",
        "昨日の世界",
        "the last year of the war",
        "1年前のバージョンに戻す",
        "notes from August Strindberg",
        "notes from 2001 a space odyssey",
        "how do I write #meeting in text",
        "git commit #kubernetes",
        "set status: done in yaml",
        "note called function",
        "ハッシュタグ#の使い方",
        "color #ff0000",
        "3月のライオン",
        "the work of art in march order",
        "三月のライオン",
        "yesterday by the beatles",
        "昨日という日",
        "去年の雪今いずこ",
    ],
)
def test_a_time_elsewhere_a_name_and_a_question_about_a_program_do_not(query: str) -> None:
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
