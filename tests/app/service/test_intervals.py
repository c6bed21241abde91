"""How often a job may run, and how each scheduler is told so."""

from __future__ import annotations

from datetime import datetime

import pytest

from rag.app.service.crontab import cron_fields
from rag.app.service.interval import EVEN, Interval, nearest_even, parse_interval
from rag.exceptions import UsageError

NOW = datetime(2026, 11, 23, 13, 59, 30)


@pytest.mark.parametrize(
    ("text", "minutes"), [("15m", 15), ("2h", 120), ("1d", 1440), (" 90 m ", 90), ("30d", 43200)]
)
def test_a_number_and_a_unit_are_an_interval(text: str, minutes: int) -> None:
    assert parse_interval(text) == Interval(minutes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "is no interval") for text in ("", "15", "m", "-5m", "1.5h", "2w", "1h30m", "٣m")),
        ("90s", "seconds are not counted"),
        ("0m", "too short"),
        ("30s", "too short"),
        ("31d", "too long"),
        ("999999999d", "too long"),
    ],
)
def test_what_is_none_is_refused_with_examples(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parse_interval(text)
    assert "15m, 2h, 1d" in caught.value.hint


@pytest.mark.parametrize(
    ("minutes", "shown"), [(15, "15m"), (60, "1h"), (90, "90m"), (1440, "1d"), (2880, "2d")]
)
def test_it_is_shown_in_the_largest_unit(minutes: int, shown: str) -> None:
    assert str(Interval(minutes)) == shown


def test_even_are_those_that_divide_an_hour_or_a_day() -> None:
    assert " ".join(map(str, EVEN)) == (
        "1m 2m 3m 4m 5m 6m 10m 12m 15m 20m 30m 1h 2h 3h 4h 6h 8h 12h 1d"
    )


@pytest.mark.parametrize(
    ("text", "near"), [("7m", ["6m", "10m"]), ("90m", ["1h", "2h"]), ("2d", ["1d"])]
)
def test_the_nearest_even_intervals_are_known(text: str, near: list[str]) -> None:
    assert [str(one) for one in nearest_even(parse_interval(text))] == near


@pytest.mark.parametrize(
    ("text", "next_run"),
    [("1m", "14:00"), ("15m", "14:00"), ("4h", "16:00"), ("12h", "00:00"), ("1d", "12:00")],
)
def test_the_next_run_is_at_the_same_times_of_every_day(text: str, next_run: str) -> None:
    assert f"{parse_interval(text).next_after(NOW):%H:%M}" == next_run


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("1m", "* * * * *"),
        ("15m", "*/15 * * * *"),
        ("1h", "0 * * * *"),
        ("6h", "0 */6 * * *"),
        ("1d", "0 12 * * *"),
    ],
)
def test_a_crontab_is_told_an_even_interval(text: str, fields: str) -> None:
    assert cron_fields(parse_interval(text)) == fields


@pytest.mark.parametrize("text", ["7m", "45m", "90m", "5h", "2d"])
def test_a_crontab_cannot_be_told_another(text: str) -> None:
    with pytest.raises(UsageError, match=f"cannot say every {text}") as caught:
        cron_fields(parse_interval(text))
    assert "The nearest that it can say" in caught.value.hint
