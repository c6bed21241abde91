"""Times in running text, English and Japanese, and the days that they mean."""

from datetime import date

from plan_table import TODAY
from rag.query.planner.plan import TimeWindow
from rag.query.planner.query_text import NormalizedQuery
from rag.query.planner.time_windows import find_time
from tables import rows

ALWAYS = (None, None, "created")


def window(query: str, today: date = TODAY) -> TimeWindow:
    found = find_time(NormalizedQuery(query).open, today)
    return found.window if found else TimeWindow()


def days(query: str, today: date = TODAY) -> tuple[str | None, str | None]:
    ends = window(query, today)
    return ends.first and ends.first.isoformat(), ends.last and ends.last.isoformat()


@rows(
    "query, first, last",
    ("notes from 2024-05-03", "2024-05-03", "2024-05-03"),
    ("notes from 2024.05.03.", "2024-05-03", "2024-05-03"),
    ("notes from 3rd of May 2024", "2024-05-03", "2024-05-03"),
    ("notes from 14/03/2025", "2025-03-14", "2025-03-14"),
    ("notes from 03/14/2025", "2025-03-14", "2025-03-14"),
    ("notes from December 24th", "2025-12-24", "2025-12-24"),
    ("notes of last March", "2026-03-01", "2026-03-31"),
    ("notes from last month of work", "2026-10-01", "2026-10-31"),
    ("notes from last November", "2025-11-01", "2025-11-30"),
    ("the day before yesterday", "2026-11-19", "2026-11-19"),
    ("the last 10 days", "2026-11-12", "2026-11-21"),
    ("this weekend", "2026-11-21", "2026-11-22"),
    ("last Saturday", "2026-11-14", "2026-11-14"),
    ("this Monday", "2026-11-16", "2026-11-16"),
    ("last summer", "2026-06-01", "2026-08-31"),
    ("2024年の5月3日のメモ", "2024-05-03", "2024-05-03"),
    ("二十日前のメモ", "2026-11-01", "2026-11-01"),
    ("去年の夏", "2025-06-01", "2025-08-31"),
    ("半年前のメモ", "2026-05-01", "2026-05-31"),
    ("直近3か月", "2026-08-21", "2026-11-21"),
    ("今年の第2四半期のメモ", "2026-04-01", "2026-06-30"),
)
def test_words_mean_days(query, first, last):
    assert days(query) == (first, last)


@rows(
    "query, first, last",
    ("since yesterday", "2026-11-20", None),
    ("since Monday?", "2026-11-16", None),
    ("starting from May", "2026-05-01", None),
    ("notes from March onwards", "2026-03-01", None),
    ("between 2024-05 and 2024-07", "2024-05-01", "2024-07-31"),
    ("notes from November to February", "2025-11-01", "2026-02-28"),
    ("notes from March to May 2024", "2024-03-01", "2024-05-31"),
    ("notes from December 24 to 3 May", "2025-12-24", "2026-05-03"),
    ("notes of 2024-05-01 - 2024-05-09", "2024-05-01", "2024-05-09"),
    ("between 3 weeks ago and yesterday", "2026-10-31", "2026-11-20"),
    ("2024年5月より後のメモ", "2024-06-01", None),
    ("先月から昨日まで", "2026-10-01", "2026-11-20"),
    ("11月から2月までのメモ", "2025-11-01", "2026-02-28"),
)
def test_words_around_a_time_open_or_bound_it(query, first, last):
    assert days(query) == (first, last)


@rows(
    "query",
    *("notes from next week", "tomorrow's notes", "来週のメモ", "明日書くメモ", "来月の月曜のメモ"),
    *("notes in 3 days", "notes from 2027-03", "この冬のメモ", "notes on this winter"),
    *("notes between yesterday and last May", "since a week ago to 3 weeks ago"),
    *("in 1066", "notes about 1945", "the battle of March 1945", "1945年8月のメモ"),
    *("may I", "it may 3 times", "march on", "in the march", "marching", "March Hare"),
    *("python 3.11.2", "v2024.05.1x", "10:30", "3/4 cup", "24/7", "2024-13", "2024-02-30"),
    *("192.168.1.1", "https://x.org/2024/05/03/post", "0000-00-00", "2024年13月のメモ"),
    *("2月号", "日本", "月曜社", "5月病", "3日間", "3か月", "三月うさぎ", "お正月", "昨年度"),
    *("3年半前後", "100年前の地図", "最近", "recent", "today", "monday", "summer", "q", "月"),
)
def test_other_words_mean_no_time_of_notes(query):
    assert (*days(query), window(query).field) == ALWAYS


@rows(
    "query",
    *("sync not working since yesterday", "昨日から同期できない", "同期が昨日から動かない"),
    *("how do I list notes created this week", "最近編集したファイルを表示する方法"),
    *("過去30日の履歴を復元", "1年前のバージョンに戻す", "keep deleted files for the past month"),
    *("songs about the past year", "goals for this year", "notes from August Strindberg"),
    *("notes from 2001 a space odyssey", "the work of art in march order"),
    *("what happened in 2020", "1945年に何を決定したか", "the last year of the war"),
)
def test_trouble_a_topic_and_a_name_are_no_time_of_notes(query):
    assert (*days(query), window(query).field) == ALWAYS


@rows(
    "query, day",
    ("what happened on 24 February 2026?", "2026-02-24"),
    ("2026年2月24日に何があった？", "2026-02-24"),
    ("Mika Sato today", "2026-11-21"),
    ("meetings today", "2026-11-21"),
    ("今日の会議", "2026-11-21"),
    ("standup on Monday", "2026-11-16"),
)
def test_what_happens_on_a_day_and_a_day_that_ends_a_query_are_one(query, day):
    assert days(query) == (day, day)


@rows(
    "today, first, last",
    (date(2026, 1, 10), "2024-12-01", "2025-02-28"),
    (date(2026, 3, 1), "2025-12-01", "2026-02-28"),
    (date(2024, 3, 1), "2023-12-01", "2024-02-29"),
)
def test_last_winter_is_the_last_that_is_over(today, first, last):
    assert days("last winter", today) == (first, last)


@rows(
    "query",
    *("updated last week", "notes I edited last week", "last week's notes changed last week"),
    *(
        "先週更新した",
        "先週に変更されたメモ",
        "先週、最後に編集した",
        "notes modified by me last week",
    ),
)
def test_words_of_editing_mean_the_day_of_the_last_change(query):
    if query.startswith("last week's"):
        assert window(query).field == "created"  # the words are not beside that time
    else:
        assert window(query).field == "modified"


@rows("today", date.min, date.max)
def test_the_ends_of_the_calendar_do_no_harm(today):
    for words in (
        *("3 days ago", "last year", "since last week", "after today", "last winter", "12月"),
    ):
        window(f"notes {words} のメモ", today)
