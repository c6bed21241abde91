"""Whether the words of a query look like filters: the gate before all planning.

It knows no index and costs microseconds, since every query passes it. It lets through what only
somebody who filters would type; what it stops is searched as it is. `rag.query.rules` reads more.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_EXAMINED = 4000  # characters, as `rag.query.rules` reads

_QUOTES = str.maketrans("“”", '""')
_B, _E = "(?<![a-z0-9_])", "(?![a-z0-9_])"
_S = " {1,9}"
_WORD = "[^ ]{1,30} {1,9}"
_UNIT = "(?:days?|weeks?|months?|years?)"
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve"
    "|a couple of|a few|few|several)"
)
_NOTE = "(?:notes?|memos?|entry|entries|journals?)"
_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_SEASON = "(?:spring|summer|autumn|fall|winter)"
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DATED = rf"(?:{_MONTH}{_E}|{_SEASON}{_E}|{_WEEKDAY}{_E}|today{_E}|(?:19|20)\d{{2}}|q[1-4]{_E})"
_FIELD = "(?:status|author|priority|type|category|project|owner|due|rating|source|client)"
_JA_NOTE = "(?:ノート|メモ|記事)"
_JA_WRITE = "(?:書い|作成し|作っ|記録し|更新し|更新さ|編集し|編集さ|変更し|変更さ|まとめ|残し)"
_JA_TIME = "(?:(?:[0-9一二三四五六七八九十]{1,3}(?:日|週間?|[かカヵケヶ箇]月|年)|半年))"

_CUES = (
    # tags
    r"(?<![a-z0-9_#&/=?.])#(?=[^\W\d])",
    rf"{_B}tagged{_E}|{_B}tags?: |{_B}with(?:out)?{_S}(?:the{_S})?(?:{_WORD})?tags?{_E}",
    "タグ(?:[「『が:]|付き|つき|の付|のつ|なし|無し|以外)",
    "[^ハたるなの ]タグ(?:の|と)(?!は)|というタグ",
    "(?:^|[ 、])タグ[^ のをがはにで付つ、。をクや名][^ 。]{0,15}(?:の|なし|以外)",
    # vaults
    rf"{_B}(?:the|my|our){_S}(?!same|new|other|whole|entire|current|default|first|local|remote"
    rf"|obsidian|sandbox)(?:{_WORD}){{1,3}}vaults?{_E}|{_B}in{_S}vault{_S}[a-z]",
    rf"{_B}vault{_S}(?:called|named){_E}|^[^ ]{{1,30}} vault: |[のがで用]vault",
    "[^ ・]ボルトの(?:中|ノート|メモ)|保管庫「",
    "[^ のいなるた、。]の?保管庫(?:の中|内)?(?:の|で|から|にある)",
    # titles
    rf"{_B}notes?{_S}(?:called|titled|named){_E}|{_B}note{_S}\"",
    f"[」』](?:という|と題した)?(?:(?:タイトル|名前|題)の)?の?{_JA_NOTE}|{_JA_NOTE}「",
    # times that count from today
    rf"{_B}(?:this|last|past){_S}(?:week|month|year|weekend|quarter|{_SEASON}|{_WEEKDAY}){_E}",
    rf"{_B}yesterday{_E}|{_B}the{_S}(?:week|month|year){_S}before{_S}last{_E}",
    rf"{_B}(?:last|past){_S}{_COUNT}{_S}{_UNIT}{_E}|{_B}{_COUNT}{_S}{_UNIT}{_S}ago{_E}",
    "先々?[週月]|今[週月]|昨日(?!・)|おととい|去年|一昨年|今年の[春夏秋冬]",
    f"(?:この|ここ|過去|直近|最近)の?{_JA_TIME}|{_JA_TIME}前(?![後半期])",
    # dates, beside words of notes or of writing
    rf"{_B}{_NOTE}{_S}(?:{_WORD}){{0,6}}"
    rf"(?:from|in|since|before|after|until|between|dated|on){_S}(?:the{_S})?(?:\d{{1,2}}{_S})?{_DATED}",
    rf"{_B}(?:i|we){_S}(?:wrote|jotted|made|edited|updated|changed|created|saved){_S}(?:{_WORD}){{0,6}}"
    rf"(?:in|on|since|before|after){_S}{_DATED}",
    rf"{_B}(?:recent|today's|recently{_S}(?:written|updated|edited|changed|modified)){_S}{_NOTE}{_E}",
    rf"{_B}(?:since|before|after|until|between|(?:older|newer) than){_S}"
    r"(?:19|20)\d{2}(?:[-/]\d{1,2}|$)",
    rf"\d月(?:\d{{1,2}}日)?(?:に{_JA_WRITE}|の(?:[^ 。]{{1,10}}の)?{_JA_NOTE}"
    rf"|(?:以降|以来|から|まで|以前)[^。]{{0,20}}{_JA_NOTE})",
    f"(?:今日|本日|最近|今年|曜日?)(?:の{_JA_NOTE}|[に、]?{_JA_WRITE})|が書いた{_JA_NOTE}",
    r"\d年(?:\d{1,2}月|第\d四半期)?(?:以降|以前|より前|より後)?の(?:[^ 。]{1,10}の)?"
    f"{_JA_NOTE}",
    # front matter
    rf"{_B}{_FIELD} ?[:=] ?[^ ]|{_B}(?:with|whose|by){_S}(?:the{_S})?(?:status|priority|author){_E}"
    rf"|{_B}notes{_S}(?:due|by){_S}",
    "(?:ステータス|状態|作者|著者|優先度)(?::|(?:が|は)[^ ]{1,20}(?:の|で))",
)
# Most queries hold none of these, and then there is no pattern to compile.
_SUBSTRINGS = (
    "# : = tag vault note memo entr journal last past this yesterday ago wrote jotted made edited"
    " updated changed created saved 20 status priority author タグ 保管庫 ボルト ノート メモ 記事"
    " 月 週 日 年 最近 おととい 」 』 ステータス 状態 作者 著者 優先度"
)
_HINTS = _SUBSTRINGS.split()


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(_CUES))


def looks_filtered(query: str) -> bool:
    """Tell whether a query holds words that look like filters.

    >>> looks_filtered("notes from last week"), looks_filtered("先週のメモ")
    (True, True)
    >>> looks_filtered("what happened in 1945"), looks_filtered("タグ付けの方法")
    (False, False)
    """
    text = query[:_EXAMINED].lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    if not any(hint in text for hint in _HINTS):
        return False
    return _pattern().search(text) is not None
