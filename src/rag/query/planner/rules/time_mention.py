"""What a time in running text is: its words, its days, and how surely notes are meant."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from rag.query.dates import DateRange, calendar_range
from rag.query.planner.rules.shared_patterns import KANJI, NUMBERS

Strength = Literal["sure", "dated", "year", "vague", "pair", "future"]


@dataclass(frozen=True)
class TimeMention:
    """A time that words name.

    :ivar days: empty when the calendar has none day, or when it lies ahead.
    :ivar strength: `sure` by itself, `dated` beside other words of time, `year` and `vague`
        beside words of writing, `pair` as the end of a span only.
    :ivar exact: the day itself of something "a month ago".
    :ivar month: the month and day of a date without a year.
    """

    start: int
    end: int
    kind: str
    strength: Strength
    days: DateRange | None = None
    exact: date | None = None
    month: tuple[int, int | None] | None = None

    def in_year(self, year: int) -> TimeMention:
        """Return the same month or day of another year."""
        assert self.month is not None
        return replace(self, days=days_of(year, *self.month), month=None)


def mention_of(
    found: re.Match[str], strength: Strength, days: DateRange | None = None
) -> TimeMention:
    """Return the mention of words that were found."""
    return TimeMention(found.start(), found.end(), found.lastgroup or "", strength, days)


def days_of(year: int, month: int | None = None, day: int | None = None) -> DateRange | None:
    """Return a year, a month of it or a day; `None` when the calendar has none."""
    try:
        return calendar_range(year, month, day)
    except ValueError:
        return None


def number_of(text: str) -> int:
    """Return the number that figures or words say; "a few" is 3."""
    if text.isdigit():
        return int(text)
    if text in NUMBERS:
        return NUMBERS.index(text)
    if text in ("a", "an", ""):
        return 1
    if text == "a couple of":
        return 2
    if text[0] in "〇一二三四五六七八九十":
        tens, ten, ones = text.rpartition("十")
        return 10 * (number_of(tens) if ten else 0) + (KANJI.index(ones) if ones else 0)
    return 3  # a few, 数
