"""The window of time that a query asks for, in English and Japanese, or words for one that no rule
can tell: "the holidays", 年末, "the end of last month".

A time counts when it stands by itself for one ("last week", 先週) or beside words of notes, of
writing, of spans ("notes from March", "since 2024-05", 3月のメモ) or of what happens then
("meetings today", "what happened on 3 May 2025"); a year alone needs words of notes. What is asked
about ("what happened in 1945"), how something is done and trouble ("sync not working since
yesterday"), a time that is the topic ("songs about the past year") and what lies ahead are left in
the query. *Recently* and 最近 are the last 30 days. `rag.query.planner.rules.time_mentions` says
what each word means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

from rag.query.planner.plan import TimeWindow, window_name
from rag.query.planner.rules.query_text import negation
from rag.query.planner.rules.shared_patterns import (
    JA_NOTE,
    JA_WHAT_HAPPENED,
    NOTE,
    WHAT_HAPPENED,
    B,
    E,
)
from rag.query.planner.rules.time_mentions import TimeMention, find_mentions

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
    rf"(?:{B}(?P<verb>{_EDITS}|{_WRITES})(?: +(?:by me|down))?(?: +(?:{_NOTE}))? *"
    rf"|(?:(?<=notes )|(?<=memos )|(?<=entries ))did (?:i|we) (?P<own>{_EDIT}) +)?"
    rf"(?:{B}(?P<word>since|starting(?: +from)?|as of|after|later than|newer than"
    r"|more than|less than|before|earlier than|older than|prior to|until|till"
    r"|up to|between|from|in|on|during|of|dated?|over|within|throughout|back in) +)?"
    rf"(?:(?:the|early|late) +)?$"
)
_AFTER_EN = re.compile(
    rf" +(?P<verb>{_EDITS}|{_WRITES}){E}|'s{E}"
    rf"|(?P<on> +(?:onwards?|to (?:now|date|the present)|(?:un)?till? now)){E}"
)
_AFTER_JA = re.compile(
    "(?:頃|ごろ|分)?(?:の(?:間|あいだ)|中|以内)?"
    "(?P<word>以降|以来|以後|から(?:今|現在)まで|から|より後|の後|以前|より前|の前|まで|以上前|より古い)?"
    rf"(?P<tail>、?[にはで]?(?:最後に|最終)?(?:(?P<edit>{_JA_EDITS})|(?P<made>{_JA_WRITES}))"
    "(?:した|しました|された|されている|している|たれ|れた|いた|た|て(?!い?な)(?:いた|おいた)?|済みの?)?)?"
    "(?:[には、]|の(?!ない)|で(?![はな])|を(?!除|のぞ)|に?かけて(?:の|に)?)?"
)
_NOTES_FOLLOW = re.compile(rf" +(?:{_NOTE}){E}")
_LINK = re.compile(" *(?:to|and|until|till|through|thru|から|〜|~|-|–|—) *")
_SINCE = {
    "since",
    "starting",
    "starting from",
    "as of",
    "以降",
    "以来",
    "以後",
    "から",
    "から今まで",
    "から現在まで",
}
_AFTER = {"after", "less than", "later than", "newer than", "より後", "の後"}
_UNTIL = {"until", "till", "up to", "以前", "まで"}
_EARLIER = {"before", "earlier than", "older than", "more than", "prior to"}
_EARLIER |= {"より前", "の前", "以上前", "より古い"}
_SPANS = _SINCE | _AFTER | _UNTIL | _EARLIER
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
    """A window, and from where to where it is spoken of."""

    start: int
    end: int
    window: TimeWindow


class Context(NamedTuple):
    """What stands around a time mention: from where to where, a word such as "since", and whether
    words of changing or of writing notes do."""

    start: int
    end: int
    word: str
    edited: bool
    written: bool


def find_time(text: str, today: date) -> FoundTime | None:
    """Return the first window that a text in lower case filters by.

    What is not wanted ("not from last week") is no window, unless all other days are one.
    """
    mentions = list(find_mentions(text, today))
    about_notes = _speaks_of_notes(text)
    if _HOW.search(text) or (not about_notes and _TROUBLE.search(text)):
        return None
    asks = not about_notes and _QUESTION.search(text) is not None and not _OWN.search(text)
    after = 0
    for index, mention in enumerate(mentions):
        if index < after or _blurred(text, mention) or text.startswith("という", mention.end):
            continue
        around = _around_mention(text, mention)
        if _linked(text, mentions[index : index + 2], around):
            after = index + 2
            found = _span(text, mention, mentions[index + 1], around, today)
        else:
            found = _alone(text, mention, around, about_notes, asks, today)
        if found and (found := _turned(text, found, today)):
            return found
    return None


def _speaks_of_notes(text: str) -> bool:
    """Return whether words of notes, or of writing them, stand in a text."""
    return _ABOUT_NOTES.search(text) is not None


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


def _turned(text: str, found: FoundTime, today: date) -> FoundTime | None:
    """Return a time, or all days but those where its words are negated; `None`: not to be said."""
    turned = negation(text, found.start, found.end)
    if turned is None:
        return found
    first, last = found.window.first, found.window.last
    if not turned.exact or (first and last and last < today):
        return None
    try:
        days = (None, first - timedelta(1)) if first else ((last or today) + timedelta(1), None)
    except OverflowError:
        return None
    window = _window(days, found.window.field == "modified", today)
    return FoundTime(turned.start, turned.end, window)


Days = tuple[date | None, date | None]


def _around_mention(text: str, mention: TimeMention) -> Context:
    """Return what stands around a time mention: words such as "since", and of writing."""
    before = _BEFORE.search(text[max(0, mention.start - 50) : mention.start])
    start, end, word = mention.start, mention.end, ""
    edited = written = False
    if before:
        start -= len(before[0])
        word = " ".join((before["word"] or "").split())
        edited = bool(before["own"]) or _is(_EDITS, before["verb"])
        written = _is(_WRITES, before["verb"])
    if after := _AFTER_EN.match(text, end):
        end = after.end()
        edited = edited or _is(_EDITS, after["verb"])
        written = written or _is(_WRITES, after["verb"])
        word = "since" if after["on"] else word
    elif after := _AFTER_JA.match(text, end):
        end = after.end()
        word = after["word"] or word
        edited, written = edited or bool(after["edit"]), written or bool(after["made"])
    return Context(start, end, word, edited, written)


def _is(words: str, verb: str | None) -> bool:
    return verb is not None and verb in words.split("|")


def _counts(
    mention: TimeMention, around: Context, about_notes: bool, asks: bool, text: str
) -> bool:
    """Return whether a time mention is one that notes are to be filtered by."""
    if mention.strength == "future":
        return False
    if mention.kind == "age":
        return about_notes
    if not about_notes and _TOPIC.search(text, 0, mention.start):
        return False
    if mention.strength == "sure":
        return True
    if asks:
        assert mention.days
        return mention.days.first == mention.days.last and _EVENTS.search(text) is not None
    if mention.kind in ("month", "year") and not _DATE_ENDS.match(text, mention.end):
        return False
    if around.word in _SPANS:
        return True
    notes_follow = _NOTES_FOLLOW.match(text, mention.end) is not None
    if mention.strength == "year":
        beside = around.word in _MONTH_CUES or around.written or around.edited
        return about_notes and (beside or notes_follow or text[mention.end - 1] == "年")
    if mention.kind in ("weak", "week_day"):  # "standup on Monday", but not "today" alone
        ends = text[: mention.start].strip() and not text[mention.end :].strip(" ?!.")
        if ends or _EVENTS.search(text):
            return True
    if mention.strength == "vague":
        return about_notes or around.word == "from"
    if mention.strength == "pair":
        alone = text[mention.start : mention.end] not in ("may", "march")
        if text.endswith("the ", 0, mention.start):
            return False
        return around.word in _MONTH_CUES - {"of"} or (notes_follow and alone)
    cued = around.word in _MONTH_CUES or around.word in ("on", "over", "within")
    return about_notes or cued or mention.kind == "japanese"


def _linked(text: str, mentions: Sequence[TimeMention], around: Context) -> bool:
    """Return whether a text goes from one mention to the next."""
    if len(mentions) < 2:
        return False
    link = _LINK.fullmatch(text, mentions[0].end, mentions[1].start)
    if link is None:
        return False
    joint = link[0].strip()
    if joint in ("and", "to", "until", "till") and around.word not in ("between", "from", "since"):
        return False
    return joint != "-" or mentions[0].strength != "pair" or bool(around.word)


def _span(
    text: str, first: TimeMention, last: TimeMention, around: Context, today: date
) -> FoundTime | None:
    """Return the time range from one mention to another; `None` when it ends before it begins, or
    lies ahead."""
    if "future" in (first.strength, last.strength):
        return None
    first, last = _same_year(first, last)
    if not (first.days and last.days) or last.days.last < first.days.first:
        return None
    after = _around_mention(text, last)
    days = (first.exact or first.days.first, last.exact or last.days.last)
    edited = around.edited or after.edited
    return FoundTime(around.start, after.end, _window(days, edited, today))


def _alone(
    text: str, mention: TimeMention, around: Context, about_notes: bool, asks: bool, today: date
) -> FoundTime | None:
    """Return the time range of one time mention, if notes are to be filtered by it."""
    if around.word == "between" or not _counts(mention, around, about_notes, asks, text):
        return None
    days = _apply(around.word, mention)
    return days and FoundTime(around.start, around.end, _window(days, around.edited, today))


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


def _apply(word: str, mention: TimeMention) -> Days | None:
    assert mention.days is not None
    first, last = mention.days
    if word in ("more than", "less than") and not mention.exact:
        word = ""
    if mention.exact and word in _SPANS:
        first = last = mention.exact
    try:
        if word in _SINCE:
            return first, None
        if word in _AFTER:
            return last + timedelta(1), None
        if word in _UNTIL:
            return None, last
        if word in _EARLIER:
            return None, first - timedelta(1)
    except OverflowError:
        return None
    return first, last


def _window(days: Days, edited: bool, today: date) -> TimeWindow:
    field: Literal["created", "modified"] = "modified" if edited else "created"
    return TimeWindow(name=window_name(*days, today), first=days[0], last=days[1], field=field)


class TimeSlot(NamedTuple):
    """From where to where a time is spoken of, with and without the words that lead to it.

    :ivar edited: whether notes changed then.
    """

    start: int
    end: int
    first: int
    last: int
    edited: bool


def find_slot(text: str, today: date) -> TimeSlot | None:
    """Return the first time in a text in lower case that notes are from, and nobody knows."""
    if not _speaks_of_notes(text):
        return None
    for first, last in _untold(text, today):
        lead = _AROUND.search(text, max(0, first - 20), first)
        at = lead.start() if lead else first
        around = _around_mention(text, TimeMention(at, last, "untold", "vague"))
        if not negation(text, around.start, around.end):
            return TimeSlot(around.start, around.end, first, last, around.edited)
    return None


def _untold(text: str, today: date) -> Iterator[tuple[int, int]]:
    yield from filter(None, (_blurred(text, mention) for mention in find_mentions(text, today)))
    yield from (found.span() for found in _UNTOLD.finditer(text))
