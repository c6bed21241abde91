"""Words for days, weeks, months, seasons and years in running text, each with its days.

A week begins on Monday, and a week, month or year *ago* is that week, month or year of the
calendar. "The last 3 days" are today and the two before; months and years go back to the same day.
Times ahead are left out. `rag.query.planner.rules.calendar_dates` reads what the calendar names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta

from rag.query.dates import NAMED, DateRange, days_ago, shifted
from rag.query.planner.rules import calendar_dates as dated
from rag.query.planner.rules.shared_patterns import WEEKDAYS
from rag.query.planner.rules.time_mention import TimeMention, days_of, mention_of, number_of
from rag.query.planner.rules.time_patterns import pattern

EARLIEST = 1990  # no note is older; what speaks of such a year has it for its subject
RECENT = 30  # days
_KANJI_DAYS = "月火水木金土日"


def find_mentions(text: str, today: date) -> Iterator[TimeMention]:
    """Yield what names a time in a text in lower case, in order."""
    for found in pattern().finditer(text):
        kind = found.lastgroup or ""
        try:
            mention = _READERS[kind](found, today)
        except (ValueError, OverflowError):
            continue
        if mention is None or (mention.days is None and kind != "future"):
            continue
        if mention.days and (mention.days.first > today or mention.days.last.year < EARLIEST):
            mention = replace(mention, strength="future")
        yield mention


def _unit(text: str) -> str:
    units = {"日": "day", "週": "week", "年": "year"}
    return "month" if text.endswith("月") else units.get(text, text.rstrip("s"))


def _future(found: re.Match[str], today: date) -> TimeMention:
    return mention_of(found, "future")


def _past(found: re.Match[str], today: date) -> TimeMention:
    unit = _unit(found["past_unit"] or found["past_junit"] or "month")
    given = found["past_n"] or found["past_jn"]
    halved = not given and not found["past_unit"]
    count = 6 if halved else number_of(given or "")
    if unit in ("day", "week"):
        first = today - timedelta(count * (7 if unit == "week" else 1) - 1)
    else:
        first = days_ago(today, count, unit).first
    return mention_of(found, "sure", DateRange(first, today))


def _ago(found: re.Match[str], today: date) -> TimeMention:
    given = found["ago_n"] or found["ago_jn"]
    unit = _unit(found["ago_unit"] or found["ago_junit"] or "month")
    count = number_of(given) if given else 6
    exact = days_ago(today, count, unit).first
    return replace(mention_of(found, "sure", shifted(exact, 0, unit)), exact=exact)


def _age(found: re.Match[str], today: date) -> TimeMention:
    """Return the day before or after which notes of an age are from: 3か月以上前, 3日以内."""
    unit = _unit(found["age_unit"] or found["age_junit"])
    exact = days_ago(today, number_of(found["age_n"] or found["age_jn"]), unit).first
    if found["age_within"]:
        return mention_of(found, "vague", DateRange(exact, today))
    return replace(mention_of(found, "vague", DateRange(exact, exact)), exact=exact)


def _week_day(found: re.Match[str], today: date) -> TimeMention:
    if week := found["wd_week"]:
        monday = shifted(today, *NAMED[week]).first
        day = monday + timedelta(_KANJI_DAYS.index(found["wd_j"]))
        return mention_of(found, "sure", DateRange(day, day))
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
        found.end() - len(name)
        if name and found["wd_rel"] in ("on", "since", "from")
        else found.start()
    )
    return replace(mention_of(found, "sure" if sure else "vague", DateRange(day, day)), start=start)


def _weekend(found: re.Match[str], today: date) -> TimeMention:
    back = -7 if found["we"] in ("last", "past") or found["we_j"] == "先週" else 0
    if found["we"] and found["we"].endswith("the") and today.weekday() < 5:
        back = -7
    saturday = today + timedelta(back + 5 - today.weekday())
    return mention_of(found, "sure", DateRange(saturday, saturday + timedelta(1)))


def _named(found: re.Match[str], today: date) -> TimeMention:
    words = " ".join(found[0].split()).replace("previous", "last").replace("current", "this")
    return mention_of(found, "sure", shifted(today, *NAMED[words]))


def _weak(found: re.Match[str], today: date) -> TimeMention:
    return mention_of(found, "vague", DateRange(today, today))


def _recent(found: re.Match[str], today: date) -> TimeMention:
    return mention_of(found, "vague", DateRange(today - timedelta(RECENT - 1), today))


def _year(found: re.Match[str], today: date) -> TimeMention:
    return mention_of(found, "year", days_of(int(found["year_y"])))


_READERS: dict[str, Callable[[re.Match[str], date], TimeMention | None]] = {
    "part": dated.part,
    "future": _future,
    "past": _past,
    "ago": _ago,
    "age": _age,
    "week_day": _week_day,
    "weekend": _weekend,
    "iso": dated.iso,
    "dotted": dated.dotted,
    "slashed": dated.slashed,
    "day_month": dated.day_month,
    "month_year": dated.month_year,
    "month_day": dated.month_day,
    "season": dated.season,
    "quarter": dated.quarter,
    "month": dated.month,
    "japanese": dated.japanese,
    "named": _named,
    "weak": _weak,
    "recent": _recent,
    "year": _year,
}
