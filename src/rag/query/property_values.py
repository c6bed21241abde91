"""Which values of a front matter property a condition asks for.

| condition | values |
|---|---|
| `Meadows` | those that hold these words in a row, whatever their case, width and accents |
| `done` | not "not done", 未完了: words that are denied say something else |
| `2026-12`, `today` | those and the dates of these days, however they are written |
| `田中` | in a script without spaces, those that hold it anywhere |
| `>200`, `>=200`, `<200`, `<=200` | the numbers beyond that one, whatever their unit |
| `<2026-12-01`, `>=2026-11`, `>today` | the days before or after that day, month or year |
| `>200 <=300` | what all of several comparisons hold of |
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import date
from typing import Any

from rag.exceptions import UsageError
from rag.query.dates import DateRange, parse_date_range
from rag.text.messages import brief
from rag.text.ngrams import RUN
from rag.text.tokenizer import fold_accents, name_key

_COMPARISON = re.compile(r"([<>]=?|[≤≥])\s*([^<>≤≥]*[^<>≤≥\s])\s*")
_COMPARISONS = re.compile(rf"(?:{_COMPARISON.pattern})+")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
}
_NUMBER = re.compile(
    r"[^\w\s.,+-]?\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(?:[^\W\d]+|\W)?"
)
_DAY = re.compile(
    r"(\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?|\d{1,2}\.\s?\d{1,2}\.\s?\d{4})(?:[t ].*)?"
)
_DENIED = re.compile(
    r"(?:(?<!\w)(?:not|no|non|never|without|nicht|kein\w{0,2}|ohne|nie|pas|sans|sin)|n't)[\s-]+"
    r"(?:\w+\s+){0,2}$|[未非不無]$"
)
_DENIES = re.compile("(?:し|さ|され|れ|で|て|では|じゃ|して)?(?:い)?(?:ない|なし|ません|無し)|以外")


def is_comparison(condition: str) -> bool:
    """Return whether a condition compares, and does not name a value."""
    return _COMPARISONS.fullmatch(name_key(condition)) is not None


def value_test(condition: str) -> Callable[[str], bool]:
    """Return the function that tells whether a condition holds of a value.

    :raises UsageError: where it compares with what is neither a number nor a date.
    """
    key = name_key(condition)
    if is_comparison(key):
        tests = [_comparison(sign, bound) for sign, bound in _COMPARISON.findall(key)]
        return lambda value: all(holds(value) for holds in tests)
    words, days = fold_accents(key), None if key.isdigit() else _days(key)
    # A number is no part of a longer one, nor of a date.
    edges = ("", "") if RUN.search(words) else (r"(?<!\w)(?<!\d[.,:/-])", r"(?!\w|[.,:/-]\d)")
    said = re.compile(re.escape(words).join(edges))

    def holds(value: str) -> bool:
        text = fold_accents(name_key(value))
        if days and (day := _day(value)):
            return days.first <= day <= days.last
        return any(not _is_denied(text, found) for found in said.finditer(text))

    return holds


def _is_denied(text: str, found: re.Match[str]) -> bool:
    """Return whether words for not stand beside those that were found in a value."""
    if found[0].isdigit():  # "no. 5"
        return False
    return bool(_DENIED.search(text, 0, found.start()) or _DENIES.match(text, found.end()))


def _comparison(sign: str, bound: str) -> Callable[[str], bool]:
    """Return the function that compares values with a number or a date, as `bound` is."""
    number, days = _number(bound), _days(bound)
    if number is None and days is None:
        raise UsageError(
            f"{brief(bound)!r} is neither a number nor a date",
            hint="Compare with one, as in price:>200 or due:<2026-12-01.",
        )
    compare = _COMPARE[sign]

    def holds(value: str) -> bool:
        if days and (day := _day(value)):
            # Before a month is before its first day, up to it is up to its last.
            return compare(day, days.first if sign in ("<", ">=", "≥") else days.last)
        amount = _number(value)
        return number is not None and amount is not None and compare(amount, number)

    return holds


def _number(text: str) -> float | None:
    found = _NUMBER.fullmatch(name_key(text))
    return float(found[1].replace(",", "")) if found else None


def _day(value: str) -> date | None:
    """Return the day that a value is, with or without a time."""
    written = _DAY.fullmatch(name_key(value))
    days = _days(written[1]) if written else None
    return days.first if days else None


def _days(text: str) -> DateRange | None:
    try:
        return parse_date_range(text, date.today())
    except UsageError:
        return None
