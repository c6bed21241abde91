"""The days of a note: those it names itself, that of its file name, and those of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

from rag.vault.frontmatter import as_text, as_timestamp

CREATED = ("created", "date", "created_at", "date created", "作成日")
MODIFIED = ("modified", "updated", "updated_at", "date modified", "更新日")
_YEARS = range(1900, 2101)
_NO_DATE = 40  # characters of a value that are shown

# A digit before or behind makes it another number, and so does a further part of one.
_NAMED = re.compile(
    r"(?<!\d)(?<!\d[-_.])(?P<year>\d{4})(?:"
    r"(?P<mark>[-_.])(?P<month>\d\d)(?P=mark)(?P<day>\d\d)(?!\d)"
    r"|-?[Ww](?P<week>\d\d?)(?!\d)"
    r"|-(?P<whole>\d\d)(?![\d]|[-_.]\d)"
    r"|年\s?(?P<month_ja>\d\d?)月(?:\s?(?P<day_ja>\d\d?)日)?"
    r"|(?P<joined>\d{4})(?:[-_T]?\d{4}(?:\d\d)?)?(?![\d]|[-_.]\d)"
    r")"
)


@dataclass(frozen=True)
class FileTimes:
    """When a file was last written and when it was made, in seconds since the epoch; `None` where
    that is not known, or says nothing about its note."""

    modified: float | None
    made: float | None = None


def date_created(
    fields: Mapping[str, Any], path: str, times: FileTimes, problems: list[str]
) -> str:
    """Return the day of a note: that of its front matter, else of its file's name, else of the
    file; empty where there is none.

    :param fields: of the front matter, by their names in lower case.
    """
    own = _own_date(fields, CREATED, problems) or date_in_name(PurePosixPath(path).stem)
    return own or _file_date(times.modified if times.made is None else times.made, problems)


def date_modified(fields: Mapping[str, Any], times: FileTimes, problems: list[str]) -> str:
    """Return when a note was changed last, as its front matter or else its file says."""
    return _own_date(fields, MODIFIED, problems) or _file_date(times.modified, problems)


def date_in_name(name: str) -> str:
    """Return the first day that a name holds, as an ISO date: of a week its Monday, of a month the
    first. Empty where it holds none, or one before 1900 or after 2100.

    >>> date_in_name("2026-11-18 Anna"), date_in_name("2026-W47"), date_in_name("2026-13-40")
    ('2026-11-18', '2026-11-16', '')
    """
    for found in _NAMED.finditer(name):
        try:
            day = _day(found)
        except ValueError:
            continue
        if int(found["year"]) in _YEARS:
            return day.isoformat()
    return ""


def _day(found: re.Match[str]) -> date:
    """Return the day that a match names.

    :raises ValueError: when there is no such day.
    """
    year = int(found["year"])
    if found["week"]:
        return date.fromisocalendar(year, int(found["week"]), 1)
    if joined := found["joined"]:
        return date(year, int(joined[:2]), int(joined[2:]))
    month = found["month"] or found["whole"] or found["month_ja"]
    return date(year, int(month), int(found["day"] or found["day_ja"] or 1))


def _own_date(fields: Mapping[str, Any], names: tuple[str, ...], problems: list[str]) -> str:
    for name in names:
        value = fields.get(name)
        if value in (None, ""):
            continue
        if stamp := as_timestamp(value):
            return stamp
        shown = as_text(value)[:_NO_DATE] or type(value).__name__
        problems.append(f"front matter: {name!r} is not a date: {shown!r}")
    return ""


def _file_date(time: float | None, problems: list[str]) -> str:
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time).replace(microsecond=0).isoformat()
    except (OSError, OverflowError, ValueError):
        problem = f"the file's own date is out of range: {time:.0f} seconds after 1970"
        if problem not in problems:
            problems.append(problem)
        return ""
