"""One normal form for everything that is indexed, asked or compared."""

from __future__ import annotations

import re
import unicodedata

from rag.support.unicode_forms import compose

# Zero-width characters that editors leave behind; NFKC keeps them and they split words.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
# Some ligatures stand for whole words, two of Arabic for phrases of many letters; no text consists
# of them. What grows to more than so many times its length, and some characters more, is cut.
_PHRASES = "\ufdfa\ufdfb"
_LONGEST_PHRASE = 18
_MOST_GROWTH = 2
_GRACE = 200
# Letters that are written in two ways, and have no marks that could be taken off: Swiss German has
# no ß, Russian mostly leaves the dots of ё out.
_OTHER_SPELLINGS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ё": "е"}
)
_LAST_LATIN = "\u024f"
# A letter with what may be a mark of it.
_MARKED_LATIN = re.compile(f"[\0-{_LAST_LATIN}](?![\0-\u02ff])\\W")
_ASCII_AND_ACCENTS = re.compile("[\0-\x7f][\0-\x7f\u0300-\u034e\u0350-\u036f]*")


def normalize(text: str) -> str:
    """Return `text` in NFKC and lower case, without zero-width characters.

    Full-width `ＰＤＦ` and half-width `ﾌﾟﾗｸﾞｲﾝ` become what a reader takes them for.
    """
    if text.isascii():
        return text.lower()
    longest = _MOST_GROWTH * len(text) + _GRACE
    text = _INVISIBLE.sub("", text)
    if _LONGEST_PHRASE * sum(map(text.count, _PHRASES)) > longest:
        text = text.translate(dict.fromkeys(map(ord, _PHRASES), " "))
    lower = compose(text, "NFKC")[:longest].lower()
    # A few letters have a composed form in lower case only (T̈ stays two characters, ẗ does not).
    return unicodedata.normalize("NFC", lower)


def name_key(name: str) -> str:
    """Return what two spellings of a note's name have in common."""
    return " ".join(normalize(name).split())


def fold_accents(word: str) -> str:
    """Drop the accents of Latin letters (`café` -> `cafe`); other scripts stay as they are.

    An accent on a Cyrillic or Devanagari letter makes another letter, so only a mark that
    follows a Latin base letter is dropped; of `ё` the dots are, since few write them. `ß` becomes
    `ss`, and so with a few more that stand for two letters or for a crossed one.
    """
    if word.isascii():
        return word
    apart = compose(word.translate(_OTHER_SPELLINGS), "NFD")
    if _ASCII_AND_ACCENTS.fullmatch(apart):  # nearly every word
        return apart.encode("ascii", "ignore").decode("ascii")
    is_marked = _MARKED_LATIN.search(apart)
    return unicodedata.normalize("NFC", _without_marks(apart) if is_marked else apart)


def _without_marks(apart: str) -> str:
    """Drop every mark of a Latin letter from a text in NFD."""
    kept: list[str] = []
    latin = False
    for char in apart:
        if unicodedata.combining(char):
            if latin:
                continue
        else:
            latin = char <= _LAST_LATIN
        kept.append(char)
    return "".join(kept)
