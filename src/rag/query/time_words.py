"""Patterns of words for times, in lower case; `rag.query.time_points` reads what they match."""

from __future__ import annotations

import re
from functools import cache

_S = " {1,9}"
_B, _E = "(?<![a-z0-9_])", "(?![a-z0-9_])"
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_NUMBER_NAMES = "zero one two three four five six seven eight nine ten eleven twelve"
MONTHS = _MONTH_NAMES.split()
WEEKDAYS = _WEEKDAY_NAMES.split()
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASONS |= {"春": 3, "夏": 6, "秋": 9, "冬": 12}
NUMBERS = _NUMBER_NAMES.split()
KANJI = "〇一二三四五六七八九"

_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_FULL_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_WEEKDAY = f"(?:{'|'.join(WEEKDAYS)})"
_SEASON = "(?:spring|summer|autumn|fall|winter)"
_N = rf"(?:\d{{1,3}}|{'|'.join(NUMBERS[1:])}|an?|a couple of|a few|few|several)"
_JN = rf"(?:\d{{1,3}}|[{KANJI[1:]}十]{{1,3}}|数)"
_UNIT = "(?:days?|weeks?|months?|years?)"
_JUNIT = "(?:日|週|[かカヵケヶ箇ヵ]月|年)"
_JREL_YEAR = "今年|本年|去年|昨年|一昨年|おととし"
GOES_ON = re.compile("[のに中かまよ以、ごは分頃〜~ \x1e\x1f-]|$")  # of 三月うさぎ it is no month
_TH = "(?:st|nd|rd|th)?"

# In this order: of two that begin at one place, the first counts. No name is used twice.
PATTERNS = {
    "future": rf"{_B}(?:(?:next|coming|upcoming|following){_S}(?:{_N}{_S})?"
    rf"(?:{_UNIT}|quarter|weekend|{_WEEKDAY}|{_SEASON}|{_FULL_MONTH})|tomorrow"
    rf"|in{_S}{_N}{_S}{_UNIT}){_E}|再?来(?:週|月|年)(?:の?[月火水木金土日]曜日?|末)?"
    "|明日|明後日|あした|あさって|翌[日週月年]",
    "past": rf"{_B}(?:the{_S})?(?:(?:last|past|previous){_S}(?P<past_n>{_N})|past){_S}"
    rf"(?P<past_unit>{_UNIT}){_E}"
    rf"|(?:この|ここ|過去|直近|最近)の?(?:(?P<past_jn>{_JN})(?P<past_junit>{_JUNIT})間?|半年間?)",
    "ago": rf"{_B}(?P<ago_n>{_N}){_S}(?P<ago_unit>{_UNIT}){_S}ago{_E}"
    rf"|(?<![\d{KANJI}十])(?:(?P<ago_jn>{_JN})(?P<ago_junit>{_JUNIT})間?|半年)前(?![半後期])",
    "week_day": rf"{_B}(?P<wd_rel>last|past|this|on|since){_S}(?P<wd>{_WEEKDAY}){_E}"
    "|(?P<wd_week>先々週|先週|今週)の?(?P<wd_j>[月火水木金土日])曜日?"
    "|(?<![a-z0-9])(?P<wd_only>[月火水木金土日])曜日?(?=[のに])",
    "weekend": rf"{_B}(?P<we>(?:last|this|past)|over{_S}the|on{_S}the){_S}weekend{_E}"
    "|(?P<we_j>先週|今週)の?(?:末|週末)",
    "iso": r"(?<![a-z0-9_.:/-])(?P<iso_y>\d{4})(?P<iso_s>[-/])(?P<iso_m>\d{1,2})"
    r"(?:(?P=iso_s)(?P<iso_d>\d{1,2}))?(?![a-z0-9_:/]|[-.]\d)",
    "dotted": r"(?<![a-z0-9_.:/-])(?P<dot_y>\d{4})\.(?P<dot_m>\d{1,2})\.(?P<dot_d>\d{1,2})"
    r"(?![a-z0-9_:/]|[-.]\d)",
    "day_month": rf"{_B}(?P<dm_d>\d{{1,2}}){_TH}{_S}(?:of{_S})?(?P<dm_m>{_MONTH})"
    rf"(?:,?{_S}(?P<dm_y>\d{{4}}))?{_E}",
    "month_year": rf"{_B}(?P<my_m>{_MONTH}),?{_S}(?:of{_S})?(?P<my_y>\d{{4}}){_E}",
    "month_day": rf"{_B}(?P<md_m>{_MONTH}){_S}(?P<md_d>\d{{1,2}})(?P<md_th>{_TH})"
    rf"(?:,?{_S}(?P<md_y>\d{{4}}))?{_E}",
    "season": rf"{_B}(?:(?P<se_rel>this|last|past){_S})?(?P<se>{_SEASON})"
    rf"(?:{_S}(?:of{_S})?(?P<se_y>\d{{4}}))?{_E}"
    rf"|(?:(?P<se_jrel>この|{_JREL_YEAR})の?|(?P<se_jy>\d{{4}})年の?)(?P<se_j>[春夏秋冬])(?![休祭季])",
    "quarter": rf"{_B}(?:(?P<q_rel>this|last|past|previous){_S}quarter"
    rf"|(?P<q_y1>\d{{4}})[ -]?q(?P<q_1>[1-4])"
    rf"|q(?P<q_2>[1-4])(?:[ /-](?:of{_S})?(?P<q_y2>\d{{4}}))?){_E}"
    rf"|(?:(?P<q_y3>\d{{4}})年の?|(?P<q_jrel>{_JREL_YEAR})の?)?第(?P<q_3>[1-4一二三四])四半期",
    "month": rf"{_B}(?:(?P<mo_rel>last|this|past){_S})?(?P<mo>{_FULL_MONTH}){_E}",
    "japanese": rf"(?:(?P<ja_y>\d{{4}})年の?|(?P<ja_rel>{_JREL_YEAR})の?)?(?<![\d{KANJI}十第])"
    rf"(?P<ja_m>\d{{1,2}}|[{KANJI[1:]}十]{{1,3}})月(?!曜)"
    rf"(?:(?P<ja_d>\d{{1,2}}|[{KANJI[1:]}十]{{1,3}})日(?!間))?(?![号期間])",
    "named": rf"{_B}(?:the{_S}day{_S}before{_S}yesterday|yesterday"
    rf"|the{_S}(?:week|month|year){_S}before{_S}last"
    rf"|(?:this|last|previous|current){_S}(?:week|month|year)){_E}"
    f"|一昨日|おととい|昨日|きのう|先々週|先々月|先週|今週|先月|今月|(?:{_JREL_YEAR})(?!度)",
    "weak": rf"{_B}today{_E}|今日(?!的)|本日",
    "recent": rf"{_B}(?:recently|recent|lately){_E}|最近|この頃|このごろ|近頃",
    "year": rf"{_B}(?:the{_S}year{_S})?(?P<year_y>(?:19|20)\d{{2}})(?:{_E}(?![-./:,]\d|年)"
    "|年(?!間|前|以[上内]|代|ぶり|度))",
}


@cache
def pattern() -> re.Pattern[str]:
    """Return all of them as one; `lastgroup` of a match is the kind of time."""
    return re.compile("|".join(f"(?P<{name}>{text})" for name, text in PATTERNS.items()))
