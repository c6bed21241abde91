"""The English names of months, whole or in three letters."""

from __future__ import annotations

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
# A pattern of them all, of a text in normal form; a letter may not follow.
MONTH = rf"(?:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)}|sept)(?![a-z])"


def month_number(name: str) -> int:
    """Return the number, from 1, of a month by its name, or the first three letters of it.

    >>> month_number("sept"), month_number("May")
    (9, 5)
    """
    return [month[:3] for month in MONTHS].index(name[:3].lower()) + 1
