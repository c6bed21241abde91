"""Spans of time in whatever form they are given: by name, as a model writes them, or not at all."""

from __future__ import annotations

from datetime import date
from typing import Any

from rag.query.dates import days_ago, shifted
from rag.query.planner.plan import TimeWindow, WindowName


def window_of(given: Any, today: date) -> TimeWindow | None:
    """Return the window that is given in whatever form, `None` for what is none or leaves no note
    out: empty, of nonsense, or ending before it begins. Its name is that of its days."""
    if isinstance(given, TimeWindow):
        if not given.is_open:
            return given
        given = given.model_dump()
    if isinstance(given, str):
        given = {"name": given}
    if not isinstance(given, dict):
        return None
    more = {key: given[key] for key in ("field", "text") if given.get(key)}
    try:
        first, last = _day(given.get("first")), _day(given.get("last"))
        if first or last:
            name = window_name(first, last, today)
            return TimeWindow.model_validate({"name": name, "first": first, "last": last, **more})
        named = named_window(str(given.get("name", "")), today)
        made = TimeWindow.model_validate({**named.model_dump(), **more})
        return None if made.is_open else made
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


def named_window(name: str, today: date) -> TimeWindow:
    """Return the days of a named window; `ALL_TIME`, `DATES` and what is no name have none."""
    known = _known_name(name)
    if known in (None, WindowName.ALL_TIME, WindowName.DATES):
        return TimeWindow()
    try:
        if known is WindowName.PAST_SIX_MONTHS:
            first, last = days_ago(today, 6, "month").first, today
        elif known is WindowName.TODAY:
            first, last = today, today
        else:
            which, _, unit = known.lower().partition("_")
            first, last = shifted(today, -1 if which == "last" else 0, unit)
    except (ValueError, OverflowError):  # the calendar begins in year 1 and ends in 9999
        return TimeWindow()
    return TimeWindow(name=known, first=first, last=last)


def window_name(first: date | None, last: date | None, today: date) -> WindowName:
    """Return what these days are called: `DATES` where they have no name of their own."""
    if first is None and last is None:
        return WindowName.ALL_TIME
    for name in WindowName:
        window = named_window(name, today)
        if (window.first, window.last) == (first, last):
            return name
    return WindowName.DATES


def _known_name(name: str) -> WindowName | None:
    wanted = "_".join(name.strip().upper().replace("-", " ").replace("_", " ").split())
    return WindowName(wanted) if wanted in WindowName.__members__ else None
