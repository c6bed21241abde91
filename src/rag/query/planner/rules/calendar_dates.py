"""Days, months, seasons and quarters that are named by the calendar, with or without a year.

Without one the latest that has begun is meant. Spring is March to May, summer June to August,
autumn September to November; winter is December to February and belongs to the year in which it
begins.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

from rag.query.dates import NAMED, DateRange, month_start
from rag.query.planner.rules.time_mention import TimeMention, days_of, mention_of, number_of
from rag.query.planner.rules.time_patterns import GOES_ON, MONTHS, SEASONS


def _months(text: str) -> int:
    return (
        MONTHS.index(text[:3]) + 1 if text[0].isascii() and text[0].isalpha() else number_of(text)
    )


def iso(found: re.Match[str], today: date) -> TimeMention:
    """Read 2024-05 and 2024/05/03."""
    day = found["iso_d"]
    days = days_of(int(found["iso_y"]), int(found["iso_m"]), int(day) if day else None)
    return mention_of(found, "dated", days)


def dotted(found: re.Match[str], today: date) -> TimeMention:
    """Read 2024.05.03."""
    days = days_of(int(found["dot_y"]), int(found["dot_m"]), int(found["dot_d"]))
    return mention_of(found, "dated", days)


def _day_of_month(
    found: re.Match[str], today: date, month: int, day: int | None, year: str | None
) -> TimeMention:
    """Return a day or month; without a year it is the latest that has begun."""
    mention = mention_of(found, "dated")
    if year:
        return replace(mention, days=days_of(int(year), month, day))
    mention = replace(mention, month=(month, day))
    for back in range(9):  # 29 February may be eight years away
        days = days_of(today.year - back, month, day)
        if days and days.first <= today:
            return replace(mention, days=days)
    return mention


def _until(mention: TimeMention, day: str | None) -> TimeMention:
    """Return a time mention that goes on to a later day of its month."""
    if not day or mention.days is None:
        return mention
    last = days_of(mention.days.first.year, mention.days.first.month, number_of(day))
    if last is None or last.first < mention.days.first:
        return replace(mention, days=None)
    return replace(mention, days=DateRange(mention.days.first, last.last), month=None)


def slashed(found: re.Match[str], today: date) -> TimeMention | None:
    """Read 14/03/2025 and 03/14/2025, where there is no doubt which is the day."""
    first, second = int(found["sl_1"]), int(found["sl_2"])
    if first <= 12 and second <= 12 and first != second:
        return None
    day, month = (second, first) if second > 12 else (first, second)
    return mention_of(found, "dated", days_of(int(found["sl_y"]), month, day))


def day_month(found: re.Match[str], today: date) -> TimeMention:
    """Read 3rd of May 2024, 3–5 May."""
    mention = _day_of_month(found, today, _months(found["dm_m"]), int(found["dm_d"]), found["dm_y"])
    return _until(mention, found["dm_d2"])


def month_year(found: re.Match[str], today: date) -> TimeMention:
    """Read May 2024."""
    return _day_of_month(found, today, _months(found["my_m"]), None, found["my_y"])


def month_day(found: re.Match[str], today: date) -> TimeMention:
    """Read May 3rd, 2024; May 3–5."""
    mention = _day_of_month(found, today, _months(found["md_m"]), int(found["md_d"]), found["md_y"])
    return _until(mention, found["md_d2"])


def month(found: re.Match[str], today: date) -> TimeMention:
    """Read May and last May; it has to stand beside other words of time."""
    mention = _day_of_month(found, today, _months(found["mo"]), None, None)
    if found["mo_rel"] and mention.days:
        year = mention.days.first.year
        if found["mo_rel"] == "this":
            year = today.year
        elif mention.days.last >= today:
            year -= 1
        return replace(mention.in_year(year), strength="sure")
    return replace(mention, strength="pair")


def part(found: re.Match[str], today: date) -> TimeMention | None:
    """Read the last week of May 2024, the first month of 2025; a week here is seven days."""
    if month := found["pt_m"]:
        whole = _day_of_month(found, today, _months(month), None, found["pt_my"]).days
    else:
        whole = days_of(int(found["pt_y"]))
    if whole is None or (found["pt_unit"] == "month" and month):
        return None
    is_first, (first, last) = found["pt"] == "first", whole
    match found["pt_unit"]:
        case "month":
            days = days_of(first.year, 1 if is_first else 12)
        case unit:
            more = timedelta(6 if unit == "week" else 0)
            days = DateRange(first, first + more) if is_first else DateRange(last - more, last)
    return mention_of(found, "dated", days)


def season(found: re.Match[str], today: date) -> TimeMention | None:
    """Read last summer, summer 2024, 今年の夏."""
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
    return mention_of(found, "dated" if given else "sure", days)


def quarter(found: re.Match[str], today: date) -> TimeMention:
    """Read Q3 2025, last quarter, 2025年第3四半期."""
    if rel := found["q_rel"]:
        index = (today.month - 1) // 3 - (rel != "this")
        return mention_of(found, "sure", _quarter_of(today.year, index))
    text = found["q_1"] or found["q_2"] or found["q_3"]
    index = number_of(text) - 1
    given = found["q_y1"] or found["q_y2"] or found["q_y3"]
    if found["q_jrel"]:
        given = str(today.year + NAMED[found["q_jrel"]][0])
    year = int(given) if given else today.year
    days = _quarter_of(year, index)
    if not given and days.first > today:
        days = _quarter_of(year - 1, index)
    return mention_of(found, "dated", days)


def _quarter_of(year: int, index: int) -> DateRange:
    first = month_start(year, 3 * index + 1)
    return DateRange(first, month_start(year, 3 * index + 4) - timedelta(1))


def japanese(found: re.Match[str], today: date) -> TimeMention | None:
    """Read 5月, 2024年5月3日, 去年の8月, 5月3日〜5日."""
    year = found["ja_y"]
    if rel := found["ja_rel"]:
        year = str(today.year + NAMED[rel][0])
    day = number_of(found["ja_d"]) if found["ja_d"] else None
    if not (year or day) and not GOES_ON.match(found.string, found.end()):
        return None
    mention = _until(
        _day_of_month(found, today, number_of(found["ja_m"]), day, year), found["ja_d2"]
    )
    return replace(mention, strength="sure") if rel else mention
