"""Which script a text is written in."""

from __future__ import annotations

import re

_LATIN = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_MOSTLY = 0.8


def _letters(text: str) -> str:
    """Numbers in circles and the like, which regular expressions take for letters, are none."""
    return "".join(filter(str.isalpha, text))


def has_other_letters(text: str) -> bool:
    """Tell whether any letter of a text is not Latin."""
    letters = _letters(text)
    return len(_LATIN.findall(letters)) < len(letters)


def is_latin(text: str) -> bool:
    """Tell whether at least four of five letters of a text are Latin."""
    letters = _letters(text)
    return len(_LATIN.findall(letters)) >= _MOSTLY * len(letters)
