"""Words and runs: how text is cut in any language, without an analyser.

Scripts that put spaces between words give words: lower case, accents folded, English and Russian
endings stemmed. An emoji is a word. Scripts that do not (Japanese, Chinese, Thai, …) give runs;
what compares texts as they stand (quotations, highlighting, near-duplicates) sees every character
of a run and every pair of neighbours, while the index weighs them by script (`rag.text.ngrams`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import add
from typing import NamedTuple

import Stemmer

from rag.text.ngrams import UNSEGMENTED
from rag.text.normalize import fold_accents, normalize

# Marks that belong to the letter before them but are no letters to `re`: combining
# accents, Hebrew and Arabic points, and the vowel signs of the Indic scripts.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u096f\u0971-\u0dff"
# Pictures, without the marks of skin colour that may follow one.
EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f1e6-\U0001f1ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_RUN = f"[{UNSEGMENTED}]+"
_WORD = f"(?:(?![{UNSEGMENTED}])[^\\W_]|[{_MARKS}])+"
# C++, C# and F# are words to those who write them, with a version after them too.
_SYMBOL_WORD = rf"(?:(?<!\w)|(?<=[{UNSEGMENTED}]))[a-z](?:\+\+|#)(?=[{UNSEGMENTED}]|(?![^\W\d]))"
TOKEN = re.compile(f"({_RUN})|({_SYMBOL_WORD}|{_WORD}|[{EMOJI}])")
# The words of text without unsegmented scripts, and of ASCII text: several times as fast.
SPACED_WORD = f"{_SYMBOL_WORD}|(?:[^\\W_]|[{_MARKS}])+|[{EMOJI}]"
ASCII_WORD = r"\b[a-z](?:\+\+|#)(?![a-z_])|[a-z0-9]+"
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b")

MAX_WORD = 64  # longer "words" are base64, hashes and rulers; their head identifies them
_MAX_CACHED = 1 << 18
_stem_english = Stemmer.Stemmer("english", 0).stemWord
_stem_russian = Stemmer.Stemmer("russian", 0).stemWord
_CYRILLIC = ("\u0400", "\u0530")


class _Stems(dict[str, str]):
    """Word -> index term, filled on demand; forgets everything when it grows too large."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_CACHED:
            self.clear()
        self[word] = stem = stem_letters(fold_accents(word[:MAX_WORD]))
        return stem


def stem_letters(letters: str) -> str:
    """Return the index term of a word without accents, cut to `MAX_WORD`."""
    first, last = _CYRILLIC
    stem: str = (_stem_russian if first <= letters < last else _stem_english)(letters)
    return stem


_stems = _Stems()


def stem(word: str) -> str:
    """Return the index term of one normalised word."""
    return _stems[word]


def cleaned(text: str) -> str:
    """Return `text` in its normal form, without possessive endings."""
    text = normalize(text)
    return _POSSESSIVE.sub("", text) if "'" in text or "\u2019" in text else text


class Token(NamedTuple):
    """A piece of normalised text: a stemmed word, or a run of an unsegmented script."""

    text: str
    is_run: bool


def tokens(text: str) -> Iterator[Token]:
    """Yield the words (stemmed) and the unsegmented runs of `text`, in order."""
    for run, word in TOKEN.findall(cleaned(text)):
        yield Token(run, True) if run else Token(_stems[word], False)


def run_grams(run: str) -> list[str]:
    """Return every character of `run` and every pair of neighbours."""
    return [*run, *map(add, run, run[1:])]


def terms(text: str) -> list[str]:
    """Return the index terms of `text`: stemmed words, and 1- and 2-grams of runs."""
    found: list[str] = []
    for token in tokens(text):
        if token.is_run:
            found += run_grams(token.text)
        else:
            found.append(token.text)
    return found


def has_words(text: str) -> bool:
    """Return whether there is anything in `text` that an index could hold."""
    return TOKEN.search(cleaned(text)) is not None
