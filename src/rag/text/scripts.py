"""Which script a text is written in."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

# Characters of a script, as a class of a regular expression has them.
HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HANGUL = "\uac00-\ud7a3"
HIRAGANA = "\u3041-\u3096"
KATAKANA = "\u30a1-\u30fa\u30fc"
_LATIN = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_MOSTLY = 0.8
_KANA = re.compile("[\u3041-\u30fa\u30fd-\u30ff\uff66-\uff9f]")
_JAPANESE = ("HIRAGANA", "KATAKANA", "CJK")
_HAN = re.compile(f"[{HAN}]")
_LATIN_WORD = re.compile(rf"{_LATIN.pattern}+")
# Words that a Latin name seldom holds and an English sentence or search often does.
_ENGLISH_WORDS = (
    "the of is are was were do does did what how who when where why which to for my our with and or"
    " not that this from about in note notes tag tags tagged vault vaults find show list search"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())


def _letters(text: str) -> str:
    """Numbers in circles and the like, which regular expressions take for letters, are none."""
    return "".join(filter(str.isalpha, text))


def is_latin(text: str, share: float = _MOSTLY) -> bool:
    """Return whether at least such a share of a text's letters is Latin, four of five if no other
    is named."""
    letters = _letters(text)
    return len(_LATIN.findall(letters)) >= share * len(letters)


def is_japanese(text: str) -> bool:
    """Return True if a question wants a Japanese answer.

    It has kana, mostly Chinese characters, or Chinese characters beside Latin names only.

    >>> is_japanese("Podとは何ですか？"), is_japanese("証明書更新 TLS"), is_japanese("a 木 tree")
    (True, True, False)
    >>> is_japanese("Kubernetes 更新手順"), is_japanese("what does 更新手順 mean")
    (True, False)
    """
    if _KANA.search(text) or main_script(text) == "ja":
        return True
    return _has_only_names_beside_han(text)


def _has_only_names_beside_han(text: str) -> bool:
    """Return True if a text has at least as many Chinese characters as Latin words, none of these
    is a common English word, and no other script is in it."""
    characters = len(_HAN.findall(text))
    words = [word.lower() for word in _LATIN_WORD.findall(text)]
    letters = len(_letters(text))
    only = characters + sum(map(len, words)) == letters
    return bool(characters) and only and characters >= len(words) and not _ENGLISH & {*words}


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
