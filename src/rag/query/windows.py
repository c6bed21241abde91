"""Spans of time in whatever form they are given: by name, as a model writes them, or not at all."""

from __future__ import annotations

from datetime import date
from typing import Any

from rag.query.dates import parse_date_range
from rag.query.plan import TimeWindow, WindowName


def window_of(given: Any, today: date) -> TimeWindow | None:
    """Return the window that is given in whatever form, `None` for what is none or leaves no note
    out: empty, of nonsense, or ending before it begins."""
    if isinstance(given, str):
        return named_window(given, today)
    if isinstance(given, TimeWindow):
        given = given.model_dump()
    if not isinstance(given, dict):
        return None
    name = str(given.get("name", ""))
    known = _known_name(name) or WindowName.DATES
    more = {key: given[key] for key in ("field", "text") if given.get(key)}
    try:
        ends = {end: _day(given.get(end)) for end in ("first", "last")}
        if any(ends.values()):
            return TimeWindow.model_validate({"name": known, **ends, **more})
        named = named_window(name, today)
        return named and TimeWindow.model_validate({**named.model_dump(), **more})
    except ValueError:
        return None


def _day(given: Any) -> date | None:
    """Return a day that is written as one, `None` for none.

    :raises ValueError: for anything else, such as a number, in which pydantic sees seconds.
    """
    if isinstance(given, date) or not given:
        return given or None
    if not isinstance(given, str):
        raise ValueError("no day")
    return date.fromisoformat(given.strip()[:10])


def named_window(name: str, today: date) -> TimeWindow | None:
    """Return the days of a named window, `None` for `ALL_TIME` and what is no such name."""
    known = _known_name(name)
    if known in (None, WindowName.ALL_TIME, WindowName.DATES):
        return None
    assert known is not None
    if known == WindowName.PAST_SIX_MONTHS:
        return TimeWindow(name=known, first=parse_date_range("6 months ago", today).first)
    span = parse_date_range(known.lower().replace("_", " "), today)
    return TimeWindow(name=known, first=span.first, last=span.last)


def _known_name(name: str) -> WindowName | None:
    wanted = "_".join(name.strip().upper().replace("-", " ").replace("_", " ").split())
    return WindowName(wanted) if wanted in WindowName.__members__ else None
