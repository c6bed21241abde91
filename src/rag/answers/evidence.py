"""What a source can support: its words, its numbers, its wording."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from rag.answers.language import tongue
from rag.text.ngrams import is_seam
from rag.text.stopwords import STOP_TERMS
from rag.text.tokenizer import TOKEN, cleaned, stem
from rag.vault.markdown import plain

# A sentence is borne out when its source holds this share of the words it says something with.
# Models rephrase, so it is far from all of them; a sentence about something else has fewer.
MIN_SHARE = 0.4
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|\d+")
_SMALL = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_WORDS = {word: number for number, word in enumerate(_SMALL.split())}
_WORDS |= {word: number for number, word in enumerate(_MONTHS.split(), 1)}
_WORDS |= {"once": 1, "first": 1, "second": 2, "twice": 2, "third": 3, "hundred": 100}
_TENS_AT = {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_MONTH = re.compile(rf"\b({_MONTHS.replace(' ', '|')})[a-z]*")
_KANJI_DIGITS = {char: number for number, char in enumerate("〇一二三四五六七八九")}
_KANJI_POWERS = {"十": 10, "百": 100, "千": 1000}
_KANJI_NUMBER = re.compile("[〇一二三四五六七八九十百千]+")


def claims(text: str) -> frozenset[str]:
    """Return the terms with which a text says something: stems of words, and in scripts without
    spaces pairs of characters of one script.

    Hiragana, which are endings and particles, count only where there is nothing else.
    """
    found, endings = set(), set()
    for run, word in TOKEN.findall(cleaned(text)):
        if word:
            term = stem(word)
            if term not in STOP_TERMS and not word.isdigit():
                found.add(term)
            continue
        endings |= _pairs(run)
        for part in _HIRAGANA.split(run):
            found |= {pair for pair in _pairs(part) if not is_seam(pair)}
    return frozenset(found or endings)


def _pairs(run: str) -> set[str]:
    return {run[at : at + 2] for at in range(len(run) - 1)} if len(run) > 1 else {run} - {""}


def numbers(text: str) -> frozenset[int]:
    """Return the numbers that are written in digits."""
    found = _NUMBER.findall(cleaned(text))
    return frozenset(int(number.replace(",", "")[:18]) for number in found)


def claimed_numbers(text: str) -> frozenset[int]:
    """Return the numbers that a source must support: all in digits, and those in words from
    three on; "one" and 一つ are seldom a count."""
    words = numbers_in_words(text)
    parts = {part for n in words if n > 20 and n % 10 for part in (n % 10, n - n % 10)}
    return numbers(text) | frozenset(n for n in words - parts if n > 2)


def numbers_in_words(text: str) -> frozenset[int]:
    """Return the numbers that are written in words: English up to hundred, months, Japanese."""
    text = cleaned(text)
    words = re.findall(r"[a-z]+", text)
    found = {_WORDS[word] for word in words if word in _WORDS}
    found |= {_WORDS[month] for month in _MONTH.findall(text)}
    for at, word in enumerate(words):
        if word in _TENS_AT:
            unit = _WORDS.get(words[at + 1], 0) if at + 1 < len(words) else 0
            found |= {_TENS_AT[word], _TENS_AT[word] + (unit if unit < 10 else 0)}
    return frozenset(found | {_kanji_number(run) for run in _KANJI_NUMBER.findall(text)})


def _kanji_number(run: str) -> int:
    """`九十` is 90, `二〇二五` is 2025."""
    if not set(run) & set(_KANJI_POWERS):
        return int("".join(str(_KANJI_DIGITS[char]) for char in run[:18]))
    total, digit = 0, 0
    for char in run:
        if char in _KANJI_DIGITS:
            digit = _KANJI_DIGITS[char]
        else:
            total, digit = total + (digit or 1) * _KANJI_POWERS[char], 0
    return total + digit


def fold(text: str) -> str:
    """Return the words of a text, parted by spaces, so that one wording can be found in another.

    Case, width, white space, punctuation and Markdown's marks make no difference; the characters
    of scripts without spaces are words of their own.
    """
    words: list[str] = []
    for run, word in TOKEN.findall(cleaned(plain(text))):
        words += [word] if word else run
    return f" {' '.join(words)} "


@dataclass(frozen=True)
class Evidence:
    """One source, as far as a model was shown it; prompt injections are not in it."""

    text: str

    @cached_property
    def terms(self) -> frozenset[str]:
        """What it speaks of."""
        return claims(self.text)

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The numbers in it, in digits and in words."""
        return numbers(self.text) | numbers_in_words(self.text)

    @cached_property
    def folded(self) -> str:
        """Its wording."""
        return fold(self.text)

    @cached_property
    def tongues(self) -> frozenset[str]:
        """The languages that a good part of it is written in."""
        sizes: Counter[str] = Counter()
        for line in self.text.split("\n"):
            sizes[tongue(line)] += len(line)
        del sizes[""]
        return frozenset(name for name in sizes if sizes[name] >= 0.3 * sizes.total())

    def says(self, quotation: str) -> bool:
        """Return whether it holds a quotation word for word; `…` may stand for left out words."""
        parts = [fold(part) for part in re.split(r"\[?(?:…|\.{3,})\]?", quotation)]
        at = 0
        for part in filter(str.strip, parts):
            at = self.folded.find(part, at)
            if at < 0:
                return False
            at += len(part) - 1
        return True


def share(terms: frozenset[str], among: frozenset[str]) -> float:
    """Return which part of some terms is among others; 0 when there are none."""
    return len(terms & among) / len(terms) if terms else 0.0
