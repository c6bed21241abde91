"""Days named in words, in English and Japanese."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.exceptions import UsageError
from rag.query import DateRange, parse_date_range
from tables import rows

TODAY = date(2025, 3, 14)  # a Friday


def days(first: str, last: str | None = None) -> DateRange:
    return DateRange(date.fromisoformat(first), date.fromisoformat(last or first))


@rows(
    "text, expected",
    ("2024", days("2024-01-01", "2024-12-31")),
    ("2024-04", days("2024-04-01", "2024-04-30")),
    ("2024年4月", days("2024-04-01", "2024-04-30")),
    ("2024-04-05", days("2024-04-05")),
    ("05.04.2024", days("2024-04-05")),
    ("5. 4. 2024", days("2024-04-05")),
    ("2024年4月5日", days("2024-04-05")),
)
def test_calendar_dates_name_a_year_a_month_or_a_day(text, expected):
    assert parse_date_range(text, TODAY) == expected


@rows(
    "text, expected",
    ("today", days("2025-03-14")),
    ("今日", days("2025-03-14")),
    ("yesterday", days("2025-03-13")),
    ("昨日", days("2025-03-13")),
    ("おととい", days("2025-03-12")),
    ("this week", days("2025-03-10", "2025-03-16")),
    ("last week", days("2025-03-03", "2025-03-09")),
    ("this month", days("2025-03-01", "2025-03-31")),
    ("last month", days("2025-02-01", "2025-02-28")),
    ("this year", days("2025-01-01", "2025-12-31")),
    ("きのう", days("2025-03-13")),
    ("the day before yesterday", days("2025-03-12")),
    ("the week before last", days("2025-02-24", "2025-03-02")),
    ("the month before last", days("2025-01-01", "2025-01-31")),
    ("おととし", days("2023-01-01", "2023-12-31")),
    ("last year", days("2024-01-01", "2024-12-31")),
    ("昨年", days("2024-01-01", "2024-12-31")),
)
def test_words_count_from_today(text, expected):
    assert parse_date_range(text, TODAY) == expected


@rows(
    "text, expected",
    *(("1 day ago", "2025-03-13"), ("3 days ago", "2025-03-11"), ("3日前", "2025-03-11")),
    *(("2 weeks ago", "2025-02-28"), ("2週間前", "2025-02-28"), ("1 month ago", "2025-02-14")),
    *(("1カ月前", "2025-02-14"), ("15 months ago", "2023-12-14"), ("1 year ago", "2024-03-14")),
    ("2年前", "2023-03-14"),
)
def test_so_long_ago_is_one_day(text, expected):
    assert parse_date_range(text, TODAY) == days(expected)


@rows("weekday", range(7))
def test_a_week_begins_on_monday_whatever_day_it_is(weekday):
    today = date(2025, 3, 10) + timedelta(weekday)
    assert parse_date_range("this week", today) == days("2025-03-10", "2025-03-16")


def test_a_month_ago_on_the_31st_is_the_last_day_of_a_shorter_month():
    assert parse_date_range("1 month ago", date(2024, 3, 31)) == days("2024-02-29")


@rows(
    "text, expected",
    ("２０２４－０４－０５", days("2024-04-05")),
    ("２０２４年４月", days("2024-04-01", "2024-04-30")),
    ("３日前", days("2025-03-11")),
    ("  Last \u3000 WEEK ", days("2025-03-03", "2025-03-09")),
)
def test_full_width_digits_capitals_and_spaces_do_not_matter(text, expected):
    assert parse_date_range(text, TODAY) == expected


@rows(
    "text",
    *("", "soon", "week", "25-03-14", "20250314", "2025-13", "2025-02-29", "0000", "日前"),
    *("2025-03-14 and more", "-3 days ago", "9999 years ago", f"{'9' * 5000} days ago"),
)
def test_what_names_no_date_is_a_usage_error_that_shows_how_to_write_one(text):
    with pytest.raises(UsageError) as caught:
        parse_date_range(text, TODAY)
    assert "2025-03-14" in caught.value.hint


PIECES = "0123456789０９ -/.年月日週間前先今去昨か月ago day week month year last this s\ud800x"


@given(st.text() | st.text(PIECES, max_size=14), st.dates())
def test_any_text_is_a_range_in_order_or_a_usage_error(text, today):
    try:
        first, last = parse_date_range(text, today)
    except UsageError:
        return
    assert first <= last
