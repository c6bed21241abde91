"""What stands side by side in a query and in a text: two words, or two characters of different
scripts.

The index holds no such pairs: there are more of them than of all other terms together, and none
finds a text by itself. They are looked for in the texts of the chunks that words and grams rank
best, and weigh there as a term of BM25 does (`rag.text.bm25`). How rare a pair is nobody counts: it
is taken to be as rare as its two words together, up to a limit (`RankingWeights.rarest_pair`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rag.text.bm25 import (
    BREAK,
    CHARACTERS_PER_WORD,
    asked_characters,
    pieces,
    saturated,
    word_dimension,
)
from rag.text.ngrams import RUN, weigh_grams
from rag.text.tokenizer import TOKEN, cleaned, stem

# Letters that a stem may be without, for one that a text has: Latin, Greek, Cyrillic and on.
_ACCENTED = re.compile("[\u00aa-\u1fff]")


class Pair(NamedTuple):
    """Two neighbours in a query.

    :ivar text: as a reader knows them.
    :ivar words: the stems of two words; none of two characters.
    :ivar times: how often the query has them.
    """

    text: str
    words: tuple[str, ...]
    times: int

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Those of the lexical index that its words have."""
        return tuple(map(word_dimension, self.words))


@lru_cache(8)  # the texts of all results are looked at for one query
def asked_pairs(query: str) -> tuple[Pair, ...]:
    """Return the neighbours in a query, each once: words that no unsegmented script parts, words
    that only ask among them; and characters of two scripts that the index has no gram of, outside
    of what only asks."""
    words, unsegmented = pieces(cleaned(query))
    written: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for first, second in pairwise(words):
        if BREAK not in (first, second):
            stems = stem(first), stem(second)
            written.setdefault(stems, f"{first} {second}")
            counts[stems] += 1
    found = [Pair(written[stems], stems, times) for stems, times in counts.items()]
    seams = Counter(seam for run in RUN.findall(unsegmented) for seam in _seams(run))
    return (*found, *(Pair(text, (), times) for text, times in seams.items()))


def _seams(run: str) -> list[str]:
    """Return the neighbours of a run that are no gram of the index."""
    asks = asked_characters(run)
    known = {gram.start for gram in weigh_grams(run) if len(gram.text) == 2}
    starts = (at for at in range(len(run) - 1) if not (asks[at] or asks[at + 1]))
    return [run[at : at + 2] for at in starts if at not in known]


def weigh_pairs(text: str, pairs: Sequence[Pair]) -> dict[Pair, float]:
    """Return, for each pair that a text holds, the term-frequency part of BM25, by a length that is
    about right.

    :param text: what a chunk is found by (`lexical_parts`).
    """
    text = cleaned(text)
    counts = {pair: _times(text, pair) for pair in pairs}
    held = {pair: times for pair, times in counts.items() if times}
    length = _length(text) if held else 0.0
    return {pair: saturated(times, length) for pair, times in held.items()}


def _times(text: str, pair: Pair) -> int:
    """Return how often a text has a pair."""
    if not pair.words:
        return text.count(pair.text)
    if not text.isascii() and _ACCENTED.search(text):
        words, _ = pieces(text)
        return sum(two == pair.words for two in pairwise(map(stem, words)))
    times, (first, second) = 0, map(_head, pair.words)
    at = text.find(first) if second in text else -1
    while at >= 0:
        times += not _is_inside(text, at) and _words_at(text, at) == pair.words
        at = text.find(first, at + 1)
    return times


def _head(stem: str) -> str:
    """Return what all words of a stem begin with that have no accents: the stem but for its last
    letter (studi of study), and of those in -ie only the first (die of dying)."""
    if stem.endswith("ie"):
        return stem[:1]
    return stem[:-1] if len(stem) > 2 else stem


def _is_inside(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return before.isalnum() and not RUN.match(before)


def _words_at(text: str, at: int) -> tuple[str, ...]:
    """Return the stems of the word that begins there and of the next, none where either is none."""
    first = TOKEN.match(text, at)
    if first is None or first[1]:
        return ()
    second = TOKEN.search(text, first.end())
    return () if second is None or second[1] else (stem(first[2]), stem(second[2]))


def _length(text: str) -> float:
    characters = 0 if text.isascii() else sum(map(len, RUN.findall(text)))
    return len(text.split()) + characters / CHARACTERS_PER_WORD
