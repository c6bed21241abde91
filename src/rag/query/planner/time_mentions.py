"""Words for days, weeks, months, seasons and years in running text, each with its days.

A week begins on Monday, and a week, month or year *ago* is that week, month or year of the
calendar. "The last 3 days" are today and the two before; months and years go back to the same day.
Times ahead are left out. Of a month, season or quarter without a year the latest that has begun is
meant. Spring is March to May, summer June to August, autumn September to November; winter is
December to February and belongs to the year in which it begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache
from typing import Literal, NamedTuple

from rag.query.planner.words import (
    COUNT,
    FULL_MONTH,
    JA_COUNT,
    JA_UNIT,
    KANJI,
    MONTH,
    NUMBERS,
    SEASON,
    UNIT,
    WEEKDAY,
    WEEKDAYS,
    B,
    E,
)
from rag.query.values import NAMED, DateRange, calendar_range, days_ago, month_start, shifted

EARLIEST = 1990  # no note is older; what speaks of such a year has it for its subject
RECENT = 30  # days
_KANJI_DAYS = "月火水木金土日"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SEASONS |= {"春": 3, "夏": 6, "秋": 9, "冬": 12}

Strength = Literal["sure", "dated", "year", "vague", "pair", "future"]


class TimeMention(NamedTuple):
    """A time that words name.

    :ivar strength: `sure` by itself, `dated` beside other words of time, `year` and `vague`
        beside words of writing, `pair` as the end of a span only, `future` never.
    :ivar days: `None` where it lies ahead.
    :ivar exact: the day itself of something "a month ago".
    :ivar month: the month and day of a date without a year.
    """

    strength: Strength
    days: DateRange | None = None
    exact: date | None = None
    month: tuple[int, int | None] | None = None
    start: int = 0
    end: int = 0
    kind: str = ""

    def in_year(self, year: int) -> TimeMention:
        """Return the same month or day of another year."""
        assert self.month is not None
        return self._replace(days=_days_of(year, *self.month), month=None)


_Groups = dict[str, str]  # those of a match that hold something; the whole match is `all`
_Reader = Callable[[_Groups, date], "TimeMention | None"]
_READERS: list[tuple[str, _Reader]] = []  # of each pattern; of two at one place the first counts


def _reads(*patterns: str) -> Callable[[_Reader], _Reader]:
    """Register the function that says what matches of some patterns mean."""

    def register(read: _Reader) -> _Reader:
        _READERS.extend((pattern, read) for pattern in patterns)
        return read

    return register


def _days_of(year: int, month: int | None = None, day: int | None = None) -> DateRange | None:
    """Return a year, a month of it or a day; `None` when the calendar has none."""
    try:
        return calendar_range(year, month, day)
    except ValueError:
        return None


def _number(text: str) -> int:
    """Return the number that figures or words say; "a few" is 3."""
    if text.isdigit():
        return int(text)
    if text in NUMBERS:
        return NUMBERS.index(text)
    if text[0] in f"{KANJI}十":
        tens, ten, ones = text.rpartition("十")
        return 10 * (_number(tens) if tens else 1) * bool(ten) + max(KANJI.find(ones), 0)
    return {"a": 1, "an": 1, "a couple of": 2}.get(text, 3)


def _unit(text: str) -> str:
    units = {"日": "day", "週": "week", "年": "year"}
    return "month" if text.endswith("月") else units.get(text, text.rstrip("s"))


def _one_day(day: date) -> DateRange:
    return DateRange(day, day)


_S = " {1,9}"
_TH = "(?:st|nd|rd|th)?"
_TO = f"(?: ?[–—~-] ?|{_S}(?:to|through|until){_S})"
_JA_YEAR = "今年|本年|去年|昨年|一昨年|おととし"
_JA_NUMBER = rf"(?:\d{{1,2}}|[{KANJI[1:]}十]{{1,3}})"
_JA_ALONE = rf"(?<![\d{KANJI}十第])"
_DIGITS = r"(?<![a-z0-9_.:/-])"
_NO_MORE = r"(?![a-z0-9_:/]|[-.]\d)"
_Y = r"(?P<y>\d{4})"
_JA_DAYS = rf"(?P<d>{_JA_NUMBER})日(?!間)(?:(?:から|[〜~–-])(?P<d2>{_JA_NUMBER})日(?!間)(?:まで)?)?"


@_reads(
    rf"{B}(?:(?:next|coming|upcoming|following){_S}(?:{COUNT}{_S})?(?:{UNIT}|quarter"
    rf"|weekend|{WEEKDAY}|{SEASON}|{FULL_MONTH})|tomorrow|in{_S}{COUNT}{_S}{UNIT}){E}",
    "再?来(?:週|月|年)(?:の?[月火水木金土日]曜日?|末)?|明日|明後日|あした|あさって|翌[日週月年]",
)
def _future(found: _Groups, today: date) -> TimeMention:
    return TimeMention("future")


@_reads(
    rf"{B}(?:the{_S})?(?:(?:last|past|previous){_S}(?P<n>{COUNT})|past){_S}(?P<unit>{UNIT}){E}",
    rf"(?:この|ここ|過去|直近|最近)の?(?:(?P<n>{JA_COUNT})(?P<unit>{JA_UNIT})間?|半年間?)",
)
def _past(found: _Groups, today: date) -> TimeMention:
    """Read the last 3 days, the past year, ここ半年."""
    unit = _unit(found.get("unit", "month"))
    count = _number(found["n"]) if "n" in found else 1 if "unit" in found else 6
    if unit in ("day", "week"):
        first = today - timedelta(count * (7 if unit == "week" else 1) - 1)
    else:
        first = days_ago(today, count, unit).first
    return TimeMention("sure", DateRange(first, today))


@_reads(
    rf"{B}(?P<n>{COUNT}){_S}(?P<unit>{UNIT}){_S}ago{E}",
    rf"(?<![\d{KANJI}十])(?:(?P<n>{JA_COUNT})(?P<unit>{JA_UNIT})間?|半年)前(?![半後期])",
)
def _ago(found: _Groups, today: date) -> TimeMention:
    unit = _unit(found.get("unit", "month"))
    exact = days_ago(today, _number(found.get("n", "6")), unit).first
    return TimeMention("sure", shifted(exact, 0, unit), exact)


@_reads(
    rf"(?<=er than )(?P<n>{COUNT}){_S}(?P<unit>{UNIT})(?:{_S}old)?{E}",
    rf"(?<![\d{KANJI}十])(?P<n>{JA_COUNT})(?P<unit>{JA_UNIT})間?"
    "(?:(?P<within>以内(?=[のに]))|(?=以上前|より(?:前|古)))",
)
def _age(found: _Groups, today: date) -> TimeMention:
    """Read the day before or after which notes of an age are from: 3か月以上前, 3日以内."""
    exact = days_ago(today, _number(found["n"]), _unit(found["unit"])).first
    if "within" in found:
        return TimeMention("vague", DateRange(exact, today))
    return TimeMention("vague", _one_day(exact), exact)


@_reads(
    rf"{B}(?:(?P<relation>last|past|this){_S}|(?<=on )|(?<=since )|(?<=from ))"
    rf"(?P<day>{WEEKDAY}){E}",
    "(?P<week>先々週|先週|今週)の?(?P<day>[月火水木金土日])曜日?",
    "(?<![a-z0-9])(?P<day>[月火水木金土日])曜日?(?=[のに])",
)
def _week_day(found: _Groups, today: date) -> TimeMention:
    if "week" in found:
        monday = shifted(today, *NAMED[found["week"]]).first
        return TimeMention("sure", _one_day(monday + timedelta(_KANJI_DAYS.index(found["day"]))))
    name, relation = found["day"], found.get("relation")
    index = WEEKDAYS.index(name) if name in WEEKDAYS else _KANJI_DAYS.index(name)
    back = today.weekday() - index
    if relation != "this":
        back %= 7
    if relation in ("last", "past"):
        back = back or 7
    return TimeMention("sure" if relation else "vague", _one_day(today - timedelta(back)))


@_reads(
    rf"{B}(?P<relation>(?:last|this|past)|over{_S}the|on{_S}the){_S}weekend{E}",
    "(?P<relation>先週|今週)の?(?:末|週末)",
)
def _weekend(found: _Groups, today: date) -> TimeMention:
    relation = found["relation"]
    over = relation.endswith("the") and today.weekday() < 5
    back = -7 if over or relation in ("last", "past", "先週") else 0
    saturday = today + timedelta(back + 5 - today.weekday())
    return TimeMention("sure", DateRange(saturday, saturday + timedelta(1)))


@_reads(
    rf"{_DIGITS}{_Y}(?P<s>[-/])(?P<m>\d{{1,2}})(?:(?P=s)(?P<d>\d{{1,2}}))?{_NO_MORE}",
    rf"{_DIGITS}{_Y}\.(?P<m>\d{{1,2}})\.(?P<d>\d{{1,2}}){_NO_MORE}",
)
def _iso(found: _Groups, today: date) -> TimeMention:
    day = int(found["d"]) if "d" in found else None
    return TimeMention("dated", _days_of(int(found["y"]), int(found["m"]), day))


@_reads(
    rf"{_DIGITS}(?P<a>\d{{1,2}})/(?P<b>\d{{1,2}})/{_Y}{_NO_MORE}",
)
def _slashed(found: _Groups, today: date) -> TimeMention | None:
    """Read 14/03/2025 and 03/14/2025, where there is no doubt which is the day."""
    first, second = int(found["a"]), int(found["b"])
    if first <= 12 and second <= 12 and first != second:
        return None
    day, month = (second, first) if second > 12 else (first, second)
    return TimeMention("dated", _days_of(int(found["y"]), month, day))


@_reads(
    rf"{B}(?P<d>\d{{1,2}}){_TH}(?:{_TO}(?P<d2>\d{{1,2}}){_TH})?{_S}(?:of{_S})?(?P<m>{MONTH})"
    rf"(?:,?{_S}{_Y})?{E}",
    rf"{B}(?P<m>{MONTH}),?{_S}(?:of{_S})?{_Y}{E}",
    rf"{B}(?P<m>{MONTH}){_S}(?P<d>\d{{1,2}}){_TH}"
    rf"(?:{_TO}(?P<d2>\d{{1,2}}){_TH}(?![\d:/.-])(?!{_S}(?:of{_S})?{MONTH}))?"
    rf"(?:,?{_S}{_Y})?{E}",
)
def _date(found: _Groups, today: date) -> TimeMention | None:
    """Read 3rd of May 2024, May 3–5, last May, 去年の8月, 5月3日〜5日; without a year the latest
    that has begun is meant."""
    text, relation = found["m"], found.get("relation", "")
    month = _MONTHS.index(text[:3]) + 1 if text[:3] in _MONTHS else _number(text)
    day = _number(found["d"]) if "d" in found else None
    year = int(found["y"]) if "y" in found else None
    if relation in NAMED:
        year = today.year + NAMED[relation][0]
    time = TimeMention("sure" if relation else "dated")
    if year:
        time = time._replace(days=_days_of(year, month, day))
    else:
        years = range(today.year, max(today.year - 9, 0), -1)  # 29 February: eight years
        begun = (d for y in years if (d := _days_of(y, month, day)) and d.first <= today)
        time = time._replace(month=(month, day), days=next(begun, None))
    if time.days and relation == "this":
        time = time._replace(days=_days_of(today.year, month), month=None)
    elif time.days and relation in ("last", "past"):
        year = time.days.first.year - (time.days.last >= today)
        time = time._replace(days=_days_of(year, month), month=None)
    if time.days and "d2" in found:
        first = time.days.first
        last = _days_of(first.year, first.month, _number(found["d2"]))
        is_span = last is not None and last.first >= first
        days = DateRange(first, last.last) if last and is_span else None
        time = time._replace(days=days, month=None)
    return time


@_reads(
    rf"{B}(?P<relation>this|last|past){_S}(?P<season>{SEASON}){E}(?!{_S}(?:of{_S})?\d{{4}}{E})",
    rf"{B}(?:(?:this|last|past){_S})?(?P<season>{SEASON}){_S}(?:of{_S})?{_Y}{E}",
    rf"(?:(?P<relation>この|{_JA_YEAR})の?|{_Y}年の?)(?P<season>[春夏秋冬])(?![休祭季])",
)
def _season(found: _Groups, today: date) -> TimeMention:
    first, relation = _SEASONS[found["season"]], found.get("relation", "")
    late = first == 12 and today.month < 3
    if "y" in found:
        year = int(found["y"])
    elif relation in NAMED:
        year = today.year + NAMED[relation][0]
    elif relation in ("this", "この"):
        year = today.year - late
    else:  # the last that is over
        year = today.year - (month_start(today.year, first + 3) > today) - late
    days = DateRange(date(year, first, 1), month_start(year, first + 3) - timedelta(1))
    return TimeMention("dated" if "y" in found else "sure", days)


@_reads(
    rf"{B}(?:(?P<relation>this|last|past|previous){_S}quarter|{_Y}[ -]?q(?P<q>[1-4])){E}",
    rf"{B}q(?P<q>[1-4])(?:[ /-](?:of{_S})?{_Y})?{E}",
    rf"(?:{_Y}年の?|(?P<relation>{_JA_YEAR})の?)?第(?P<q>[1-4一二三四])四半期",
)
def _quarter(found: _Groups, today: date) -> TimeMention:
    relation, year = found.get("relation", ""), int(found.get("y", today.year))
    if "q" in found:
        year += NAMED[relation][0] if relation else 0
        index = _number(found["q"]) - 1
    else:
        index = (today.month - 1) // 3 - (relation != "this")
    if "q" in found and not relation and "y" not in found:
        year -= month_start(year, 3 * index + 1) > today
    first, after = month_start(year, 3 * index + 1), month_start(year, 3 * index + 4)
    return TimeMention("dated" if "q" in found else "sure", DateRange(first, after - timedelta(1)))


@_reads(
    rf"{B}(?:(?P<relation>last|this|past){_S})?(?P<m>{FULL_MONTH}){E}",
)
def _month(found: _Groups, today: date) -> TimeMention | None:
    time = _date(found, today)
    return time if "relation" in found or not time else time._replace(strength="pair")


@_reads(
    rf"(?:{_Y}年の?|(?P<relation>{_JA_YEAR})の?){_JA_ALONE}(?P<m>{_JA_NUMBER})月(?!曜)"
    rf"(?:{_JA_DAYS})?(?![号期間])",
    rf"{_JA_ALONE}(?P<m>{_JA_NUMBER})月(?!曜){_JA_DAYS}(?![号期間])",
    rf"{_JA_ALONE}(?P<m>{_JA_NUMBER})月(?!曜)(?![号期間])"
    "(?=[のに中かまよ以、ごは分頃〜~ \x1e\x1f-]|$)",
)
def _japanese(found: _Groups, today: date) -> TimeMention | None:
    return _date(found, today)


@_reads(
    rf"{B}(?:the{_S}day{_S}before{_S}yesterday|yesterday"
    rf"|the{_S}(?:week|month|year){_S}before{_S}last"
    rf"|(?:this|last|previous|current){_S}(?:week|month|year)"
    rf"(?!{_S}of{_S}(?:the{_S}|last{_S}|this{_S}|\d|{MONTH}{E}))){E}",
    f"一昨日|おととい|昨日|きのう|先々週|先々月|先週|今週|先月|今月|(?:{_JA_YEAR})(?!度)",
)
def _named(found: _Groups, today: date) -> TimeMention:
    words = " ".join(found["all"].split()).replace("previous", "last").replace("current", "this")
    return TimeMention("sure", shifted(today, *NAMED[words]))


@_reads(
    rf"{B}today{E}|今日(?!的)|本日",
)
def _weak(found: _Groups, today: date) -> TimeMention:
    return TimeMention("vague", _one_day(today))


@_reads(
    rf"{B}(?:recently|recent|lately){E}|最近|この頃|このごろ|近頃",
)
def _recent(found: _Groups, today: date) -> TimeMention:
    return TimeMention("vague", DateRange(today - timedelta(RECENT - 1), today))


@_reads(
    rf"{B}(?:the{_S}year{_S})?(?P<y>(?:19|20)\d{{2}})(?:{E}(?![-./:,]\d|年)"
    "|年(?!間|前|以[上内]|代|ぶり|度))",
)
def _year(found: _Groups, today: date) -> TimeMention:
    return TimeMention("year", _days_of(int(found["y"])))


@cache
def _patterns() -> list[tuple[re.Pattern[str], _Reader]]:
    return [(re.compile(pattern), read) for pattern, read in _READERS]


def find_mentions(text: str, today: date) -> Iterator[TimeMention]:
    """Yield what names a time in a text in lower case, in order."""
    ahead = [(pattern.search(text), pattern, read) for pattern, read in _patterns()]
    while matches := [(match, pattern, read) for match, pattern, read in ahead if match]:
        first, _, read = min(matches, key=lambda found: found[0].start())
        groups = {name: words for name, words in first.groupdict().items() if words is not None}
        try:
            time = read({**groups, "all": first[0]}, today)
        except (ValueError, OverflowError):
            time = None
        kind = read.__name__.strip("_")
        if time and (time.days or time.strength == "future"):
            is_ahead = time.days and (time.days.first > today or time.days.last.year < EARLIEST)
            time = time._replace(strength="future") if is_ahead else time
            yield time._replace(start=first.start(), end=first.end(), kind=kind)
        end = first.end()
        ahead = [
            (match if match.start() >= end else pattern.search(text, end), pattern, reader)
            for match, pattern, reader in matches
        ]
