"""What a reader is given of the passages that may answer a question, and what it says of each
unit of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rag.answers.quotation.units import QuotableUnit
from rag.clients.protocols import Reading, TextToRead
from rag.text.token_estimate import count_tokens

_TOKENS = 100  # of a window, apart from its lead
_WINDOWS = 8
_LEAD = 80  # characters

# Reads texts with a question in mind.
Read = Callable[[str, Sequence[TextToRead]], Sequence[Reading]]


class UnitReading(NamedTuple):
    """What a reader says of a unit: how far its best span answers, and how far what stands around
    it does, both log odds; and that span."""

    span: float
    answered: float
    text: str


UNREAD = UnitReading(-6.0, -3.0, "")  # about what one scores that does not answer


class _Layout(NamedTuple):
    """The units of a passage as one text, and where in it each stands."""

    text: str
    ranges: list[tuple[int, int]]


def read_units(
    question: str,
    best: Sequence[tuple[int, QuotableUnit]],
    leads: Sequence[str],
    units: Sequence[Sequence[QuotableUnit]],
    read: Read,
) -> dict[tuple[int, QuotableUnit], UnitReading]:
    """Return what a reader says of units; of one that fails there are no readings.

    :param best: passages and units, those first for which most speaks, read with what is around.
    :param leads: the titles of the passages; `units` all units of each.
    """
    layouts: dict[int, _Layout] = {}
    windows: list[tuple[int, int, int]] = []  # passage, begin, end
    for passage, unit in best:
        layout = layouts.setdefault(passage, _laid_out(units[passage]))
        begin, end = layout.ranges[units[passage].index(unit)]
        if any(p == passage and b <= begin and end <= e for p, b, e in windows):
            continue
        if len(windows) == _WINDOWS:
            break
        windows.append((passage, *_around(layout, begin, end)))
    texts: list[TextToRead] = []
    inside: list[list[QuotableUnit]] = []
    for passage, begin, end in windows:
        layout = layouts[passage]
        lead = f"{leads[passage][:_LEAD]}: "
        places = [
            (unit, (b - begin + len(lead), e - begin + len(lead)))
            for unit, (b, e) in zip(units[passage], layout.ranges, strict=True)
            if begin <= b and e <= end
        ]
        inside.append([unit for unit, _ in places])
        texts.append((lead + layout.text[begin:end], [place for _, place in places]))
    readings: dict[tuple[int, QuotableUnit], UnitReading] = {}
    for (passage, *_), (text, _), within, reading in zip(
        windows, texts, inside, read(question, texts), strict=False
    ):
        for unit, span in zip(within, reading.spans, strict=True):
            before = readings.get((passage, unit))
            if span and (before is None or span.score > before.span):
                readings[passage, unit] = UnitReading(
                    span.score, reading.answered, text[span.begin : span.end]
                )
    return readings


def _laid_out(units: Sequence[QuotableUnit]) -> _Layout:
    """Return units as one text: each once, though some lie within others."""
    text, ranges = "", list[tuple[int, int]]()
    last = 0
    for unit in units:
        at = text.find(unit.text, last)
        if at < 0 and ranges and unit.text.startswith(text[last:].rstrip()):
            text, at = text[:last], last  # the sentence before introduces it
        if at < 0:
            at = len(text)
        if at == len(text):
            last = at
            text += f"{unit.text}\n"
        ranges.append((at, at + len(unit.text)))
    return _Layout(text, ranges)


def _around(layout: _Layout, begin: int, end: int) -> tuple[int, int]:
    """Return the characters around some that a window has room for, at the bounds of units."""
    text = layout.text
    room = int(_TOKENS * len(text) / max(1, count_tokens(text)))
    begins = sorted({b for b, _ in layout.ranges})
    ends = sorted({e for _, e in layout.ranges})
    grown = True
    while grown:
        grown = False
        if (at := bisect_left(begins, begin)) and end - begins[at - 1] <= room:
            begin, grown = begins[at - 1], True
        if (at := bisect_right(ends, end)) < len(ends) and ends[at] - begin <= room:
            end, grown = ends[at], True
    return begin, end
