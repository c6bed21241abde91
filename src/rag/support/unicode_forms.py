"""Unicode's normal forms, of any text at a cost that is linear in it."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

# Unicode's Stream-Safe Text Format (UAX #15) allows as many marks on one letter; no language
# needs more than a few. Sorting the marks of a longer run takes the square of its length.
_MOST_MARKS = 30
# No mark is part of a word to `re`, but for two whose compatible forms are marks.
_HALF_WIDTH_MARKS = "\uff9e\uff9f"
_LONG_RUN = re.compile(rf"[\W{_HALF_WIDTH_MARKS}]{{{_MOST_MARKS + 1},}}")


def compose(text: str, form: Literal["NFC", "NFKC", "NFD"] = "NFC") -> str:
    """Return a text in one of Unicode's normal forms, without the marks on a letter past the
    30th."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, with_few_marks(text))


def nfc(name: str) -> str:
    """Return a name in NFC, with all its marks: another name is another file."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def with_few_marks(text: str) -> str:
    """Return a text without the marks on a letter past the 30th."""
    return _LONG_RUN.sub(_without_excess, text)


def _without_excess(match: re.Match[str]) -> str:
    run = match[0]
    if run.isascii():
        return run
    kept: list[str] = []
    marks = 0
    for char in run:
        is_mark = unicodedata.combining(char) or char in _HALF_WIDTH_MARKS or char in _DOUBLE
        marks = marks + 1 if is_mark else 0
        if marks <= _MOST_MARKS:
            kept.append(char)
    return "".join(kept)


# Vowel signs that are none themselves and come apart into two.
_DOUBLE = "\u0f73\u0f75\u0f81"
