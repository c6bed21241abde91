"""Dates in words, in English and Japanese (2025, 2025-03, 14.3.2025, last week, 先週, 3日前), and
which values of a front matter property a condition asks for.

| condition | values |
|---|---|
| `Meadows` | those that hold these words in a row, whatever their case, width and accents |
| `done` | not "not done", 未完了: words that are denied say something else |
| `2026-12`, `today` | those and the dates of these days, however they are written |
| `田中` | in a script without spaces, those that hold it anywhere |
| `>200`, `>=200`, `<200`, `<=200` | the numbers beyond that one, whatever their unit |
| `<2026-12-01`, `>=2026-11`, `>today` | the days before or after that day, month or year |
| `>200 <=300` | what all of several comparisons hold of |
"""

from __future__ import annotations

import calendar
import operator
import re
import unicodedata
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

from rag.exceptions import UsageError
from rag.text.messages import brief
from rag.text.ngrams import RUN
from rag.text.tokenizer import fold_accents, name_key


class DateRange(NamedTuple):
    """From the first to the last day, both included."""

    first: date
    last: date


_ISO = re.compile(r"(\d{4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?|月)?|年)?$")
_DAY_FIRST = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})$")
_AGO = re.compile(
    r"(?P<n>\d+)\s*(?:(?P<en>day|week|month|year)s?\s+ago|(?P<ja>日|週間?|[かカヵケヶ箇]月|年)前)$"
)
_NAMED = {  # steps from today, and of what
    (0, "day"): "today|今日|本日",
    (-1, "day"): "yesterday|昨日|きのう",
    (-2, "day"): "the day before yesterday|一昨日|おととい",
    (0, "week"): "this week|今週",
    (-1, "week"): "last week|先週",
    (-2, "week"): "the week before last|先々週",
    (0, "month"): "this month|今月",
    (-1, "month"): "last month|先月",
    (-2, "month"): "the month before last|先々月",
    (0, "year"): "this year|今年|本年",
    (-1, "year"): "last year|去年|昨年",
    (-2, "year"): "the year before last|一昨年|おととし",
}
NAMED = {name: steps for steps, names in _NAMED.items() for name in names.split("|")}
_UNITS = {"日": "day", "週": "week", "週間": "week", "年": "year"}


def parse_date_range(text: str, today: date | None = None) -> DateRange:
    """Return the days that `text` names. A week begins on Monday.

    :param today: the day to count from.
    :raises UsageError: when it names no date.
    """
    today = today or date.today()
    words = " ".join(unicodedata.normalize("NFKC", text).lower().split())
    try:
        if iso := _ISO.match(words):
            year, month, day = (int(part) if part else None for part in iso.groups())
            return calendar_range(year or 0, month, day)
        if dotted := _DAY_FIRST.match(words):
            number, month, year = map(int, dotted.groups())
            return calendar_range(year, month, number)
        if words in NAMED:
            return shifted(today, *NAMED[words])
        if ago := _AGO.match(words):
            unit = ago["en"] or _UNITS.get(ago["ja"], "month")
            return days_ago(today, int(ago["n"]), unit)
    except (ValueError, OverflowError):
        pass
    raise UsageError(
        f"{text!r} is not a date",
        hint="Write 2025-03-14, 2025-03, 2025, 'last week', '3 days ago', 先週 or 3日前.",
    )


def calendar_range(year: int, month: int | None = None, day: int | None = None) -> DateRange:
    """Return a year, a month of it or a day.

    :raises ValueError: when the calendar has none.
    """
    if day is not None and month is not None:
        return DateRange(date(year, month, day), date(year, month, day))
    if month is not None:
        return DateRange(date(year, month, 1), _month_end(year, month))
    return DateRange(date(year, 1, 1), date(year, 12, 31))


def shifted(today: date, steps: int, unit: str) -> DateRange:
    """Return the day, week, month or year that is some steps from that of `today`."""
    if unit == "day":
        day = today + timedelta(steps)
        return DateRange(day, day)
    if unit == "week":
        monday = today + timedelta(7 * steps - today.weekday())
        return DateRange(monday, monday + timedelta(6))
    if unit == "month":
        first = month_start(today.year, today.month + steps)
        return DateRange(first, _month_end(first.year, first.month))
    return calendar_range(today.year + steps)


def days_ago(today: date, count: int, unit: str) -> DateRange:
    """Return one day: a month ago is the same day of the month, or the month's last."""
    if unit in ("day", "week"):
        day = today - timedelta(count * (7 if unit == "week" else 1))
        return DateRange(day, day)
    months = count * (12 if unit == "year" else 1)
    first = month_start(today.year, today.month - months)
    day = first.replace(day=min(today.day, _month_end(first.year, first.month).day))
    return DateRange(day, day)


def _month_end(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def month_start(year: int, month: int) -> date:
    """Return the first day of a month, counted on from January of a year."""
    years, index = divmod(month - 1, 12)
    return date(year + years, index + 1, 1)


_COMPARISON = re.compile(r"([<>]=?|[≤≥])\s*([^<>≤≥]*[^<>≤≥\s])\s*")
_COMPARISONS = re.compile(rf"(?:{_COMPARISON.pattern})+")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
}
_NUMBER = re.compile(
    r"[^\w\s.,+-]?\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(?:[^\W\d]+|\W)?"
)
_DAY = re.compile(
    r"(\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?|\d{1,2}\.\s?\d{1,2}\.\s?\d{4})(?:[t ].*)?"
)
_DENIED = re.compile(
    r"(?:(?<!\w)(?:not|no|non|never|without|nicht|kein\w{0,2}|ohne|nie|pas|sans|sin)|n't)[\s-]+"
    r"(?:\w+\s+){0,2}$|[未非不無]$"
)
_DENIES = re.compile("(?:し|さ|され|れ|で|て|では|じゃ|して)?(?:い)?(?:ない|なし|ません|無し)|以外")


def is_comparison(condition: str) -> bool:
    """Return whether a condition compares, and does not name a value."""
    return _COMPARISONS.fullmatch(name_key(condition)) is not None


def value_test(condition: str) -> Callable[[str], bool]:
    """Return the function that tells whether a condition holds of a value.

    :raises UsageError: where it compares with what is neither a number nor a date.
    """
    key = name_key(condition)
    if is_comparison(key):
        tests = [_comparison(sign, bound) for sign, bound in _COMPARISON.findall(key)]
        return lambda value: all(holds(value) for holds in tests)
    words, days = fold_accents(key), None if key.isdigit() else _days(key)
    # A number is no part of a longer one, nor of a date.
    edges = ("", "") if RUN.search(words) else (r"(?<!\w)(?<!\d[.,:/-])", r"(?!\w|[.,:/-]\d)")
    spelt = re.compile(re.escape(words).join(edges))

    def holds(value: str) -> bool:
        text = fold_accents(name_key(value))
        if days and (day := _day(value)):
            return days.first <= day <= days.last
        # Words for not may stand beside what was found; "no. 5" has none.
        return any(
            match[0].isdigit()
            or not (_DENIED.search(text, 0, match.start()) or _DENIES.match(text, match.end()))
            for match in spelt.finditer(text)
        )

    return holds


def _comparison(sign: str, bound: str) -> Callable[[str], bool]:
    number, days = _number(bound), _days(bound)
    if number is None and days is None:
        raise UsageError(
            f"{brief(bound)!r} is neither a number nor a date",
            hint="Compare with one, as in price:>200 or due:<2026-12-01.",
        )
    compare = _COMPARE[sign]

    def holds(value: str) -> bool:
        if days and (day := _day(value)):
            # Before a month is before its first day, up to it is up to its last.
            return compare(day, days.first if sign in ("<", ">=", "≥") else days.last)
        amount = _number(value)
        return number is not None and amount is not None and compare(amount, number)

    return holds


def _number(text: str) -> float | None:
    match = _NUMBER.fullmatch(name_key(text))
    return float(match[1].replace(",", "")) if match else None


def _day(value: str) -> date | None:
    written = _DAY.fullmatch(name_key(value))
    days = _days(written[1]) if written else None
    return days.first if days else None


def _days(text: str) -> DateRange | None:
    try:
        return parse_date_range(text, date.today())
    except UsageError:
        return None
