"""Which script a text is written in."""

from __future__ import annotations

import re

_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_MOSTLY = 0.8


def has_other_letters(text: str) -> bool:
    """Tell whether any letter of a text is not Latin."""
    return any(not _LATIN.match(letter) for letter in _LETTER.findall(text))


def is_latin(text: str) -> bool:
    """Tell whether at least four of five letters of a text are Latin."""
    letters = _LETTER.findall(text)
    return len(_LATIN.findall(text)) >= _MOSTLY * len(letters)
