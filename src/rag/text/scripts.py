"""Which script a text is written in."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

_LATIN = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_MOSTLY = 0.8
_KANA = re.compile("[\u3041-\u30fa\u30fd-\u30ff\uff66-\uff9f]")
_JAPANESE = ("HIRAGANA", "KATAKANA", "CJK")


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


def has_kana(text: str) -> bool:
    """Tell whether a text holds hiragana or katakana."""
    return _KANA.search(text) is not None


def is_japanese(text: str) -> bool:
    """Tell whether a question wants a Japanese answer: it has kana, or mostly Chinese characters.

    >>> is_japanese("Podとは何ですか？"), is_japanese("証明書更新 TLS"), is_japanese("a 木 tree")
    (True, True, False)
    """
    return has_kana(text) or main_script(text) == "ja"


def main_script(text: str) -> str:
    """Return the script of most letters (`latin`, `cyrillic`, …), `ja` for those of Japanese.

    A character that stands for a syllable or a word counts twice.
    """
    counts: Counter[str] = Counter()
    for char in text:
        if char.isalpha():
            counts[_script_of(char)] += 2 if char > "\u2e80" else 1
    return counts.most_common(1)[0][0] if counts else ""


@cache
def _script_of(char: str) -> str:
    name = unicodedata.name(char, "").partition(" ")[0].partition("-")[0]
    return "ja" if name in _JAPANESE else name.lower()
