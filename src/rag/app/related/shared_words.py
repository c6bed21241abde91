"""The words that two related notes share, as a reason for a reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rag.app.related.words import Weighty
from rag.index.searchable_text import lexical_parts
from rag.text.matches import find_matches, weigh_terms
from rag.text.scripts import HAN, KATAKANA
from rag.text.tokenizer import stem

if TYPE_CHECKING:
    from haystack import Document

_NAMED = 5
# The inverse document frequency from which a word is a reason, that of a twentieth of the chunks;
# in a small index, how much less it may be than that of the note's rarest word. "off" and "time"
# tell nothing by themselves.
_TELLING, _LESS = 3.0, 2.0
_UNSEGMENTED = re.compile(f"[{HAN}{KATAKANA}]")
# One letter, a number, and what addresses and hashes are made of.
_NO_WORD = re.compile(r"\w|\d+|(?=(?:.*\d){3}).+|.{25,}")
_PARTICLES = "のをはがにでともへや"
_KATAKANA = re.compile(f"[{KATAKANA}]")
_FIRST_KATAKANA, _LAST_KATAKANA = re.compile(f"^[{KATAKANA}]+"), re.compile(f"[{KATAKANA}]+$")


class SharedWords:
    """Tells which of a note's weightiest words others have.

    :param rarity: the inverse document frequency of a dimension of the lexical index.
    :param own: the note's chunks.
    """

    def __init__(
        self, words: Weighty, rarity: Callable[[int], float], own: Sequence[Document]
    ) -> None:
        rarest = max(map(rarity, words.dimensions), default=0.0)
        least = min(_TELLING, rarest - _LESS)
        self._query = words.text
        self._weights = weigh_terms(
            words.text, lambda one: rarity(one) if rarity(one) >= least else 0.0
        )
        self._written = "\n".join(map(_text, own))

    def among(self, chunks: Sequence[Document]) -> list[str]:
        """Return the weightiest that stand in some chunks, as they are written there, each in one
        form."""
        best: dict[str, tuple[float, str]] = {}
        for chunk in chunks:
            for common, worth, word in self._found(_text(chunk)):
                best[common] = max((worth, word), best.get(common, (0.0, "")))
        named: list[str] = []
        for worth, word in sorted(best.values(), key=lambda one: (-one[0], one[1])):
            if worth > 0 and not any(_is_part(word, other) for other in named):
                named.append(word)
        return named[:_NAMED]

    def _found(self, text: str) -> Iterator[tuple[str, float, str]]:
        """Yield what the forms of a word have in common, its worth, and the word."""
        begin = end = -1
        worth = 0.0
        for match in [*find_matches(text, self._query), None]:
            if match and match.start < end:  # two characters each of a longer word
                end, worth = match.end, worth + self._weights.get(match.term, 0.0)
                continue
            word = _whole(text, begin, end, self._written) if worth else ""
            if word:
                yield (stem(word) if word.isascii() else word), worth, word
            if match:
                begin, end, worth = match.start, match.end, self._weights.get(match.term, 0.0)


def _is_part(word: str, other: str) -> bool:
    """Return whether one of two words in scripts without spaces is part of the other."""
    return not word.isascii() and (word in other or other in word)


def _whole(text: str, begin: int, end: int, written: str) -> str:
    """Return a part of a text in lower case; of a run of kanji and katakana, as much around it as
    both texts have, without particles and pieces of words in katakana."""
    if not _UNSEGMENTED.match(text, begin):
        word = text[begin:end].lower()
        return "" if _NO_WORD.fullmatch(word) else word
    while begin and _UNSEGMENTED.match(text, begin - 1) and text[begin - 1 : end] in written:
        begin -= 1
    while _UNSEGMENTED.match(text, end) and text[begin : end + 1] in written:
        end += 1
    word = text[begin:end]
    if begin and _KATAKANA.match(text, begin - 1):
        word = _FIRST_KATAKANA.sub("", word)
    if _KATAKANA.match(text, end):
        word = _LAST_KATAKANA.sub("", word)
    return word.strip(_PARTICLES)


def _text(chunk: Document) -> str:
    return lexical_parts(chunk.meta, chunk.content)[-1]
