"""The window of time that a query asks for, in English and Japanese, or words for one that no rule
can tell: "the holidays", 年末, "the end of last month".

A time counts when it stands by itself for one ("last week", 先週) or beside words of notes, of
writing, of spans ("notes from March", "since 2024-05", 3月のメモ) or of what happens then
("meetings today", "what happened on 3 May 2025"); a year alone needs words of notes. What is asked
about ("what happened in 1945"), how something is done and trouble ("sync not working since
yesterday"), a time that is the topic ("songs about the past year") and what lies ahead are left in
the query. *Recently* and 最近 are the last 30 days. `rag.query.planner.time_mentions` says
what each word means.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import chain
from typing import NamedTuple

from rag.query.planner.plan import TimeWindow, window_name
from rag.query.planner.query_text import negation
from rag.query.planner.time_mentions import TimeMention, find_mentions
from rag.query.planner.words import (
    JA_NOTE,
    JA_WHAT_HAPPENED,
    NOTE,
    WHAT_HAPPENED,
    B,
    E,
)

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
_SINCE = {"since", "starting", "starting from", "as of"}
_SINCE |= {"以降", "以来", "以後", "から", "から今まで", "から現在まで"}
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
    """From where to where a text speaks of a time, with the words that lead to it, and the window.

    :ivar words: from where to where it is named.
    :ivar edited: whether notes changed then.
    """

    start: int
    end: int
    window: TimeWindow
    words: tuple[int, int]
    edited: bool = False


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
            found = _span(read, first, mentions.pop(0), around)
        else:
            found = _alone(read, first, around)
        if found and (found := _turned(text, found, today)):
            return found
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
            words = first, last
            return FoundTime(around.start, around.end, TimeWindow(), words, around.edited)
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
    return _found(turned.start, turned.end, days, found.edited, today)


def _found(
    start: int, end: int, days: tuple[date | None, date | None], edited: bool, today: date
) -> FoundTime:
    window = TimeWindow(
        name=window_name(*days, today),
        first=days[0],
        last=days[1],
        field="modified" if edited else "created",
    )
    return FoundTime(start, end, window, (start, end), edited)


def _around(text: str, mention: TimeMention) -> _Context:
    """Return what stands around a time mention: words such as "since", and of writing."""
    start, end, word, verbs = mention.start, mention.end, "", list[str | None]()
    edited = written = False
    if before := _BEFORE.search(text[max(0, start - 50) : start]):
        start -= len(before[0])
        word = " ".join((before["word"] or "").split())
        edited = bool(before["own"])
        verbs.append(before["verb"])
    if after := _AFTER_EN.match(text, end):
        end = after.end()
        verbs.append(after["verb"])
        word = "since" if after["on"] else word
    elif after := _AFTER_JA.match(text, end):
        end = after.end()
        word = after["word"] or word
        edited, written = edited or bool(after["edit"]), bool(after["made"])
    edited = edited or not {*_EDITS.split("|")}.isdisjoint(verbs)
    written = written or not {*_WRITES.split("|")}.isdisjoint(verbs)
    return _Context(start, end, word, edited, written)


def _counts(read: _Text, mention: TimeMention, around: _Context) -> bool:
    """Return whether a time mention is one that notes are to be filtered by."""
    text, about_notes, strength = read.text, read.about_notes, mention.strength
    if strength == "future":
        return False
    if mention.kind == "age":
        return about_notes
    if not about_notes and _TOPIC.search(text, 0, mention.start):
        return False
    if strength == "sure" or (mention.kind == "week_day" and around.word == "since"):
        return True
    if read.asks:
        assert mention.days
        return mention.days.first == mention.days.last and _EVENTS.search(text) is not None
    if mention.kind in ("month", "year") and not _DATE_ENDS.match(text, mention.end):
        return False
    if around.word in _SPANS:
        return True
    notes_follow = _NOTES_FOLLOW.match(text, mention.end) is not None
    if strength == "year":
        beside = around.word in _MONTH_CUES or around.written or around.edited
        return about_notes and (beside or notes_follow or text[mention.end - 1] == "年")
    if mention.kind in ("weak", "week_day"):  # "standup on Monday", but not "today" alone
        ends = text[: mention.start].strip() and not text[mention.end :].strip(" ?!.")
        if ends or _EVENTS.search(text):
            return True
    if strength == "vague":
        return about_notes or around.word == "from"
    if strength == "pair":
        if text.endswith("the ", 0, mention.start):
            return False
        alone = text[mention.start : mention.end] not in ("may", "march")
        return around.word in _MONTH_CUES - {"of"} or (notes_follow and alone)
    cued = around.word in _MONTH_CUES or around.word in ("on", "over", "within")
    return about_notes or cued or mention.kind == "japanese"


def _is_linked(text: str, first: TimeMention, last: TimeMention, around: _Context) -> bool:
    """Return whether a text goes from one mention to the next."""
    link = _LINK.fullmatch(text, first.end, last.start)
    joint = link[0].strip() if link else ""
    if joint in ("and", "to", "until", "till"):
        return around.word in ("between", "from", "since")
    return link is not None and (joint != "-" or first.strength != "pair" or bool(around.word))


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
    """Return the time range of one time mention, if notes are to be filtered by it."""
    if around.word == "between" or not _counts(read, mention, around):
        return None
    assert mention.days is not None
    word, (first, last) = around.word, mention.days
    if mention.exact and word in _SPANS:
        first = last = mention.exact
    elif not mention.exact and word in ("more than", "less than"):
        word = ""
    days: tuple[date | None, date | None] = first, last
    try:
        if word in _SINCE:
            days = first, None
        elif word in _AFTER:
            days = last + timedelta(1), None
        elif word in _UNTIL:
            days = None, last
        elif word in _EARLIER:
            days = None, first - timedelta(1)
    except OverflowError:
        return None
    return _found(around.start, around.end, days, around.edited, read.today)
