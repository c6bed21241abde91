"""Whether the words of a query look like filters: the gate before all planning.

It knows no index and costs microseconds, since every query passes it. It lets through what only
somebody who filters notes would type; what it stops is searched as it is. A time lets a query
through only beside a word for notes, or of writing them, or for what happens at a time, such as a
meeting; when there is nothing else in it; or when it is past and ends a query of a few words.
Questions about how something is done do not pass. `rag.query.planner.rules.extractor` reads more.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from rag.query.dates import NAMED
from rag.query.planner.rules.field_synonyms import CONCEPTS
from rag.query.planner.rules.shared_patterns import (
    COUNT,
    EXAMINED,
    FULL_MONTH,
    JA_COUNT,
    JA_NOTE,
    JA_UNIT,
    JA_WHAT_HAPPENED,
    MONTH,
    NOTE,
    SEASON,
    UNIT,
    WEEKDAY,
    WHAT_HAPPENED,
    B,
    E,
)

_QUOTES = str.maketrans("“”", '""')
_S = " {1,9}"
_WORD = "[^ ]{1,30} {1,9}"
_EDITED = "written|updated|edited|changed|modified|created|jotted"
_WEAK = ("today", "今日", "本日")
_NAMED = "|".join(re.escape(words) for words in NAMED if words.isascii() and words not in _WEAK)
_JA_NAMED = "|".join(words for words in NAMED if not words.isascii() and words not in _WEAK)
_FIELD = f"(?:{'|'.join(CONCEPTS)})"
_SAID = [word for name in ("status", "author", "priority") for word in CONCEPTS[name]]
_JA_FIELD = f"(?:{'|'.join(word for word in _SAID if not word.isascii())})"

_CUES = (
    # tags
    rf"(?:^|(?<=[ (の])|(?<=[^ -~]))#(?=[^\W\d])(?![のをはがにでとへも]|[0-9a-f]{{6}}{E})",
    rf"{B}tagged{E}|{B}tags?: |{B}(?:with(?:out)?|ha(?:ve|s)){_S}(?:the{_S})?(?:{_WORD})?tags?{E}",
    "タグ(?:[「『が:]|付き|つき|の付|のつ|なし|無し|以外|を除)",
    "[^ハたるなの ]タグ(?:の|と|または|か)(?!は)|というタグ",
    f"(?:または|もしくは)[^ 。]{{1,20}}のタグ|タグの(?:{JA_NOTE})",
    "(?:^|[ 、])タグ[^ のをがはにで付つ、。をクや名][^ 。]{0,15}(?:の|なし|以外)",
    # vaults
    rf"{B}(?:the|my|our){_S}(?!(?:same|new|other|whole|entire|current|default|first|local"
    rf"|remote|obsidian|sandbox){_S})(?:{_WORD}){{1,3}}vaults?{E}|{B}in{_S}vault{_S}[a-z]",
    rf"{B}vault{_S}(?:called|named){E}|^[^ ]{{1,30}} vault: |[のがで用]vault",
    f"[^ ・0-9]ボルトの(?:中|(?:[^ 。]{{1,10}}の)?(?:{JA_NOTE}))|保管庫「",
    "[^ のいなるた、。] ?の?保管庫(?:の中|内)?(?:の|で|から|にある|以外)",
    # titles
    rf"{B}(?:the|my){_S}notes?{_S}(?:called|named){E}|{B}notes?{_S}titled{E}|{B}note{_S}\"|\"{_S}note{E}",
    rf"{B}(?:the|my){_S}\"[^\"]{{1,60}}\"{_S}notes?{E}",
    f"[」』](?:という|と題した)?(?:(?:タイトル|名前|題名?)の)?の?(?:{JA_NOTE})|(?:{JA_NOTE})「",
    # front matter
    rf"{B}{_FIELD} ?[:=] ?[^ ]|{B}(?:with|whose|by){_S}(?:the{_S})?(?:status|priority|author){E}"
    rf"|{B}notes{_S}(?:due|by){_S}|^(?:status|priority){_S}is{_S}[^ ]+$",
    f"[^ ]が書いた(?:{JA_NOTE})",
    f"{_JA_FIELD}(?::|(?:が|は)[^ ]{{1,20}}(?:の|で(?!す)))|{_JA_FIELD}が[^ ]{{1,8}}$",
)
_CUE = "|".join(_CUES)
# Times; a date has to end where another word of the query begins: "August Strindberg" is a name.
_RELATIVE = (
    rf"{B}(?:{_NAMED}|recently|today(?:'s)?){E}|{B}recent{_S}(?:{NOTE}){E}"
    rf"|{B}(?:this|last|past){_S}(?:weekend|quarter|{SEASON}|{FULL_MONTH}){E}"
    rf"|{B}(?:this|last|past|from|on|since){_S}{WEEKDAY}{E}"
    rf"|{B}(?:last|past|previous){_S}(?:{COUNT}{_S})?{UNIT}{E}|{B}{COUNT}{_S}{UNIT}{_S}ago{E}"
    rf"|(?:old|new)er than{_S}{COUNT}{_S}{UNIT}{E}"
    rf"|{_JA_NAMED}|今日|本日|最近|曜日?[のに]|(?:ここ|過去|この)半年"
    rf"|(?:この|ここ|過去|直近|最近)の?{JA_COUNT}{JA_UNIT}|{JA_COUNT}{JA_UNIT}(?:以内|より古)"
    rf"|(?:{JA_COUNT}{JA_UNIT}間?|半年)(?:以上)?前(?![後半期])"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    r"(?:\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?|\d{1,2}/\d{1,2}/\d{4}"
    rf"|(?:{_DAY}{_S}(?:of{_S})?)?{MONTH}(?:{_S}{_DAY})?(?:-{_DAY})?(?:,?{_S}\d{{4}})?"
    rf"|{SEASON}{_S}\d{{4}}|(?:19|20)\d{{2}}|q[1-4](?:{_S}\d{{4}})?)"
)
_END = (
    rf"(?=$|[ ]{{0,9}}[?!.,:;)]|{_S}(?:about|on|in|to|and|or|tagged|with|that|which|mention"
    rf"|regarding|onwards?|until|till|{NOTE}|of|i|we){E})"
)
_DATED = (
    rf"{B}(?:from|in|since|before|after|until|between|dated|on|of|to|during"
    rf"|(?:old|new|earli|lat)er than){_S}(?:the{_S})?{_DATE}{_END}|^{_DATE}{_S}(?:{NOTE}){E}"
    r"|[\d一二三四五六七八九十][月日年](?:第\d四半期)?"
    r"(?:に|の|から|まで|以降|以前|より前|より後|分|〜|中|を除)|第\d四半期の"
    r"|\d{4}-\d\d?(?:-\d\d?)?(?:以降|以前|から|まで|の)"
)
_TIMES = f"{_RELATIVE}|{_DATED}"
# A day of this century is one that a diary may have.
_DAY_OF_LATE = (
    rf"{B}20\d\d[-/.]\d{{1,2}}[-/.]\d{{1,2}}{E}|20\d\d年 ?\d{{1,2}}月 ?\d{{1,2}}日"
    rf"|{B}{_DAY}{_S}(?:of{_S})?{MONTH},?{_S}20\d\d{E}|{B}{MONTH}{_S}{_DAY},?{_S}20\d\d{E}"
)
# What has to stand beside a time: a word for notes, or of writing them.
_NOTES = (
    rf"{B}(?:{NOTE}|journals?|diary|diaries){E}"
    rf"|{B}(?:i|we)(?:'ve)?{_S}(?:{_WORD})?(?:write|wrote|written|jot(?:ted)?|noted?|did|do"
    rf"|decided?|log|logged|record|recorded)(?:{_S}|$|[?])"
    f"|{JA_NOTE}|日記|議事録|ジャーナル|書い[たて]|書きました|書き留め|メモし|記録した(?!か)"
)
# What is in a diary; and what else happens at a time, which beside a date may be history: "what
# happened in 1945".
_MEETINGS = (
    rf"{B}(?:meeting|stand-?up|retro|appointment|one-on-one)s?{E}"
    "|会議(?!室)|打ち?合わ?せ|ミーティング|面談"
)
_EVENTS = (
    rf"{_MEETINGS}|{B}(?:{WHAT_HAPPENED}|(?:discussion|decision)s?){E}|{JA_WHAT_HAPPENED}"
    "|(?:何|なに)を(?:決め(?:た|ました)|決定し|話し合|話し(?:た|ました))"
)
# One to three words, and when that was. Not "the world of yesterday", "for the past month".
_ENDING = (
    "(?:(?:(?!(?:the|a|in|on|of|for|since|until|by|from|to|than|before|after|like|all)"
    rf"{E})[^ ]+{_S}){{1,3}}(?:yesterday|(?:last|past){_S}(?:{COUNT}{_S})?(?:{UNIT}|quarter|weekend"
    rf"|{WEEKDAY}))[ ?!.]*|[^ の]+ (?:昨日|先週|先月)|(?:昨日|先週|先月) [^ の]+"
    "|(?:先週|先月|先々週|先々月)の[^ のは]{1,12})"
)
# A name, and the time that goes on.
_NAMED_NOW = (
    r"(?:[A-Z][\w'’-]+ {1,9}){1,3}(?:this {1,9}(?:week|month|quarter)|today)[ ?!.]*"
    "|[^ ]{1,20}(?:さん|様|氏|先生)[の ](?:今日|今週|今月)"
    "|(?:今日|今週|今月)[の ][^ ]{1,20}(?:さん|様|氏|先生)"
)
_FILLERS = (
    rf"(?:[ 、。?!.,]|(?:show|list|find|me|my|all|the|everything|anything|please|from|{_EDITED}"
    rf"|since|in|on|before|after|until|to|and|between){E}|の|に|から|まで|以降|以前|を|もの|分|間)*"
)
# Questions about how something is done, trouble, and talk of programs.
_TROUBLE = (
    rf"{B}how{_S}(?:do|does|to|can|should|did|would){E}|{B}can{_S}(?:i|we|it){E}|{B}can(?:'t|not){E}"
    rf"|{B}(?:not|stopped){_S}(?:work|sync|load|open)(?:ing|s)?{E}"
    rf"|{B}(?:dataview|in{_S}text|in{_S}a{_S}base|bases){E}"
    "|方法|使い方|やり方|書き方は|でき(?:ない|ません|ますか|る)|動かない|するには|エラー"
    "|ハッシュタグ|bases|フィルター|プラグイン|復元|という(?:日|映画|曲|歌|本|小説|漫画|言葉)"
)
_PROGRAM = rf"{B}(?:git|commit|colou?r|css|html|yaml|json|regex|function){E}"
# Most queries hold none of these, and then there is no pattern to compile.
_SUBSTRINGS = (
    "# : = tag vault note memo entr journal diar last past this yesterday ago wrote writ jot recent"
    " since from today 20 status priority author タグ 保管庫 ボルト ノート メモ 記事 ページ 文書"
    " meeting standup stand-up retro appointment one-on-one"
    " 月 週 日 年 最近 きのう おととい おととし 議事録 書い 」 』"
)
_HINTS = [*_SUBSTRINGS.split(), *(word for word in _SAID if not word.isascii())]


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def looks_filtered(query: str) -> bool:
    """Return whether a query holds words that look like filters.

    >>> looks_filtered("notes from last week"), looks_filtered("先週のメモ")
    (True, True)
    >>> looks_filtered("meetings last week"), looks_filtered("先週の会議")
    (True, True)
    >>> looks_filtered("sync not working since yesterday"), looks_filtered("今週の目標")
    (False, False)
    >>> looks_filtered("what happened in 1945"), looks_filtered("タグ付けの方法")
    (False, False)
    """
    text = query[:EXAMINED].lower()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    if not any(hint in text for hint in _HINTS) or _pattern(_TROUBLE).search(text):
        return False
    of_notes = _pattern(_NOTES).search(text)
    if not of_notes and _pattern(_PROGRAM).search(text):
        return False
    if _pattern(_CUE).search(text):
        return True
    time = _pattern(_TIMES).search(text)
    if time is None or of_notes:
        return time is not None
    named_now = _pattern(_NAMED_NOW).fullmatch(query[:EXAMINED].strip())
    if _pattern(_ENDING).fullmatch(text.strip()) or named_now:
        return True
    is_late = _pattern(f"{_RELATIVE}|{_DAY_OF_LATE}").search(text)
    told = _EVENTS if is_late else _MEETINGS
    if _pattern(told).search(text):
        return True
    rest = text[: time.start()] + text[time.end() :]
    return _pattern(_FILLERS).fullmatch(rest) is not None
