"""The days of a note: its front matter before its file's name, and that before its file's time."""

from datetime import datetime

from rag.vault import read_note
from rag.vault.note import date_in_name
from tables import rows

NOON = datetime(2024, 5, 31, 12).timestamp()


@rows(
    "name, day",
    ("2026-11-18", "2026-11-18"),
    ("20261118", "2026-11-18"),
    ("2026_11_18", "2026-11-18"),
    ("2026.11.18", "2026-11-18"),
    ("2026年11月18日", "2026-11-18"),
    ("2026年1月8日の日記", "2026-01-08"),
    ("２０２６年１１月１８日", "2026-11-18"),
    ("2026-11-18 Meeting with Anna", "2026-11-18"),
    ("Meeting with Anna 2026-11-18", "2026-11-18"),
    ("会議2026-11-18議事録", "2026-11-18"),
    ("202611181430 Idea", "2026-11-18"),
    ("20261118T143000", "2026-11-18"),
    ("2026-11-18-2", "2026-11-18"),
    ("2028-02-29", "2028-02-29"),
    ("2026-11-01 to 2026-11-07", "2026-11-01"),
    ("2026-13-40 and 2026-11-18", "2026-11-18"),
)
def test_a_name_may_hold_a_day(name, day):
    assert date_in_name(name) == day


@rows(
    "name, first",
    *(("2026-W47", "2026-11-16"), ("2026W47", "2026-11-16"), ("2026-W01 plans", "2025-12-29")),
    *(("2026-11", "2026-11-01"), ("2026-11 Review", "2026-11-01"), ("2026年11月", "2026-11-01")),
)
def test_a_week_and_a_month_count_as_their_first_day(name, first):
    assert date_in_name(name) == first


@rows(
    "name",
    *("2026-13-40", "2026-11-40", "2026-02-29", "20269999", "90123456", "03-20261118-55"),
    *("120261118", "2026111899", "1899-12-31", "2101-01-01", "18991231", "2026-W54", "2026-W00"),
    *("2026-13", "2026", "1914-18", "2026-11.18", "4.2026-11-18", "", "Rollback"),
)
def test_what_is_no_day_is_none(name):
    assert date_in_name(name) == ""


def created(source: str, path: str) -> str:
    return read_note(source.encode(), "v", path, NOON).created


def test_front_matter_always_counts_more_than_the_name():
    assert created("---\ncreated: 2020-01-02\n---\n", "2026-11-18.md") == "2020-01-02"


def test_front_matter_that_is_no_date_leaves_the_name_to_count():
    assert created("---\ndate: soon\n---\n", "2026-11-18.md") == "2026-11-18"


def test_a_name_says_nothing_about_the_last_change():
    assert read_note(b"text", "v", "2026-11-18.md", NOON).modified == "2024-05-31T12:00:00"
