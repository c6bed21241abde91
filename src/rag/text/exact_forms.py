"""What only a text tells of a query, and not the index: its very words, and which of them stand
side by side.

A form is a word as it was typed (`geared`, not "gear"), or an identifier with marks inside
(`2.3.1`, `snake_case`, `example.com`). Case, width and accents do not matter.

A pair is two words, or two characters of different scripts. The index holds none: there are more
of them than of all other terms together. They are looked for in the texts of the chunks that words
and grams rank best, and weigh there as a term of BM25 does (`rag.text.bm25`). How rare a pair is
nobody counts: it is taken to be as rare as its two words together, up to a limit
(`RankingWeights.rarest_pair`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rag.text.bm25 import (
    BREAK,
    CHARACTERS_PER_WORD,
    GRAMS,
    KATAKANA_WORD,
    asked_characters,
    content_words,
    pieces,
    saturated,
    word_dimension,
)
from rag.text.ngrams import RUN, hash_gram, weigh_grams
from rag.text.scripts import HAN, HANGUL, HIRAGANA, KATAKANA
from rag.text.tokenizer import cleaned, fold_accents, normalize, stem

_IDENTIFIER = re.compile(r"(?<![^\s(\[{\"'`])[^\W_]\w*(?:[.\-_/:@+#~]+\w+)+(?![^\s)\]}\"'`,;.:!?])")
_WORD = re.compile(r"[^\W_]+")
_MOST_OF = 0.5  # of the pairs of characters of a loan word: one kana more or less leaves as many
_ONE_SCRIPT = re.compile(f"[{HANGUL}]+|[{HAN}]+|[{KATAKANA}]+")
_HAN_WORD = re.compile(f"[{HAN}]+")
_HANGUL_WORD = re.compile(f"[{HANGUL}]{{2,}}")
# What one form of a letter may be written as besides: only such texts are folded.
_FOLDED = re.compile("[\u00ad\u00c0-\u024f\u0451\u200b-\u200d\uff10-\uff5a\uff66-\uff9f]")
_TABLE = {code: fold_accents(normalize(chr(code))) for code in (*range(0xC0, 0x250), 0x451)}


class Place(IntEnum):
    """Where a text holds a form: nowhere, below its names, or in its title, headings, aliases."""

    NOWHERE = 0
    BODY = 1
    NAMES = 2


@dataclass(frozen=True)
class Form:
    """A form that a query asks for.

    :ivar text: as it is looked for, in lower case and without accents.
    :ivar is_identifier: whether it has marks inside; else it is a word.
    :ivar dimensions: of the lexical index, those that whatever holds the form has.
    :ivar alone: whether it is all that the query asks for.
    :ivar search: finds it in a text that holds its letters.
    """

    text: str
    is_identifier: bool
    dimensions: tuple[int, ...]
    alone: bool
    search: Callable[[str], re.Match[str] | None]

    def is_in(self, text: str) -> bool:
        """Return whether a text in lower case holds the form."""
        return self.text in text and self.search(text) is not None


class SearchedText(NamedTuple):
    """A text in which forms are looked for: its names, and what stands below them, `folded`."""

    names: str
    body: str

    def place(self, form: Form) -> Place:
        """Return where the text holds a form; of two places the better."""
        if form.is_in(self.names):
            return Place.NAMES
        return Place.BODY if form.is_in(self.body) else Place.NOWHERE


def folded(text: str) -> str:
    """Return a text in lower case, with the letters that are looked for where it has others."""
    text = text.lower()
    if text.isascii() or not _FOLDED.search(text):
        return text
    return normalize(text).translate(_TABLE)


@lru_cache(8)
def asked_forms(query: str) -> tuple[Form, ...]:
    """Return the forms that a query asks for, each once.

    They are its spaced words, question words aside, its words of Hangul, and its identifiers; and a
    query of ideographs or katakana alone, which may be one word.
    """
    text = fold_accents(cleaned(query))
    alone = len(text.split()) == 1
    identifiers = dict.fromkeys(_IDENTIFIER.findall(text))
    words = dict.fromkeys(fold_accents(word) for word in content_words(query))
    forms = [_identifier(word, alone) for word in identifiers]
    sole = alone and not forms and len(words) == 1 and not RUN.search(text)
    forms += [_word(word, sole) for word in words if len(word) > 1 or not word.isalnum()]
    runs = dict.fromkeys(_HANGUL_WORD.findall(text))
    if alone and len(text) > 1 and _ONE_SCRIPT.fullmatch(text):
        runs[text] = None
    forms += [_run(run, alone and run == text) for run in runs]
    return tuple(forms)


def _word(text: str, alone: bool) -> Form:
    # Between what are no letters. That the pattern begins with the word lets `re` look for that.
    word = re.escape(text)
    pattern = re.compile(rf"{word}(?<![^\W_]{word})(?![^\W_])")
    return Form(text, False, (word_dimension(stem(text)),), alone, pattern.search)


def _identifier(text: str, alone: bool) -> Form:
    # 2.3.1 is not in 2.3.10 or 12.3.1, nor in 2.3.1.4; it may end a sentence.
    pattern = rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)"
    dimensions = tuple(word_dimension(stem(word)) for word in _WORD.findall(text))
    return Form(text, True, dimensions, alone, re.compile(pattern).search)


def _run(text: str, alone: bool) -> Form:
    script = next(s for s in (HANGUL, HAN, KATAKANA) if re.match(f"[{s}]", text))
    pattern = re.compile(f"(?<![{script}]){re.escape(text)}(?![{script}])")
    rare = [gram for gram in weigh_grams(text) if len(gram.text) > 1]
    dimensions = tuple(GRAMS | hash_gram(gram.text) for gram in rare)
    return Form(text, False, dimensions, alone, pattern.search)


def holds_runs(query: str) -> Callable[[str], bool] | None:
    """Return what tells whether a text holds some of a query's unsegmented runs, as it must to be
    about it: two ideographs (with kana between them perhaps), most of a loan word, the head of a
    Korean word; `None` for a query without any.

    Single characters and pieces of words stand in texts on other things: 相 and 撲 are in many that
    have no 相撲.
    """
    query = normalize(query)
    parts = [word[:2] for word in _HANGUL_WORD.findall(query)]
    for word in _HAN_WORD.findall(query):
        parts += [f"{a}[{HIRAGANA}]{{0,2}}{b}" for a, b in pairwise(word)] or [word]
    loans = [{*pairwise(loan)} for loan in KATAKANA_WORD.findall(query)]
    search = re.compile("|".join(parts)).search if parts else None

    def holds(text: str) -> bool:
        text = normalize(text)
        if search and search(text):
            return True
        words = KATAKANA_WORD.findall(text) if loans else ()
        sets = ((pairs, {*pairwise(word)}) for word in words for pairs in loans)
        return any(len(pairs & own) > _MOST_OF * len(pairs) for pairs, own in sets)

    return holds if parts or loans else None


class Pair(NamedTuple):
    """Two neighbours in a query.

    :ivar text: as a reader knows them.
    :ivar words: the stems of two words; none of two characters.
    :ivar times: how often the query has them.
    """

    text: str
    words: tuple[str, ...]
    times: int


@lru_cache(8)  # the texts of all results are looked at for one query
def asked_pairs(query: str) -> tuple[Pair, ...]:
    """Return the neighbours in a query, each once: words that no unsegmented script parts, words
    that only ask among them; and characters of two scripts that the index has no gram of, outside
    of what only asks."""
    words, unsegmented = pieces(cleaned(query))
    neighbours = [(a, b) for a, b in pairwise(words) if BREAK not in (a, b)]
    counts = Counter((stem(a), stem(b)) for a, b in neighbours)
    written = {(stem(a), stem(b)): f"{a} {b}" for a, b in reversed(neighbours)}
    pairs = [Pair(written[stems], stems, times) for stems, times in counts.items()]
    seams = Counter(seam for run in RUN.findall(unsegmented) for seam in _seams(run))
    return (*pairs, *(Pair(text, (), times) for text, times in seams.items()))


def _seams(run: str) -> list[str]:
    """Return the neighbours of a run that are no gram of the index."""
    asks = asked_characters(run)
    pairs = {gram.start for gram in weigh_grams(run) if len(gram.text) == 2}
    starts = (at for at in range(len(run) - 1) if not (asks[at] or asks[at + 1]))
    return [run[at : at + 2] for at in starts if at not in pairs]


def weigh_pairs(text: str, pairs: Sequence[Pair]) -> dict[Pair, float]:
    """Return, for each pair that a text holds, the term-frequency part of BM25, by a length that is
    about right.

    :param text: what a chunk is found by (`lexical_parts`).
    """
    text = cleaned(text)
    neighbours: Counter[tuple[str, ...]] = Counter()
    if any(pair.words for pair in pairs):
        neighbours.update(pairwise(map(stem, pieces(text)[0])))
    times = {p: neighbours[p.words] if p.words else text.count(p.text) for p in pairs}
    if not any(times.values()):
        return {}
    length = len(text.split()) + sum(map(len, RUN.findall(text))) / CHARACTERS_PER_WORD
    return {pair: saturated(count, length) for pair, count in times.items() if count}
