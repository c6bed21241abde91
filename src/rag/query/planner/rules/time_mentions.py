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
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from typing import Literal

from rag.query.dates import NAMED, DateRange, calendar_range, days_ago, month_start, shifted
from rag.query.planner.rules.shared_patterns import (
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

EARLIEST = 1990  # no note is older; what speaks of such a year has it for its subject
RECENT = 30  # days
_KANJI_DAYS = "月火水木金土日"
_S = " {1,9}"
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = _MONTH_NAMES.split()
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SEASONS |= {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_JREL_YEAR = "今年|本年|去年|昨年|一昨年|おととし"
_GOES_ON = re.compile("[のに中かまよ以、ごは分頃〜~ \x1e\x1f-]|$")  # of 三月うさぎ it is no month
_TH = "(?:st|nd|rd|th)?"
_TO = f"(?: ?[–—~-] ?|{_S}(?:to|through|until){_S})"

# In this order: of two that begin at one place, the first counts. No name is used twice.
_PATTERNS = {
    "part": rf"{B}(?:the{_S})?(?P<pt>first|last){_S}(?P<pt_unit>day|week|month){_S}of{_S}"
    rf"(?:(?P<pt_m>{MONTH})(?:,?{_S}(?P<pt_my>\d{{4}}))?|(?P<pt_y>(?:19|20)\d{{2}})){E}",
    "future": rf"{B}(?:(?:next|coming|upcoming|following){_S}(?:{COUNT}{_S})?"
    rf"(?:{UNIT}|quarter|weekend|{WEEKDAY}|{SEASON}|{FULL_MONTH})|tomorrow"
    rf"|in{_S}{COUNT}{_S}{UNIT}){E}|再?来(?:週|月|年)(?:の?[月火水木金土日]曜日?|末)?"
    "|明日|明後日|あした|あさって|翌[日週月年]",
    "past": rf"{B}(?:the{_S})?(?:(?:last|past|previous){_S}(?P<past_n>{COUNT})|past){_S}"
    rf"(?P<past_unit>{UNIT}){E}"
    rf"|(?:この|ここ|過去|直近|最近)の?(?:(?P<past_jn>{JA_COUNT})(?P<past_junit>{JA_UNIT})間?|半年間?)",
    "ago": rf"{B}(?P<ago_n>{COUNT}){_S}(?P<ago_unit>{UNIT}){_S}ago{E}"
    rf"|(?<![\d{KANJI}十])(?:(?P<ago_jn>{JA_COUNT})(?P<ago_junit>{JA_UNIT})間?|半年)前(?![半後期])",
    "age": rf"(?<=er than )(?P<age_n>{COUNT}){_S}(?P<age_unit>{UNIT})(?:{_S}old)?{E}"
    rf"|(?<![\d{KANJI}十])(?P<age_jn>{JA_COUNT})(?P<age_junit>{JA_UNIT})間?"
    "(?:(?P<age_within>以内(?=[のに]))|(?=以上前|より(?:前|古)))",
    "week_day": rf"{B}(?P<wd_rel>last|past|this|on|since|from){_S}(?P<wd>{WEEKDAY}){E}"
    "|(?P<wd_week>先々週|先週|今週)の?(?P<wd_j>[月火水木金土日])曜日?"
    "|(?<![a-z0-9])(?P<wd_only>[月火水木金土日])曜日?(?=[のに])",
    "weekend": rf"{B}(?P<we>(?:last|this|past)|over{_S}the|on{_S}the){_S}weekend{E}"
    "|(?P<we_j>先週|今週)の?(?:末|週末)",
    "iso": r"(?<![a-z0-9_.:/-])(?P<iso_y>\d{4})(?P<iso_s>[-/])(?P<iso_m>\d{1,2})"
    r"(?:(?P=iso_s)(?P<iso_d>\d{1,2}))?(?![a-z0-9_:/]|[-.]\d)",
    "dotted": r"(?<![a-z0-9_.:/-])(?P<dot_y>\d{4})\.(?P<dot_m>\d{1,2})\.(?P<dot_d>\d{1,2})"
    r"(?![a-z0-9_:/]|[-.]\d)",
    "slashed": r"(?<![a-z0-9_.:/-])(?P<sl_1>\d{1,2})/(?P<sl_2>\d{1,2})/(?P<sl_y>\d{4})"
    r"(?![a-z0-9_:/]|[-.]\d)",
    "day_month": rf"{B}(?P<dm_d>\d{{1,2}}){_TH}(?:{_TO}(?P<dm_d2>\d{{1,2}}){_TH})?"
    rf"{_S}(?:of{_S})?(?P<dm_m>{MONTH})(?:,?{_S}(?P<dm_y>\d{{4}}))?{E}",
    "month_year": rf"{B}(?P<my_m>{MONTH}),?{_S}(?:of{_S})?(?P<my_y>\d{{4}}){E}",
    "month_day": rf"{B}(?P<md_m>{MONTH}){_S}(?P<md_d>\d{{1,2}})(?P<md_th>{_TH})"
    rf"(?:{_TO}(?P<md_d2>\d{{1,2}}){_TH}(?![\d:/.-])(?!{_S}(?:of{_S})?{MONTH}))?"
    rf"(?:,?{_S}(?P<md_y>\d{{4}}))?{E}",
    "season": rf"{B}(?:(?P<se_rel>this|last|past){_S})?(?P<se>{SEASON})"
    rf"(?:{_S}(?:of{_S})?(?P<se_y>\d{{4}}))?{E}"
    rf"|(?:(?P<se_jrel>この|{_JREL_YEAR})の?|(?P<se_jy>\d{{4}})年の?)(?P<se_j>[春夏秋冬])(?![休祭季])",
    "quarter": rf"{B}(?:(?P<q_rel>this|last|past|previous){_S}quarter"
    rf"|(?P<q_y1>\d{{4}})[ -]?q(?P<q_1>[1-4])"
    rf"|q(?P<q_2>[1-4])(?:[ /-](?:of{_S})?(?P<q_y2>\d{{4}}))?){E}"
    rf"|(?:(?P<q_y3>\d{{4}})年の?|(?P<q_jrel>{_JREL_YEAR})の?)?第(?P<q_3>[1-4一二三四])四半期",
    "month": rf"{B}(?:(?P<mo_rel>last|this|past){_S})?(?P<mo>{FULL_MONTH}){E}",
    "japanese": rf"(?:(?P<ja_y>\d{{4}})年の?|(?P<ja_rel>{_JREL_YEAR})の?)?(?<![\d{KANJI}十第])"
    rf"(?P<ja_m>\d{{1,2}}|[{KANJI[1:]}十]{{1,3}})月(?!曜)"
    rf"(?:(?P<ja_d>\d{{1,2}}|[{KANJI[1:]}十]{{1,3}})日(?!間)"
    rf"(?:(?:から|[〜~–-])(?P<ja_d2>\d{{1,2}}|[{KANJI[1:]}十]{{1,3}})日(?!間)(?:まで)?)?)?(?![号期間])",
    "named": rf"{B}(?:the{_S}day{_S}before{_S}yesterday|yesterday"
    rf"|the{_S}(?:week|month|year){_S}before{_S}last"
    rf"|(?:this|last|previous|current){_S}(?:week|month|year)"
    rf"(?!{_S}of{_S}(?:the{_S}|last{_S}|this{_S}|\d|{MONTH}{E}))){E}"
    f"|一昨日|おととい|昨日|きのう|先々週|先々月|先週|今週|先月|今月|(?:{_JREL_YEAR})(?!度)",
    "weak": rf"{B}today{E}|今日(?!的)|本日",
    "recent": rf"{B}(?:recently|recent|lately){E}|最近|この頃|このごろ|近頃",
    "year": rf"{B}(?:the{_S}year{_S})?(?P<year_y>(?:19|20)\d{{2}})(?:{E}(?![-./:,]\d|年)"
    "|年(?!間|前|以[上内]|代|ぶり|度))",
}


@cache
def _pattern() -> re.Pattern[str]:
    """Return all of them as one; `lastgroup` of a match is the kind of time."""
    return re.compile("|".join(f"(?P<{name}>{text})" for name, text in _PATTERNS.items()))


Strength = Literal["sure", "dated", "year", "vague", "pair", "future"]


@dataclass(frozen=True)
class TimeMention:
    """A time that words name.

    :ivar days: empty when the calendar has none day, or when it lies ahead.
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

    def in_year(self, year: int) -> TimeMention:
        """Return the same month or day of another year."""
        assert self.month is not None
        return replace(self, days=days_of(year, *self.month), month=None)


def mention_of(
    found: re.Match[str], strength: Strength, days: DateRange | None = None
) -> TimeMention:
    """Return the mention of words that were found."""
    return TimeMention(found.start(), found.end(), found.lastgroup or "", strength, days)


def days_of(year: int, month: int | None = None, day: int | None = None) -> DateRange | None:
    """Return a year, a month of it or a day; `None` when the calendar has none."""
    try:
        return calendar_range(year, month, day)
    except ValueError:
        return None


def number_of(text: str) -> int:
    """Return the number that figures or words say; "a few" is 3."""
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
        return 10 * (number_of(tens) if ten else 0) + (KANJI.index(ones) if ones else 0)
    return 3  # a few, 数


def _months(text: str) -> int:
    return (
        _MONTHS.index(text[:3]) + 1 if text[0].isascii() and text[0].isalpha() else number_of(text)
    )


def _iso(found: re.Match[str], today: date) -> TimeMention:
    """Read 2024-05 and 2024/05/03."""
    day = found["iso_d"]
    days = days_of(int(found["iso_y"]), int(found["iso_m"]), int(day) if day else None)
    return mention_of(found, "dated", days)


def _dotted(found: re.Match[str], today: date) -> TimeMention:
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


def _slashed(found: re.Match[str], today: date) -> TimeMention | None:
    """Read 14/03/2025 and 03/14/2025, where there is no doubt which is the day."""
    first, second = int(found["sl_1"]), int(found["sl_2"])
    if first <= 12 and second <= 12 and first != second:
        return None
    day, month = (second, first) if second > 12 else (first, second)
    return mention_of(found, "dated", days_of(int(found["sl_y"]), month, day))


def _day_month(found: re.Match[str], today: date) -> TimeMention:
    """Read 3rd of May 2024, 3–5 May."""
    mention = _day_of_month(found, today, _months(found["dm_m"]), int(found["dm_d"]), found["dm_y"])
    return _until(mention, found["dm_d2"])


def _month_year(found: re.Match[str], today: date) -> TimeMention:
    """Read May 2024."""
    return _day_of_month(found, today, _months(found["my_m"]), None, found["my_y"])


def _month_day(found: re.Match[str], today: date) -> TimeMention:
    """Read May 3rd, 2024; May 3–5."""
    mention = _day_of_month(found, today, _months(found["md_m"]), int(found["md_d"]), found["md_y"])
    return _until(mention, found["md_d2"])


def _month(found: re.Match[str], today: date) -> TimeMention:
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


def _part(found: re.Match[str], today: date) -> TimeMention | None:
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


def _season(found: re.Match[str], today: date) -> TimeMention | None:
    """Read last summer, summer 2024, 今年の夏."""
    first = _SEASONS[found["se"] or found["se_j"]]
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


def _quarter(found: re.Match[str], today: date) -> TimeMention:
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


def _japanese(found: re.Match[str], today: date) -> TimeMention | None:
    """Read 5月, 2024年5月3日, 去年の8月, 5月3日〜5日."""
    year = found["ja_y"]
    if rel := found["ja_rel"]:
        year = str(today.year + NAMED[rel][0])
    day = number_of(found["ja_d"]) if found["ja_d"] else None
    if not (year or day) and not _GOES_ON.match(found.string, found.end()):
        return None
    mention = _until(
        _day_of_month(found, today, number_of(found["ja_m"]), day, year), found["ja_d2"]
    )
    return replace(mention, strength="sure") if rel else mention


def find_mentions(text: str, today: date) -> Iterator[TimeMention]:
    """Yield what names a time in a text in lower case, in order."""
    for found in _pattern().finditer(text):
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
    "part": _part,
    "future": _future,
    "past": _past,
    "ago": _ago,
    "age": _age,
    "week_day": _week_day,
    "weekend": _weekend,
    "iso": _iso,
    "dotted": _dotted,
    "slashed": _slashed,
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
