"""Words for days, weeks, months, seasons and years in running text, each with its days.

Spring is March to May, summer June to August, autumn September to November; winter is December
to February and belongs to the year in which it begins. A week begins on Monday, and a week, month
or year *ago* is that week, month or year of the calendar. "The last 3 days" are today and the
two before; months and years go back to the same day. What lies ahead is no point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from rag.query.dates import NAMED, DateRange, calendar_range, days_ago, month_start, shifted
from rag.query.time_words import GOES_ON, KANJI, MONTHS, NUMBERS, SEASONS, WEEKDAYS, pattern

Strength = Literal["sure", "dated", "year", "vague", "pair", "future"]

EARLIEST = 1990  # no note is older; what speaks of such a year has it for its subject
RECENT = 30  # days
_KANJI_DAYS = "月火水木金土日"


@dataclass(frozen=True)
class Point:
    """A time that words name.

    :ivar days: empty when the calendar has no such day, or when it lies ahead.
    :ivar strength: `sure` by itself, `dated` beside other words of time, `year` and `vague`
        beside words of writing, `pair` as the end of a span only.
    :ivar exact: the day itself of something "a month ago".
    :ivar month: the month and day of a date without a year.
    """

    start: int
    end: int
    kind: str
    strength: Strength
    days: DateRange | None = None
    exact: date | None = None
    month: tuple[int, int | None] | None = None

    def in_year(self, year: int) -> Point:
        """Return the same month or day of another year."""
        assert self.month is not None
        return replace(self, days=_calendar(year, *self.month), month=None)


def find_points(text: str, today: date) -> Iterator[Point]:
    """Yield what names a time in a text in lower case, in order."""
    for found in pattern().finditer(text):
        kind = found.lastgroup or ""
        try:
            point = _READERS[kind](found, today)
        except (ValueError, OverflowError):
            continue
        if point is None or (point.days is None and kind != "future"):
            continue
        if point.days and (point.days.first > today or point.days.last.year < EARLIEST):
            point = replace(point, strength="future")
        yield point


def _point(found: re.Match[str], strength: Strength, days: DateRange | None = None) -> Point:
    return Point(found.start(), found.end(), found.lastgroup or "", strength, days)


def _calendar(year: int, month: int | None = None, day: int | None = None) -> DateRange | None:
    try:
        return calendar_range(year, month, day)
    except ValueError:
        return None


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text in NUMBERS:
        return NUMBERS.index(text)
    if text in ("a", "an", ""):
        return 1
    if text == "a couple of":
        return 2
    if text[0] in "〇一二三四五六七八九十":
        tens, ten, ones = text.rpartition("十")
        return 10 * (_number(tens) if ten else 0) + (KANJI.index(ones) if ones else 0)
    return 3  # a few, 数


def _unit(text: str) -> str:
    return {"日": "day", "週": "week", "年": "year"}.get(text, text.rstrip("s"))


def _months(text: str) -> int:
    return MONTHS.index(text[:3]) + 1 if text[0].isascii() and text[0].isalpha() else _number(text)


def _future(found: re.Match[str], today: date) -> Point:
    return _point(found, "future")


def _past(found: re.Match[str], today: date) -> Point:
    unit = _unit(
        found["past_unit"] or ("month" if not found["past_junit"] else found["past_junit"])
    )
    unit = "month" if unit.endswith("月") else unit
    given = found["past_n"] or found["past_jn"]
    halved = not given and not found["past_unit"]
    count = 6 if halved else _number(given or "")
    if unit in ("day", "week"):
        first = today - timedelta(count * (7 if unit == "week" else 1) - 1)
    else:
        first = days_ago(today, count, unit).first
    return _point(found, "sure", DateRange(first, today))


def _ago(found: re.Match[str], today: date) -> Point:
    given = found["ago_n"] or found["ago_jn"]
    unit = _unit(found["ago_unit"] or found["ago_junit"] or "month")
    unit = "month" if unit.endswith("月") else unit
    count = _number(given) if given else 6
    exact = days_ago(today, count, unit).first
    return replace(_point(found, "sure", shifted(exact, 0, unit)), exact=exact)


def _week_day(found: re.Match[str], today: date) -> Point:
    if week := found["wd_week"]:
        monday = shifted(today, *NAMED[week]).first
        day = monday + timedelta(_KANJI_DAYS.index(found["wd_j"]))
        return _point(found, "sure", DateRange(day, day))
    name = found["wd"]
    index = WEEKDAYS.index(name) if name else _KANJI_DAYS.index(found["wd_only"])
    back = (today.weekday() - index) % 7
    if found["wd_rel"] in ("last", "past"):
        back = back or 7
    elif found["wd_rel"] == "this":
        back = today.weekday() - index
    day = today - timedelta(back)
    sure = found["wd_rel"] in ("last", "past", "this", "since")
    start = (
        found.end() - len(name) if name and found["wd_rel"] in ("on", "since") else found.start()
    )
    return replace(_point(found, "sure" if sure else "vague", DateRange(day, day)), start=start)


def _weekend(found: re.Match[str], today: date) -> Point:
    back = -7 if found["we"] in ("last", "past") or found["we_j"] == "先週" else 0
    if found["we"] and found["we"].endswith("the") and today.weekday() < 5:
        back = -7
    saturday = today + timedelta(back + 5 - today.weekday())
    return _point(found, "sure", DateRange(saturday, saturday + timedelta(1)))


def _iso(found: re.Match[str], today: date) -> Point:
    day = found["iso_d"]
    days = _calendar(int(found["iso_y"]), int(found["iso_m"]), int(day) if day else None)
    return _point(found, "dated", days)


def _dotted(found: re.Match[str], today: date) -> Point:
    days = _calendar(int(found["dot_y"]), int(found["dot_m"]), int(found["dot_d"]))
    return _point(found, "dated", days)


def _day_of_month(
    found: re.Match[str], today: date, month: int, day: int | None, year: str | None
) -> Point:
    """Return a day or month; without a year it is the latest that has begun."""
    point = _point(found, "dated")
    if year:
        return replace(point, days=_calendar(int(year), month, day))
    point = replace(point, month=(month, day))
    days = _calendar(today.year, month, day)
    if days is None or days.first > today:
        days = _calendar(today.year - 1, month, day) or days
    return replace(point, days=days)


def _day_month(found: re.Match[str], today: date) -> Point:
    return _day_of_month(found, today, _months(found["dm_m"]), int(found["dm_d"]), found["dm_y"])


def _month_year(found: re.Match[str], today: date) -> Point:
    return _day_of_month(found, today, _months(found["my_m"]), None, found["my_y"])


def _month_day(found: re.Match[str], today: date) -> Point:
    return _day_of_month(found, today, _months(found["md_m"]), int(found["md_d"]), found["md_y"])


def _month(found: re.Match[str], today: date) -> Point:
    point = _day_of_month(found, today, _months(found["mo"]), None, None)
    if found["mo_rel"] and point.days:
        year = point.days.first.year
        if found["mo_rel"] == "this":
            year = today.year
        elif point.days.last >= today:
            year -= 1
        return replace(point.in_year(year), strength="sure")
    return replace(point, strength="pair")


def _season(found: re.Match[str], today: date) -> Point | None:
    first = SEASONS[found["se"] or found["se_j"]]
    rel, given = found["se_rel"] or found["se_jrel"], found["se_y"] or found["se_jy"]
    if given:
        year = int(given)
    elif rel in NAMED:
        year = today.year + NAMED[rel][0]
    elif rel in ("this", "この"):
        year = today.year - (first == 12 and today.month < 3)
    elif rel:  # the last that is over
        over = month_start(today.year, first + 3) <= today
        year = today.year - (not over) - (first == 12 and today.month < 3)
    else:
        return None
    start = date(year, first, 1)
    days = DateRange(start, month_start(year, first + 3) - timedelta(1))
    return _point(found, "dated" if given else "sure", days)


def _quarter(found: re.Match[str], today: date) -> Point:
    if rel := found["q_rel"]:
        index = (today.month - 1) // 3 - (rel != "this")
        return _point(found, "sure", _quarter_of(today.year, index))
    text = found["q_1"] or found["q_2"] or found["q_3"]
    index = _number(text) - 1
    given = found["q_y1"] or found["q_y2"] or found["q_y3"]
    if found["q_jrel"]:
        given = str(today.year + NAMED[found["q_jrel"]][0])
    year = int(given) if given else today.year
    days = _quarter_of(year, index)
    if not given and days.first > today:
        days = _quarter_of(year - 1, index)
    return _point(found, "dated", days)


def _quarter_of(year: int, index: int) -> DateRange:
    first = month_start(year, 3 * index + 1)
    return DateRange(first, month_start(year, 3 * index + 4) - timedelta(1))


def _japanese(found: re.Match[str], today: date) -> Point | None:
    year = found["ja_y"]
    if rel := found["ja_rel"]:
        year = str(today.year + NAMED[rel][0])
    day = _number(found["ja_d"]) if found["ja_d"] else None
    if not (year or day) and not GOES_ON.match(found.string, found.end()):
        return None
    point = _day_of_month(found, today, _number(found["ja_m"]), day, year)
    return replace(point, strength="sure") if rel else point


def _named(found: re.Match[str], today: date) -> Point:
    words = " ".join(found[0].split()).replace("previous", "last").replace("current", "this")
    return _point(found, "sure", shifted(today, *NAMED[words]))


def _weak(found: re.Match[str], today: date) -> Point:
    return _point(found, "vague", DateRange(today, today))


def _recent(found: re.Match[str], today: date) -> Point:
    return _point(found, "vague", DateRange(today - timedelta(RECENT - 1), today))


def _year(found: re.Match[str], today: date) -> Point:
    return _point(found, "year", _calendar(int(found["year_y"])))


_READERS: dict[str, Callable[[re.Match[str], date], Point | None]] = {
    "future": _future,
    "past": _past,
    "ago": _ago,
    "week_day": _week_day,
    "weekend": _weekend,
    "iso": _iso,
    "dotted": _dotted,
    "day_month": _day_month,
    "month_year": _month_year,
    "month_day": _month_day,
    "season": _season,
    "quarter": _quarter,
    "month": _month,
    "japanese": _japanese,
    "named": _named,
    "weak": _weak,
    "recent": _recent,
    "year": _year,
}
