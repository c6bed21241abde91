"""Times of notes that no rule can tell: "the holidays", 年末, "the end of last month"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from rag.query.planner.rules.negation import negation
from rag.query.planner.rules.shared_patterns import B, E
from rag.query.planner.rules.time_mentions import TimeMention, find_mentions
from rag.query.planner.rules.time_range_reader import around_mention, blurred, speaks_of_notes

_UNTOLD = re.compile(
    rf"{B}(?:christmas|easter|thanksgiving|halloween|new year's(?: eve)?|the holidays"
    rf"|the other day|(?:a while|some time|long) ago|mid-[a-z]{{3,9}}){E}"
    "|年末年始|年末|年始|お?正月|お盆|ゴールデンウィーク|クリスマス|先日|この前|こないだ"
    "|[上中下]旬|月末|月初|数(?:日|週間|か月|年)前|しばらく前"
)
_AROUND = re.compile(rf"{B}(?:around|about) +$")


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
    if not speaks_of_notes(text):
        return None
    for first, last in _untold(text, today):
        lead = _AROUND.search(text, max(0, first - 20), first)
        at = lead.start() if lead else first
        around = around_mention(text, TimeMention(at, last, "untold", "vague"))
        if not negation(text, around.start, around.end):
            return TimeSlot(around.start, around.end, first, last, around.edited)
    return None


def _untold(text: str, today: date) -> Iterator[tuple[int, int]]:
    yield from filter(None, (blurred(text, mention) for mention in find_mentions(text, today)))
    yield from (found.span() for found in _UNTOLD.finditer(text))
