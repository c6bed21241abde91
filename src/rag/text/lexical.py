"""BM25 as sparse vectors: what a text weighs in the lexical index, and what a query asks of it.

The score of a document d for a query q is the dot product of two sparse vectors,

    score(q, d) = Σ_f w_f Σ_t  qtf(t) · idf(t) · tf(t, d)·(k1 + 1) / (tf(t, d) + K(d))
    K(d)        = k1 · (1 - b + b · length(d) / average length)

(Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, eq. 3.15). The document
vector holds the term-frequency part, the query vector the field weight w_f and qtf, and the
store multiplies by idf from its own counts, so no vector changes when another note does.

Several fields share one space of 2^32 dimensions: the upper bits name the field, the lower
ones hash the term.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain, pairwise
from zlib import crc32

from rag.text.stopwords import JAPANESE_QUESTION, STOP_TERMS
from rag.text.tokens import run_grams, split, stem

K1 = 0.5
B = 0.8
# The average length is a constant: were it counted, adding one note would change every
# vector. A length is in words; a gram of an unsegmented script counts as a sixth, since a
# Japanese paragraph of the length of an English one of 100 words gives about 600 grams.
AVERAGE_WORDS = 100.0
_WORDS_PER_GRAM = 1 / 6

_HASH_BITS = 29
_HASH_MASK = (1 << _HASH_BITS) - 1
_SHINGLES = 1 << _HASH_BITS  # words have the upper bits 0
_MIX = 0x9E3779B1  # a shingle's hash must tell "a b" from "b a"
_MAX_CACHED = 1 << 18
WORD_WEIGHT = 1.0
SHINGLE_WEIGHT = 0.15

# Part of the index's fingerprint: raise it whenever the same text would give other vectors.
LEXICAL_VERSION = 1


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Parallel lists: `indices` are distinct dimensions below 2^32, `values` their weights."""

    indices: list[int]
    values: list[float]


class _Dimensions(dict[str, int]):
    """Word -> dimension, filled on demand; forgets everything when it grows too large."""

    def __missing__(self, term: str) -> int:
        if len(self) >= _MAX_CACHED:
            self.clear()
        dimension = crc32(term.encode("utf-8", "surrogatepass")) & _HASH_MASK
        self[term] = dimension
        return dimension


_word_dimension = _Dimensions().__getitem__


def _count(text: str) -> tuple[Counter[str], Counter[int], float]:
    """Count the words of `text` and its shingles (pairs of neighbouring words).

    :returns: words, shingles (as dimensions), and the length in words.
    """
    words: list[str] = []
    grams: list[str] = []
    latin: list[int | None] = []
    for run, word in split(text):
        if run:
            grams += run_grams(run)
            latin.append(None)
        else:
            words.append(stem(word))
            latin.append(_word_dimension(words[-1]))
    length = len(words) + len(grams) * _WORDS_PER_GRAM
    shingles = [
        _SHINGLES | (a * _MIX ^ b) & _HASH_MASK
        for a, b in pairwise(latin)
        if a is not None and b is not None
    ]
    return Counter(words + grams), Counter(shingles), length


def encode_document(text: str) -> SparseVector:
    """Return the document side of BM25 for `text`, its title and headings included."""
    words, shingles, length = _count(text)
    k = K1 * (1 - B + B * length / AVERAGE_WORDS)
    gain = K1 + 1.0
    indices = [*map(_word_dimension, words), *shingles]
    values = [tf * gain / (tf + k) for tf in chain(words.values(), shingles.values())]
    if len(set(indices)) < len(indices):
        # Two terms share a hash, which is rare; the store demands distinct dimensions.
        weights = dict(zip(indices, values, strict=True))
        return SparseVector(list(weights), list(weights.values()))
    return SparseVector(indices, values)


def content_terms(query: str) -> Counter[str]:
    """Return the index terms of `query` that name its subject, with their counts.

    Question words are left out unless nothing else remains.
    """
    words, _, _ = _count(JAPANESE_QUESTION.sub(" ", query))
    content = Counter({term: n for term, n in words.items() if term not in STOP_TERMS})
    return content or _count(query)[0]


def encode_query(query: str) -> SparseVector:
    """Return the query side of BM25; empty when `query` holds no word at all."""
    words = content_terms(query)
    _, shingles, _ = _count(query)
    weights = {_word_dimension(term): WORD_WEIGHT * n for term, n in words.items()}
    weights |= {dimension: SHINGLE_WEIGHT * n for dimension, n in shingles.items()}
    return SparseVector(list(weights), list(weights.values()))


def bounded_score(score: float, query: str) -> float:
    """Map a BM25 score into [0, 1), rising with it: s / (s + 3·|q|).

    |q| is the number of content terms of the query, so that .5 means: as if each of them
    were matched by a term found in one text of twenty (idf = ln 20 = 3). It makes results of
    one query comparable with those of another, roughly; the order is BM25's.
    """
    size = sum(content_terms(query).values())
    if not (size and score > 0 and math.isfinite(score)):
        return 0.0
    return score / (score + 3.0 * size)
