"""Patterns of words for times, in lower case; `time_points` reads what they match."""

from __future__ import annotations

import re
from functools import cache

from rag.query.planner.rules.shared_patterns import (
    COUNT,
    FULL_MONTH,
    JA_COUNT,
    JA_UNIT,
    KANJI,
    MONTH,
    SEASON,
    UNIT,
    WEEKDAY,
    B,
    E,
)

_S = " {1,9}"
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTHS = _MONTH_NAMES.split()
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASONS |= {"春": 3, "夏": 6, "秋": 9, "冬": 12}
_JREL_YEAR = "今年|本年|去年|昨年|一昨年|おととし"
GOES_ON = re.compile("[のに中かまよ以、ごは分頃〜~ \x1e\x1f-]|$")  # of 三月うさぎ it is no month
_TH = "(?:st|nd|rd|th)?"
_TO = f"(?: ?[–—~-] ?|{_S}(?:to|through|until){_S})"

# In this order: of two that begin at one place, the first counts. No name is used twice.
PATTERNS = {
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
def pattern() -> re.Pattern[str]:
    """Return all of them as one; `lastgroup` of a match is the kind of time."""
    return re.compile("|".join(f"(?P<{name}>{text})" for name, text in PATTERNS.items()))
