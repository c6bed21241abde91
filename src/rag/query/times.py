"""The window of time that a query asks for, in English and Japanese.

A time counts when it stands by itself for one ("last week", 先週) or beside words of notes, of
writing or of spans ("notes from March", "since 2024-05", 3月のメモ); a year alone needs such words.
What is asked about ("what happened in 1945") and what lies ahead is left in the query. *Recently*
and 最近 are the last 30 days. `rag.query.time_points` says what each word means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

from rag.query.dates import days_ago, shifted
from rag.query.plan import TimeWindow, WindowName
from rag.query.time_points import Point, find_points

_B, _E = "(?<![a-z0-9_])", "(?![a-z0-9_])"
_EDITS = "modified|updated|edited|changed|revised|touched"
_WRITES = "created|written|wrote|write|made|added|logged|jotted|saved|recorded|captured"
NOTE = "notes?|memos?|entry|entries|journals?|jottings?"
JA_NOTE = "ノート|メモ|記事|ページ|文書"
_JA_EDITS = "更新|編集|変更|修正"
_JA_WRITES = "書い|書か|記し|作っ|作成|まとめ|残し|メモし|記録|保存|追加"

_ABOUT_NOTES = re.compile(
    rf"{_B}(?:{NOTE}|{_WRITES}|{_EDITS}){_E}|{JA_NOTE}|{_JA_WRITES}|{_JA_EDITS}|日記"
)
_OWN = re.compile(rf"{_B}(?:i|we|my|our){_E}|私|自分|僕")
_QUESTION = re.compile(
    r"^ *(?:(?:on|in|at|for|to|from|by|with) )?(?:what|who|whom|whose|when|where|why|how|which"
    rf"|did|does|do|is|was|are|were){_E}|[か?] *$|何|なぜ|いつ|どこ|誰|だれ|どの|どう"
)
_BEFORE = re.compile(
    rf"(?:{_B}(?P<verb>{_EDITS}|{_WRITES})(?: +(?:by me|down))?(?: +(?:{NOTE}))? *)?"
    rf"(?:{_B}(?P<word>since|starting(?: +from)?|as of|after|later than|newer than"
    r"|before|earlier than|older than|prior to|until|till|up to|between|from|in|on|during|of"
    r"|dated?|over|within|throughout|back in) +)?"
    rf"(?:(?:the|early|late) +)?$"
)
_AFTER_EN = re.compile(rf" +(?P<verb>{_EDITS}|{_WRITES}){_E}|'s{_E}|(?P<on> +onwards?){_E}")
_AFTER_JA = re.compile(
    "(?:頃|ごろ|分)?(?:の(?:間|あいだ)|中|以内)?"
    "(?P<word>以降|以来|以後|から|より後|の後|以前|より前|の前|まで)?"
    rf"(?P<tail>、?[にはで]?(?:最後に|最終)?(?:(?P<edit>{_JA_EDITS})|(?P<made>{_JA_WRITES}))"
    "(?:した|しました|された|されている|している|たれ|れた|いた|た|て(?:いた|おいた)?|済みの?)?)?"
    "(?:[のにはでを、]|に?かけて(?:の|に)?)?"
)
_NOTES_FOLLOW = re.compile(rf" +(?:{NOTE}){_E}")
_LINK = re.compile(" *(?:to|and|until|till|through|thru|から|〜|~|-|–|—) *")
_SINCE = {"since", "starting", "starting from", "as of", "以降", "以来", "以後", "から"}
_AFTER = {"after", "later than", "newer than", "より後", "の後"}
_UNTIL = {"until", "till", "up to", "以前", "まで"}
_EARLIER = {"before", "earlier than", "older than", "prior to", "より前", "の前"}
_SPANS = _SINCE | _AFTER | _UNTIL | _EARLIER
_MONTH_CUES = {*_SPANS, "in", "from", "of", "during", "between", "dated", "back in", "throughout"}

_UNTOLD = re.compile(
    rf"{_B}(?:christmas|easter|thanksgiving|halloween|new year's(?: eve)?|the holidays"
    rf"|the other day|(?:a while|some time|long) ago|mid-[a-z]{{3,9}}){_E}"
    "|年末年始|年末|年始|お?正月|お盆|ゴールデンウィーク|クリスマス|先日|この前|こないだ"
    "|[上中下]旬|月末|月初|数(?:日|週間|か月|年)前|しばらく前"
)


class FoundTime(NamedTuple):
    """A window, and from where to where it is spoken of."""

    start: int
    end: int
    window: TimeWindow


class _Context(NamedTuple):
    """What stands around a point."""

    start: int
    end: int
    word: str
    edited: bool
    written: bool


def find_time(text: str, today: date) -> FoundTime | None:
    """Return the first window that a text in lower case filters by."""
    points = list(find_points(text, today))
    if not points:
        return None
    about_notes = _ABOUT_NOTES.search(text) is not None
    asks = not about_notes and _QUESTION.search(text) is not None and not _OWN.search(text)
    for index, point in enumerate(points):
        around = _around(text, point)
        if found := _span(text, points[index : index + 2], around, today):
            return found
        counts = _counts(point, around, about_notes, asks, text)
        if counts and (days := _apply(around.word, point)):
            return FoundTime(around.start, around.end, _window(days, around.edited, today))
    return None


def time_slot(text: str) -> tuple[int, int] | None:
    """Return from where to where a text speaks of a time of notes that no rule can tell."""
    if _ABOUT_NOTES.search(text) and (found := _UNTOLD.search(text)):
        return found.span()
    return None


def named_window(name: WindowName, today: date) -> TimeWindow:
    """Return the days of a window that has a name; `DATES` has none."""
    if name in (WindowName.ALL_TIME, WindowName.DATES):
        return TimeWindow()
    if name is WindowName.PAST_SIX_MONTHS:
        return TimeWindow(name=name, first=days_ago(today, 6, "month").first, last=today)
    if name is WindowName.TODAY:
        return TimeWindow(name=name, first=today, last=today)
    which, _, unit = name.lower().partition("_")
    first, last = shifted(today, -1 if which == "last" else 0, unit)
    return TimeWindow(name=name, first=first, last=last)


def window_name(first: date | None, last: date | None, today: date) -> WindowName:
    """Return what these days are called: `DATES` where they have no name of their own."""
    if first is None and last is None:
        return WindowName.ALL_TIME
    for name in WindowName:
        try:
            window = named_window(name, today)
        except OverflowError:  # such as the week in which the calendar ends
            continue
        if (window.first, window.last) == (first, last):
            return name
    return WindowName.DATES


Days = tuple[date | None, date | None]


def _around(text: str, point: Point) -> _Context:
    before = _BEFORE.search(text[max(0, point.start - 50) : point.start])
    start, end, word = point.start, point.end, ""
    edited = written = False
    if before:
        start -= len(before[0])
        word = " ".join((before["word"] or "").split())
        edited, written = _is(_EDITS, before["verb"]), _is(_WRITES, before["verb"])
    if after := _AFTER_EN.match(text, end):
        end = after.end()
        edited = edited or _is(_EDITS, after["verb"])
        written = written or _is(_WRITES, after["verb"])
        word = "since" if after["on"] else word
    elif after := _AFTER_JA.match(text, end):
        end = after.end()
        word = after["word"] or word
        edited, written = edited or bool(after["edit"]), written or bool(after["made"])
    return _Context(start, end, word, edited, written)


def _is(words: str, verb: str | None) -> bool:
    return verb is not None and verb in words.split("|")


def _counts(point: Point, around: _Context, about_notes: bool, asks: bool, text: str) -> bool:
    """Tell whether a point is one that notes are to be filtered by."""
    if point.strength == "sure":
        return True
    if point.strength == "future" or asks:
        return False
    if around.word in _SPANS:
        return True
    notes_follow = _NOTES_FOLLOW.match(text, point.end) is not None
    if point.strength == "year":
        beside = around.word in _MONTH_CUES or around.written or around.edited
        return about_notes and (beside or notes_follow or text[point.end - 1] == "年")
    if point.strength == "vague":
        return about_notes or around.word == "from"
    if point.strength == "pair":
        alone = text[point.start : point.end] not in ("may", "march")
        if text.endswith("the ", 0, point.start):
            return False
        return around.word in _MONTH_CUES - {"of"} or (notes_follow and alone)
    cued = around.word in _MONTH_CUES or around.word in ("on", "over", "within")
    return about_notes or cued or point.kind == "japanese"


def _span(text: str, points: Sequence[Point], around: _Context, today: date) -> FoundTime | None:
    """Return the window from one point to the next, where the text says so."""
    if len(points) < 2 or points[1].strength == "future":
        return None
    first, last = points
    link = _LINK.fullmatch(text, first.end, last.start)
    if link is None:
        return None
    joint = link[0].strip()
    if joint in ("and", "to", "until", "till") and around.word not in ("between", "from", "since"):
        return None
    if joint == "-" and first.strength == "pair" and not around.word:
        return None
    first, last = _same_year(first, last)
    if not (first.days and last.days) or last.days.last < first.days.first:
        return None
    after = _around(text, last)
    days = (first.exact or first.days.first, last.exact or last.days.last)
    edited = around.edited or after.edited
    return FoundTime(around.start, after.end, _window(days, edited, today))


def _same_year(first: Point, last: Point) -> tuple[Point, Point]:
    """Give a point without a year that of the other: the first is not after the last."""
    if first.month and last.days and not last.month:
        return first.in_year(last.days.first.year), last
    if last.month and first.days and not first.month:
        return first, last.in_year(first.days.first.year)
    if first.month and first.days and last.days and first.days.first > last.days.last:
        return first.in_year(first.days.first.year - 1), last
    return first, last


def _apply(word: str, point: Point) -> Days | None:
    assert point.days is not None
    first, last = point.days
    if point.exact and word in _SPANS:
        first = last = point.exact
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
