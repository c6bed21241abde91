"""Words that several of the rules know, as parts of patterns: edges, notes, numbers, calendar."""

from __future__ import annotations

EXAMINED = 4000  # characters; what a longer query says after them filters nothing

B, E = "(?<![a-z0-9_])", "(?![a-z0-9_])"  # where a Latin word begins and ends

NOTE = "notes?|memos?|entry|entries"
JA_NOTE = "ノート|メモ|記事|ページ|文書"
# What somebody asks about a time who wants all of it.
WHAT_HAPPENED = "what(?:'s| is| was)? (?:happened|new|going on|went on)|happened"
JA_WHAT_HAPPENED = (
    "(?:何|なに)(?:か|が)?(?:あった|起きた|起こった)(?:か|の|っけ)?|出来事|できごと"
    "|(?:何|なに)を?(?:した|やった)(?:か|の|っけ)?"
)

_NUMBER_NAMES = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBERS = _NUMBER_NAMES.split()
KANJI = "〇一二三四五六七八九"
COUNT = rf"(?:\d{{1,3}}|{'|'.join(NUMBERS[1:])}|an?|a couple of|a few|few|several)"
JA_COUNT = rf"(?:\d{{1,3}}|[{KANJI[1:]}十]{{1,3}}|数)"
UNIT = "(?:days?|weeks?|months?|years?)"
JA_UNIT = "(?:日|週|[かカヵケヶ箇]月|年)"

MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
FULL_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = _WEEKDAY_NAMES.split()
WEEKDAY = f"(?:{'|'.join(WEEKDAYS)})"
SEASON = "(?:spring|summer|autumn|fall|winter)"
