"""The window of time that a query asks for, in English and Japanese, or words for one that no rule
can tell: "the holidays", 年末, "the end of last month".

A time counts when it stands by itself for one ("last week", 先週) or beside words of notes, of
writing, of spans ("notes from March", "since 2024-05", 3月のメモ) or of what happens then
("meetings today", "what happened on 3 May 2025"); a year alone needs words of notes. What is asked
about ("what happened in 1945"), how something is done and trouble ("sync not working since
yesterday"), a time that is the topic ("songs about the past year") and what lies ahead are left in
the query. *Recently* and 最近 are the last 30 days. What each word means is told by the readers in
the second half of this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import cache
from itertools import chain
from string import ascii_lowercase
from typing import NamedTuple

from rag.query.planner.plan import TimeWindow, window_name
from rag.query.planner.query_text import negation
from rag.query.planner.words import (
    COUNT,
    FULL_MONTH,
    JA_COUNT,
    JA_NOTE,
    JA_UNIT,
    JA_WHAT_HAPPENED,
    KANJI,
    MONTH,
    NOTE,
    NUMBERS,
    SEASON,
    UNIT,
    WEEKDAY,
    WEEKDAYS,
    WHAT_HAPPENED,
    B,
    E,
)
from rag.query.values import NAMED, DateRange, calendar_range, days_ago, month_start, shifted
from rag.support.month_names import month_number

_EDITS = "modified|updated|edited|changed|revised|touched"
_EDIT = "modify|update|edit|change|revise|touch"
_WRITES = "created|written|wrote|write|made|added|logged|jotted|saved|recorded|captured"
_NOTE = f"{NOTE}|journals?|jottings?"
_JA_EDITS = "更新|編集|変更|修正"
_JA_WRITES = "書い|書か|記し|作っ|作成|まとめ|残し|メモし|記録|保存|追加"

_ABOUT_NOTES = re.compile(
    rf"{B}(?:{_NOTE}|{_WRITES}|{_EDITS}){E}|{JA_NOTE}|{_JA_WRITES}|{_JA_EDITS}|日記"
)
_OWN = re.compile(rf"{B}(?:i|we|my|our){E}|私|自分|僕")
_QUESTION = re.compile(
    r"^ *(?:(?:on|in|at|for|to|from|by|with) )?(?:what|who|whom|whose|when|where|why|how|which"
    rf"|did|does|do|is|was|are|were){E}|[か?] *$|何|なぜ|いつ|どこ|誰|だれ|どの|どう"
)
# A time in a question about how something is done, or beside trouble, is part of what is asked.
_HOW = re.compile(
    rf"^ *how (?:do|does|to|can|should|did|would){E}"
    "|(?:方法|使い方|やり方|書き方)(?:は|を[^ ]{1,9})?[ ?。]*$"
)
_TROUBLE = re.compile(
    rf"{B}how to{E}|{B}can (?:i|we|it){E}|{B}can(?:'t|not){E}"
    rf"|{B}(?:not|stopped) (?:work|sync|load|open)(?:ing|s)?{E}"
    "|方法|でき(?:ない|ません|ますか|る)|動(?:か|き)(?:ない|ません)|するには|エラー|復元|に戻[すし]"
)
_EVENTS = re.compile(
    rf"{B}(?:(?:meeting|appointment|discussion|decision|one-on-one|retro|stand-?up)s?"
    rf"|{WHAT_HAPPENED}){E}|会議(?!室)|打ち?合わ?せ|ミーティング|面談|{JA_WHAT_HAPPENED}"
    "|(?:何|なに)を(?:決め(?:た|ました)|決定し|話し合|話し(?:た|ました))"
)
_TOPIC = re.compile(rf"{B}(?:about|for)(?: the)? +$")
# What follows a month or year that is no name: not "August Strindberg", "2001 a space odyssey".
_DATE_ENDS = re.compile(
    rf"[ \x1e\x1f]*(?:$|[^a-z0-9 ]|(?:about|on|in|from|to|at|and|or|but|not|tagged"
    rf"|with(?:out)?|that|which|by|for|mention\w*|regarding|onwards?|until|till|through"
    rf"|{NOTE}|journals?|of|i|we){E})"
)
_BEFORE = re.compile(
    rf"(?:{B}(?:(?P<edit>{_EDITS})|(?P<write>{_WRITES}))(?: +(?:by me|down))?(?: +(?:{_NOTE}))? *"
    rf"|(?:(?<=notes )|(?<=memos )|(?<=entries ))did (?:i|we) (?P<own>{_EDIT}) +)?"
    rf"(?:{B}(?P<word>since|starting(?: +from)?|as of|after|later than|newer than"
    r"|more than|less than|before|earlier than|older than|prior to|until|till"
    r"|up to|between|from|in|on|during|of|dated?|over|within|throughout|back in) +)?"
    rf"(?:(?:the|early|late) +)?$"
)
_AFTER_EN = re.compile(
    rf" +(?:(?P<edit>{_EDITS})|(?P<write>{_WRITES})){E}|'s{E}"
    rf"|(?P<on> +(?:onwards?|to (?:now|date|the present)|(?:un)?till? now)){E}"
)
_AFTER_JA = re.compile(
    "(?:頃|ごろ|分)?(?:の(?:間|あいだ)|中|以内)?"
    "(?P<word>以降|以来|以後|から(?:今|現在)まで|から|より後|の後|以前|より前|の前|まで|以上前|より古い)?"
    rf"(?P<tail>、?[にはで]?(?:最後に|最終)?(?:(?P<edit>{_JA_EDITS})|(?P<write>{_JA_WRITES}))"
    "(?:した|しました|された|されている|している|たれ|れた|いた|た|て(?!い?な)(?:いた|おいた)?|済みの?)?)?"
    "(?:[には、]|の(?!ない)|で(?![はな])|を(?!除|のぞ)|に?かけて(?:の|に)?)?"
)
_NOTES_FOLLOW = re.compile(rf" +(?:{_NOTE}){E}")
_LINK = re.compile(" *(?:to|and|until|till|through|thru|から|〜|~|-|–|—) *")
_BOUNDS = {  # from the first day on, after the last, until the last, before the first
    "since": "since|starting|starting from|as of|以降|以来|以後|から|から今まで|から現在まで",
    "after": "after|less than|later than|newer than|より後|の後",
    "until": "until|till|up to|以前|まで",
    "before": "before|earlier than|older than|more than|prior to|より前|の前|以上前|より古い",
}
_SPANS = {word: bound for bound, words in _BOUNDS.items() for word in words.split("|")}
_MONTH_CUES = {*_SPANS, "in", "from", "of", "during", "between", "dated", "back in", "throughout"}
_BLURRED = re.compile(
    rf"{B}(?:the +)?(?:(?:very +)?(?:end|beginning|start|middle|(?:first|second) half)"
    "|(?:first|last) +(?:day|week|month)) +of +(?:the +)?$"
)
_BLURRED_JA = re.compile(
    "の?(?:終わり|おわり|半ば|なかば|中頃|初め|はじめ|始め|[上中下]旬|末|初|頭)"
)

# Times of notes that no rule can tell: "the holidays", 年末.
_UNTOLD = re.compile(
    rf"{B}(?:christmas|easter|thanksgiving|halloween|new year's(?: eve)?|the holidays"
    rf"|the other day|(?:a while|some time|long) ago|mid-[a-z]{{3,9}}){E}"
    "|年末年始|年末|年始|お?正月|お盆|ゴールデンウィーク|クリスマス|先日|この前|こないだ"
    "|[上中下]旬|月末|月初|数(?:日|週間|か月|年)前|しばらく前"
)
_AROUND = re.compile(rf"{B}(?:around|about) +$")


class FoundTime(NamedTuple):
    """From where to where a text speaks of a time, with the words that lead to it, and the window.

    :ivar words: from where to where it is named.
    """

    start: int
    end: int
    window: TimeWindow
    words: tuple[int, int]


class _Context(NamedTuple):
    """What stands around a time mention: from where to where, a word such as "since", and whether
    words of changing or of writing notes do."""

    start: int
    end: int
    word: str
    edited: bool
    written: bool


class _Text(NamedTuple):
    """A text in lower case, whether it has words of notes or of writing them, whether it asks what
    happened, and the day it is read on."""

    text: str
    about_notes: bool
    asks: bool
    today: date


def find_time(text: str, today: date) -> FoundTime | None:
    """Return the first window that a text in lower case filters by.

    What is not wanted ("not from last week") is no window, unless all other days are one.
    """
    about_notes = _ABOUT_NOTES.search(text) is not None
    if _HOW.search(text) or (not about_notes and _TROUBLE.search(text)):
        return None
    asks = not about_notes and _QUESTION.search(text) is not None and not _OWN.search(text)
    read = _Text(text, about_notes, asks, today)
    mentions = list(find_mentions(text, today))
    while mentions:
        first, *mentions = mentions
        if _blurred(text, first) or text.startswith("という", first.end):
            continue
        around = _around(text, first)
        if mentions and _is_linked(text, first, mentions[0], around):
            time = _span(read, first, mentions.pop(0), around)
        else:
            time = _alone(read, first, around)
        if time and (time := _turned(text, time, today)):
            return time
    return None


def find_slot(text: str, today: date) -> FoundTime | None:
    """Return the first time in a text in lower case that notes are from, and nobody knows."""
    if not _ABOUT_NOTES.search(text):
        return None
    blurred = (_blurred(text, mention) for mention in find_mentions(text, today))
    for first, last in chain(filter(None, blurred), (m.span() for m in _UNTOLD.finditer(text))):
        lead = _AROUND.search(text, max(0, first - 20), first)
        at = lead.start() if lead else first
        around = _around(text, TimeMention("vague", start=at, end=last))
        if not negation(text, around.start, around.end):
            window = TimeWindow(field="modified" if around.edited else "created")
            return FoundTime(around.start, around.end, window, (first, last))
    return None


def _blurred(text: str, mention: TimeMention) -> tuple[int, int] | None:
    """Return from where to where a text speaks of some part of a time: "the end of last month",
    先月末. Nobody knows its days."""
    start = max(0, mention.start - 30)
    before = _BLURRED.search(text[start : mention.start])
    after = _BLURRED_JA.match(text, mention.end) if not text[mention.end - 1].isascii() else None
    if not (before or after):
        return None
    return (
        start + before.start() if before else mention.start,
        after.end() if after else mention.end,
    )


def _turned(text: str, time: FoundTime, today: date) -> FoundTime | None:
    """Return a time, or all days but those where its words are negated; `None`: not to be said."""
    turned = negation(text, time.start, time.end)
    if turned is None:
        return time
    first, last = time.window.first, time.window.last
    if not turned.exact or (first and last and last < today):
        return None
    try:
        days = (None, first - timedelta(1)) if first else ((last or today) + timedelta(1), None)
    except OverflowError:
        return None
    return _found(turned.start, turned.end, days, time.window.field == "modified", today)


def _found(
    start: int, end: int, days: tuple[date | None, date | None], edited: bool, today: date
) -> FoundTime:
    window = TimeWindow(
        name=window_name(*days, today),
        first=days[0],
        last=days[1],
        field="modified" if edited else "created",
    )
    return FoundTime(start, end, window, (start, end))


def _around(text: str, mention: TimeMention) -> _Context:
    """Return what stands around a time mention: words such as "since", and of writing."""
    start, end, word, groups = mention.start, mention.end, "", dict[str, str | None]()
    if before := _BEFORE.search(text[max(0, start - 50) : start]):
        start, groups = start - len(before[0]), before.groupdict()
        word = " ".join((before["word"] or "").split())
    if after := _AFTER_EN.match(text, end):
        word = "since" if after["on"] else word
    elif after := _AFTER_JA.match(text, end):
        word = after["word"] or word
    edited, written = groups.get("edit") or groups.get("own"), groups.get("write")
    if after:
        end, edited, written = after.end(), edited or after["edit"], written or after["write"]
    return _Context(start, end, word, bool(edited), bool(written))


def _counts(read: _Text, mention: TimeMention, around: _Context) -> bool:
    """Return whether a time mention is one that notes are to be filtered by."""
    text, about_notes, strength = read.text, read.about_notes, mention.strength
    if strength == "future":
        return False
    if strength == "age":
        return about_notes
    if not about_notes and _TOPIC.search(text, 0, mention.start):
        return False
    if strength == "sure" or (strength == "day" and around.word == "since"):
        return True
    if read.asks:
        assert mention.days
        return mention.days.first == mention.days.last and _EVENTS.search(text) is not None
    if strength in ("month", "year") and not _DATE_ENDS.match(text, mention.end):
        return False
    if around.word in _SPANS:
        return True
    notes_follow = _NOTES_FOLLOW.match(text, mention.end) is not None
    is_cued = around.word in _MONTH_CUES
    if strength == "year":
        beside = is_cued or around.written or around.edited or notes_follow
        return about_notes and (beside or text[mention.end - 1] == "年")
    if strength == "day":  # "standup on Monday", but not "today" alone
        ends = text[: mention.start].strip() and not text[mention.end :].strip(" ?!.")
        if ends or _EVENTS.search(text):
            return True
    if strength in ("day", "vague"):
        return about_notes or around.word == "from"
    if strength == "month":
        alone = notes_follow and text[mention.start : mention.end] not in ("may", "march")
        is_name = text.endswith("the ", 0, mention.start)
        return not is_name and (alone or (is_cued and around.word != "of"))
    return (
        about_notes or is_cued or around.word in ("on", "over", "within") or strength == "japanese"
    )


def _is_linked(text: str, first: TimeMention, last: TimeMention, around: _Context) -> bool:
    link = _LINK.fullmatch(text, first.end, last.start)
    joint = link[0].strip() if link else ""
    if joint in ("and", "to", "until", "till"):
        return around.word in ("between", "from", "since")
    return link is not None and (joint != "-" or first.strength != "month" or bool(around.word))


def _span(read: _Text, first: TimeMention, last: TimeMention, around: _Context) -> FoundTime | None:
    """Return the time range from one mention to another; `None` when it ends before it begins, or
    lies ahead."""
    if "future" in (first.strength, last.strength):
        return None
    first, last = _same_year(first, last)
    if not (first.days and last.days):
        return None
    days = (first.exact or first.days.first, last.exact or last.days.last)
    if days[1] < days[0]:
        return None
    after = _around(read.text, last)
    return _found(around.start, after.end, days, around.edited or after.edited, read.today)


def _same_year(first: TimeMention, last: TimeMention) -> tuple[TimeMention, TimeMention]:
    """Give a time mention without a year that of the other, or the one beside it: the first is not
    after the last."""
    assert first.days and last.days
    if first.month and not last.month:
        year = last.days.first.year
        dated = first.in_year(year)
        late = dated.days is None or dated.days.first > last.days.last
        return first.in_year(year - 1) if late else dated, last
    if last.month and not first.month:
        year = first.days.first.year
        dated = last.in_year(year)
        early = dated.days is None or dated.days.last < first.days.first
        return first, last.in_year(year + 1) if early else dated
    if first.month and first.days.first > last.days.last:
        return first.in_year(first.days.first.year - 1), last
    return first, last


def _alone(read: _Text, mention: TimeMention, around: _Context) -> FoundTime | None:
    if around.word == "between" or not _counts(read, mention, around):
        return None
    assert mention.days is not None
    (first, last), bound = mention.days, _SPANS.get(around.word, "")
    if mention.exact and bound:
        first = last = mention.exact
    elif around.word in ("more than", "less than"):
        bound = ""
    days: tuple[date | None, date | None] = first, last
    try:
        if bound == "since":
            days = first, None
        elif bound == "after":
            days = last + timedelta(1), None
        elif bound == "until":
            days = None, last
        elif bound == "before":
            days = None, first - timedelta(1)
    except OverflowError:
        return None
    return _found(around.start, around.end, days, around.edited, read.today)


EARLIEST = 1990  # no note is older; what speaks of such a year has it for its subject
RECENT = 30  # days
_KANJI_DAYS = "月火水木金土日"
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SEASONS |= {"春": 3, "夏": 6, "秋": 9, "冬": 12}


class TimeMention(NamedTuple):
    """A time that words name; `days` is `None` where it lies ahead.

    :ivar strength: `sure` counts by itself, `japanese` nearly so, the others as `_counts` says; the
        `future` never.
    :ivar exact: the day itself of something "a month ago".
    :ivar month: month and day of a date without a year.
    """

    strength: str
    days: DateRange | None = None
    exact: date | None = None
    month: tuple[int, int | None] | None = None
    start: int = 0
    end: int = 0

    def in_year(self, year: int) -> TimeMention:
        """Return the same month or day of another year."""
        assert self.month is not None
        return self._replace(days=_days_of(year, *self.month), month=None)


_Groups = dict[str, str]  # those of a match that hold something; the whole match is `all`
_Reader = Callable[[_Groups, date], TimeMention]
_READERS: list[tuple[str, _Reader]] = []  # of each pattern; of two at one place the first counts


def _reads(*patterns: str) -> Callable[[_Reader], _Reader]:

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
def _future(groups: _Groups, today: date) -> TimeMention:
    return TimeMention("future")


@_reads(
    rf"{B}(?:the{_S})?(?:(?:last|past|previous){_S}(?P<n>{COUNT})|past){_S}(?P<unit>{UNIT}){E}",
    rf"(?:この|ここ|過去|直近|最近)の?(?:(?P<n>{JA_COUNT})(?P<unit>{JA_UNIT})間?|半年間?)",
)
def _past(groups: _Groups, today: date) -> TimeMention:
    """Read the last 3 days, the past year, ここ半年."""
    unit = _unit(groups.get("unit", "month"))
    count = _number(groups["n"]) if "n" in groups else 1 if "unit" in groups else 6
    if unit in ("day", "week"):
        first = today - timedelta(count * (7 if unit == "week" else 1) - 1)
    else:
        first = days_ago(today, count, unit).first
    return TimeMention("sure", DateRange(first, today))


@_reads(
    rf"{B}(?P<n>{COUNT}){_S}(?P<unit>{UNIT}){_S}ago{E}",
    rf"(?<![\d{KANJI}十])(?:(?P<n>{JA_COUNT})(?P<unit>{JA_UNIT})間?|半年)前(?![半後期])",
)
def _ago(groups: _Groups, today: date) -> TimeMention:
    unit = _unit(groups.get("unit", "month"))
    exact = days_ago(today, _number(groups.get("n", "6")), unit).first
    return TimeMention("sure", shifted(exact, 0, unit), exact)


@_reads(
    rf"(?<=er than )(?P<n>{COUNT}){_S}(?P<unit>{UNIT})(?:{_S}old)?{E}",
    rf"(?<![\d{KANJI}十])(?P<n>{JA_COUNT})(?P<unit>{JA_UNIT})間?"
    "(?:(?P<within>以内(?=[のに]))|(?=以上前|より(?:前|古)))",
)
def _age(groups: _Groups, today: date) -> TimeMention:
    """Read the day before or after which notes of an age are from: 3か月以上前, 3日以内."""
    exact = days_ago(today, _number(groups["n"]), _unit(groups["unit"])).first
    if "within" in groups:
        return TimeMention("age", DateRange(exact, today))
    return TimeMention("age", DateRange(exact, exact), exact)


@_reads(
    rf"{B}(?:(?P<relation>last|past|this){_S}|(?<=on )|(?<=since )|(?<=from ))"
    rf"(?P<day>{WEEKDAY}){E}",
    "(?P<week>先々週|先週|今週)の?(?P<day>[月火水木金土日])曜日?",
    "(?<![a-z0-9])(?P<day>[月火水木金土日])曜日?(?=[のに])",
)
def _week_day(groups: _Groups, today: date) -> TimeMention:
    if "week" in groups:
        monday = shifted(today, *NAMED[groups["week"]]).first
        day = monday + timedelta(_KANJI_DAYS.index(groups["day"]))
        return TimeMention("sure", DateRange(day, day))
    name, relation = groups["day"], groups.get("relation")
    index = WEEKDAYS.index(name) if name in WEEKDAYS else _KANJI_DAYS.index(name)
    back = today.weekday() - index
    if relation != "this":
        back %= 7
    if relation in ("last", "past"):
        back = back or 7
    day = today - timedelta(back)
    return TimeMention("sure" if relation else "day", DateRange(day, day))


@_reads(
    rf"{B}(?P<relation>(?:last|this|past)|over{_S}the|on{_S}the){_S}weekend{E}",
    "(?P<relation>先週|今週)の?(?:末|週末)",
)
def _weekend(groups: _Groups, today: date) -> TimeMention:
    relation = groups["relation"]
    over = relation.endswith("the") and today.weekday() < 5
    back = -7 if over or relation in ("last", "past", "先週") else 0
    saturday = today + timedelta(back + 5 - today.weekday())
    return TimeMention("sure", DateRange(saturday, saturday + timedelta(1)))


@_reads(
    rf"{_DIGITS}{_Y}(?P<s>[-/])(?P<m>\d{{1,2}})(?:(?P=s)(?P<d>\d{{1,2}}))?{_NO_MORE}",
    rf"{_DIGITS}{_Y}\.(?P<m>\d{{1,2}})\.(?P<d>\d{{1,2}}){_NO_MORE}",
    # Where there is no doubt which is the day.
    rf"{_DIGITS}(?P<d>1[3-9]|2\d|3[01])/(?P<m>\d{{1,2}})/{_Y}{_NO_MORE}",
    rf"{_DIGITS}(?P<m>\d{{1,2}})/(?P<d>1[3-9]|2\d|3[01])/{_Y}{_NO_MORE}",
)
def _iso(groups: _Groups, today: date) -> TimeMention:
    day = int(groups["d"]) if "d" in groups else None
    return TimeMention("dated", _days_of(int(groups["y"]), int(groups["m"]), day))


@_reads(
    rf"{B}(?P<d>\d{{1,2}}){_TH}(?:{_TO}(?P<d2>\d{{1,2}}){_TH})?{_S}(?:of{_S})?(?P<m>{MONTH})"
    rf"(?:,?{_S}{_Y})?{E}",
    rf"{B}(?P<m>{MONTH}),?{_S}(?:of{_S})?{_Y}{E}",
    rf"{B}(?P<m>{MONTH}){_S}(?P<d>\d{{1,2}}){_TH}"
    rf"(?:{_TO}(?P<d2>\d{{1,2}}){_TH}(?![\d:/.-])(?!{_S}(?:of{_S})?{MONTH}))?"
    rf"(?:,?{_S}{_Y})?{E}",
)
def _date(groups: _Groups, today: date) -> TimeMention:
    """Read 3rd of May 2024, May 3–5, last May, 去年の8月, 5月3日〜5日; without a year the latest
    that has begun is meant."""
    text, relation = groups["m"], groups.get("relation", "")
    month = month_number(text) if text[0] in ascii_lowercase else _number(text)
    day = _number(groups["d"]) if "d" in groups else None
    year = int(groups["y"]) if "y" in groups else None
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
    if time.days and "d2" in groups:
        first = time.days.first
        last = _days_of(first.year, first.month, _number(groups["d2"]))
        is_span = last is not None and last.first >= first
        days = DateRange(first, last.last) if last and is_span else None
        time = time._replace(days=days, month=None)
    return time


@_reads(
    rf"{B}(?P<relation>this|last|past){_S}(?P<season>{SEASON}){E}(?!{_S}(?:of{_S})?\d{{4}}{E})",
    rf"{B}(?:(?:this|last|past){_S})?(?P<season>{SEASON}){_S}(?:of{_S})?{_Y}{E}",
    rf"(?:(?P<relation>この|{_JA_YEAR})の?|{_Y}年の?)(?P<season>[春夏秋冬])(?![休祭季])",
)
def _season(groups: _Groups, today: date) -> TimeMention:
    first, relation = _SEASONS[groups["season"]], groups.get("relation", "")
    late = first == 12 and today.month < 3
    if "y" in groups:
        year = int(groups["y"])
    elif relation in NAMED:
        year = today.year + NAMED[relation][0]
    elif relation in ("this", "この"):
        year = today.year - late
    else:  # the last that is over
        year = today.year - (month_start(today.year, first + 3) > today) - late
    days = DateRange(date(year, first, 1), month_start(year, first + 3) - timedelta(1))
    return TimeMention("dated" if "y" in groups else "sure", days)


@_reads(
    rf"{B}(?:(?P<relation>this|last|past|previous){_S}quarter|{_Y}[ -]?q(?P<q>[1-4])){E}",
    rf"{B}q(?P<q>[1-4])(?:[ /-](?:of{_S})?{_Y})?{E}",
    rf"(?:{_Y}年の?|(?P<relation>{_JA_YEAR})の?)?第(?P<q>[1-4一二三四])四半期",
)
def _quarter(groups: _Groups, today: date) -> TimeMention:
    relation, year = groups.get("relation", ""), int(groups.get("y", today.year))
    if "q" in groups:
        year += NAMED[relation][0] if relation else 0
        index = _number(groups["q"]) - 1
    else:
        index = (today.month - 1) // 3 - (relation != "this")
    if "q" in groups and not relation and "y" not in groups:
        year -= month_start(year, 3 * index + 1) > today
    first, after = month_start(year, 3 * index + 1), month_start(year, 3 * index + 4)
    return TimeMention("dated" if "q" in groups else "sure", DateRange(first, after - timedelta(1)))


@_reads(rf"{B}(?:(?P<relation>last|this|past){_S})?(?P<m>{FULL_MONTH}){E}")
def _month(groups: _Groups, today: date) -> TimeMention:
    mention = _date(groups, today)
    return mention if "relation" in groups else mention._replace(strength="month")


@_reads(
    rf"(?:{_Y}年の?|(?P<relation>{_JA_YEAR})の?){_JA_ALONE}(?P<m>{_JA_NUMBER})月(?!曜)"
    rf"(?:{_JA_DAYS})?(?![号期間])",
    rf"{_JA_ALONE}(?P<m>{_JA_NUMBER})月(?!曜){_JA_DAYS}(?![号期間])",
    rf"{_JA_ALONE}(?P<m>{_JA_NUMBER})月(?!曜)(?![号期間])"
    "(?=[のに中かまよ以、ごは分頃〜~ \x1e\x1f-]|$)",
)
def _japanese(groups: _Groups, today: date) -> TimeMention:
    mention = _date(groups, today)
    return mention if mention.strength == "sure" else mention._replace(strength="japanese")


@_reads(
    rf"{B}(?:the{_S}day{_S}before{_S}yesterday|yesterday|today"
    rf"|the{_S}(?:week|month|year){_S}before{_S}last"
    rf"|(?:this|last|previous|current){_S}(?:week|month|year)"
    rf"(?!{_S}of{_S}(?:the{_S}|last{_S}|this{_S}|\d|{MONTH}{E}))){E}",
    f"今日(?!的)|本日|一昨日|おととい|昨日|きのう|先々週|先々月|先週|今週|先月|今月|(?:{_JA_YEAR})(?!度)",
)
def _named(groups: _Groups, today: date) -> TimeMention:
    words = " ".join(groups["all"].split()).replace("previous", "last").replace("current", "this")
    strength = "day" if words in ("today", "今日", "本日") else "sure"
    return TimeMention(strength, shifted(today, *NAMED[words]))


@_reads(rf"{B}(?:recently|recent|lately){E}|最近|この頃|このごろ|近頃")
def _recent(groups: _Groups, today: date) -> TimeMention:
    return TimeMention("vague", DateRange(today - timedelta(RECENT - 1), today))


@_reads(
    rf"{B}(?:the{_S}year{_S})?(?P<y>(?:19|20)\d{{2}})(?:{E}(?![-./:,]\d|年)"
    "|年(?!間|前|以[上内]|代|ぶり|度))"
)
def _year(groups: _Groups, today: date) -> TimeMention:
    return TimeMention("year", _days_of(int(groups["y"])))


@cache
def _patterns() -> list[tuple[re.Pattern[str], _Reader]]:
    return [(re.compile(pattern), read) for pattern, read in _READERS]


def find_mentions(text: str, today: date) -> Iterator[TimeMention]:
    """Yield what names a time in a text in lower case, in order."""
    ahead = [(pattern.search(text), pattern, read) for pattern, read in _patterns()]
    while matches := [(match, pattern, read) for match, pattern, read in ahead if match]:
        first, _, read = min(matches, key=lambda ahead: ahead[0].start())
        end = first.end()
        ahead = [
            (match if match.start() >= end else pattern.search(text, end), pattern, reader)
            for match, pattern, reader in matches
        ]
        groups = {name: words for name, words in first.groupdict().items() if words is not None}
        try:
            time = read({**groups, "all": first[0]}, today)
        except (ValueError, OverflowError):
            continue
        if time.days or time.strength == "future":
            is_ahead = time.days and (time.days.first > today or time.days.last.year < EARLIEST)
            strength = "future" if is_ahead else time.strength
            yield time._replace(strength=strength, start=first.start(), end=end)
