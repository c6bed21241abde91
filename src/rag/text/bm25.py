"""BM25 as sparse vectors: what a text weighs in the lexical index, and what a query asks of it.

The score of a document d for a query q is the dot product of two sparse vectors,

    score(q, d) = Σ_t  weight(t) · qtf(t) · idf(t) · tf(t, d)·(k1 + 1) / (tf(t, d) + K(d))
    K(d)        = k1 · (1 - b + b · length(d) / average length)

(Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, eq. 3.15). The document
vector holds the term-frequency part, the query vector the weight and qtf, and a store multiplies
the query by idf from the counts of the whole index (`rag.index.frequencies`), so no vector changes
when another note does.

Five fields share one space of 2^32 dimensions: the upper three bits name the field, the lower
29 hash the term. `words` are stemmed, and runs of katakana are words; `grams` stand in for words
in scripts without spaces; `edges` are the first six letters of longer words, which join what the
stemmer keeps apart (administer, administration). `properties` are words of the front matter,
`addresses` those of what links lead to; neither is seen in the text, and both count less.

What stands side by side is not in the index: `rag.text.pairs` looks for it in the texts of the
best.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

from rag.text.ngrams import RUN, hash_gram, is_seam, weigh_grams
from rag.text.tokenizer import (
    ASCII_WORD,
    JAPANESE_QUESTION,
    MAX_WORD,
    SPACED_WORD,
    STOP_TERMS,
    cleaned,
    fold_accents,
    run_grams,
    stem,
    terms,
)

K1 = 0.5
B = 0.7
# The average length is a constant: were it counted, adding one note would change every
# vector. A length is in words; three characters of an unsegmented script count as one.
AVERAGE_WORDS = 120.0
CHARACTERS_PER_WORD = 3.0

BESIDE = ("properties", "addresses")
FIELDS = ("words", "grams", "edges", *BESIDE)
_ORDER = {field: at for at, field in enumerate(FIELDS)}
_HASH_MASK = (1 << 29) - 1
# Words have the upper bits 0.
EDGES, GRAMS, PROPERTIES, ADDRESSES = (field << 29 for field in (1, 2, 3, 4))
EDGE_LENGTH = 6

MOST_STATED = (
    8  # words of a query that may be what a field of front matter says; a question has more
)
MOST_TERMS = 1_024  # of a query; a page of text has as many

# Part of the index's fingerprint: raise it whenever the same text would give other vectors.
LEXICAL_VERSION = 8

BREAK = "\0"  # stands where an unsegmented run parted two words
_SPACED = re.compile(f"{SPACED_WORD}|{BREAK}")
_ASCII = re.compile(ASCII_WORD)
# Loan words are the only words of Japanese to be seen without a dictionary.
KATAKANA_WORD = re.compile("[\u30a1-\u30fa][\u30a1-\u30fa\u30fc]{2,}")


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Parallel lists: `indices` are distinct dimensions below 2^32, `values` their weights."""

    indices: list[int]
    values: list[float]


@dataclass(frozen=True)
class FieldWeights:
    """What a term of a query counts for.

    :param loans: a run of katakana as a word; its pairs of characters count too.
    :param grams: against what `rag.text.ngrams` says of each.
    :param beside: a word in the front matter or an address, or two characters, against a word.
    :param stated: two words side by side in one field of the front matter.
    :param guessed: a word that was not typed, against one that was.
    """

    words: float = 1.0
    loans: float = 0.5
    grams: float = 1.0
    edges: float = 0.1
    beside: float = 0.1
    stated: float = 1.0
    guessed: float = 0.8


class QueryTerm(NamedTuple):
    """One dimension of a query: its field, its text as a reader knows it, and its weight."""

    field: str
    text: str
    dimension: int
    weight: float


def pieces(text: str) -> tuple[list[str], str]:
    """Cut cleaned text into its spaced words and its unsegmented runs.

    :param text: from `cleaned`.
    :returns: the words in order, a `"\\0"` for each run between them; and the text again,
        empty when it holds no run.
    """
    if text.isascii():
        return _ASCII.findall(text), ""
    parted, runs = RUN.subn(BREAK, text.replace(BREAK, " "))
    return _SPACED.findall(parted), text if runs else ""


def saturated(tf: Any, length: Any) -> Any:
    """Return the term-frequency part of BM25, of numbers or of arrays of them.

    :param tf: how often a text has a term.
    :param length: of the text, in words.
    """
    return tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / AVERAGE_WORDS))


def word_dimension(word: str) -> int:
    """Return the dimension of an index term of `words`."""
    return crc32(word.encode("utf-8", "surrogatepass")) & _HASH_MASK


def edge(letters: str) -> str:
    """Return the first letters of a word without accents, none where it has no more than they."""
    return letters[:EDGE_LENGTH] if len(letters) > EDGE_LENGTH else ""


def edge_dimension(edge: str) -> int:
    """Return the dimension of the first letters of a word."""
    return EDGES | crc32(edge.encode("utf-8", "surrogatepass")) & _HASH_MASK


def beside_dimension(field: int, term: str) -> int:
    """Return the dimension of a term, as `tokens.terms` gives them, of what is beside the text.

    :param field: `PROPERTIES` or `ADDRESSES`.
    """
    return field | word_dimension(term)


def stated_dimension(first: str, second: str) -> int:
    """Return the dimension of two words side by side in a field of the front matter."""
    return beside_dimension(PROPERTIES, f"{stem(first)} {stem(second)}")


def content_terms(query: str) -> Counter[str]:
    """Return the terms of `query` (as `tokens.terms` gives them) that name its subject.

    Question words are left out unless nothing else remains.
    """
    everything = Counter(terms(query))
    content = Counter(everything)
    text = cleaned(query)
    for asked in JAPANESE_QUESTION.finditer(text):
        content.subtract(run_grams(asked[0]))
        if len(asked[0]) > 1:  # 庫と in 金庫とは何ですか is no word; 誰か is one
            seams = (text[max(at - 1, 0) : at + 1] for at in asked.span())
            content.subtract(pair for pair in seams if is_seam(pair))
    content = Counter({t: n for t, n in content.items() if n > 0 and t not in STOP_TERMS})
    return content or everything


def content_words(query: str) -> list[str]:
    """Return the spaced words of `query` that name its subject, in order, as they are written."""
    words, _ = pieces(cleaned(query))
    return [word for word in words if word != BREAK and stem(word) not in STOP_TERMS]


def query_terms(
    query: str, also: Iterable[str] = (), weights: FieldWeights | None = None
) -> Sequence[QueryTerm]:
    """Return what a query asks of the index, each dimension once; none when it holds no word.

    Of more than `MOST_TERMS` the heaviest are asked, and of equal ones the first.

    :param also: further words to look for, such as corrections: only they themselves, each once,
        and not where the query has them in any form. One that the query has is looked for in front
        matter and addresses, as if it stood in the text.
    :param weights: in the place of the usual ones.
    """
    return _query_terms(query, tuple(also), weights or FieldWeights())


def text_terms(query: str, weights: FieldWeights | None = None) -> list[QueryTerm]:
    """Return what a query asks of texts: `query_terms` without what is sought beside them."""
    return [term for term in query_terms(query, weights=weights) if term.field not in BESIDE]


def subject_terms(text: str) -> list[QueryTerm]:
    """Return the words and grams of a text that name its subject, as often as they stand there."""
    weights = FieldWeights()
    content = _content(text, weights, is_bare=True)
    content = content or _content(text, weights, asking=True, is_bare=True)
    return [QueryTerm(*term) for term in content]


@lru_cache(8)  # a search asks for them to open the index, to rank and to weigh what it found
def _query_terms(query: str, also: tuple[str, ...], weights: FieldWeights) -> tuple[QueryTerm, ...]:
    subject = _content(query, weights) or _content(query, weights, asking=True)
    typed = {dimension for _, _, dimension, _ in subject}
    guessed = {}
    for word in also:
        content = _content(word, weights, asking=True)
        is_typed = any(dimension in typed for field, _, dimension, _ in content if field == "words")
        for field, text, dimension, weight in content:
            if field == "words" and dimension not in typed:
                guessed[dimension] = (field, text, dimension, weight * weights.guessed)
            elif field in BESIDE and is_typed:
                guessed[dimension] = (field, text, dimension, weights.guessed)
    subject += guessed.values()
    words, _ = pieces(cleaned(query))
    pairs = [(a, b) for a, b in pairwise(words) if BREAK not in (a, b)]
    if len(pairs) < MOST_STATED:
        subject += [
            ("properties", f"{a} {b}", stated_dimension(a, b), weights.stated) for a, b in pairs
        ]
    first: dict[int, tuple[str, str]] = {}  # field and text of each dimension
    summed: dict[int, float] = {}
    for field, text, dimension, weight in subject:
        first.setdefault(dimension, (field, text))
        summed[dimension] = summed.get(dimension, 0.0) + weight
    kept = list(summed)
    if len(kept) > MOST_TERMS:
        kept = sorted(kept, key=lambda dimension: -summed[dimension])[:MOST_TERMS]
    kept.sort(key=lambda dimension: _ORDER[first[dimension][0]])
    return tuple(QueryTerm(*first[one], one, summed[one]) for one in kept)


def _stem_dimension(word: str) -> int:
    return word_dimension(stem(word))


def _content(
    text: str, weights: FieldWeights, asking: bool = False, is_bare: bool = False
) -> list[tuple[str, str, int, float]]:
    """Return field, text, dimension and weight of the words, grams and edges of a text, and of what
    is beside it.

    :param asking: with the words that only ask, too.
    :param is_bare: words and grams alone.
    """
    words, unsegmented = pieces(cleaned(text))
    found = []
    for word in words:
        term = stem(word)
        if word == BREAK or (term in STOP_TERMS and not asking):
            continue
        found.append(("words", word, word_dimension(term), weights.words))
        if is_bare:
            continue
        if first := edge(fold_accents(word[:MAX_WORD])):
            found.append(("edges", f"{first}…", edge_dimension(first), weights.edges))
        found.append(("addresses", word, beside_dimension(ADDRESSES, term), weights.beside))
        found.append(("properties", word, beside_dimension(PROPERTIES, term), weights.beside))
    loans = KATAKANA_WORD.findall(unsegmented)
    found += [("words", loan, _stem_dimension(loan), weights.loans) for loan in loans]
    for run in RUN.findall(unsegmented):
        asks = [0] * len(run) if asking else asked_characters(run)
        grams = [g for g in weigh_grams(run) if asks[g.start] < g.start + len(g.text)]
        found += [
            ("grams", gram.text, GRAMS | hash_gram(gram.text), gram.weight * weights.grams)
            for gram in grams
        ]
        found += [
            ("properties", g.text, beside_dimension(PROPERTIES, g.text), g.weight * weights.beside)
            for g in grams
            if len(g.text) == 2 and not is_bare
        ]
    return found


def asked_characters(run: str) -> list[int]:
    """Return, for each character of a run, where the words that only ask end that it is part of;
    0 for all others."""
    asks = [0] * len(run)
    for start, end in map(re.Match.span, JAPANESE_QUESTION.finditer(run)):
        asks[start:end] = [end] * (end - start)
    return asks


def encode_query(
    query: str, also: Iterable[str] = (), weights: FieldWeights | None = None
) -> SparseVector:
    """Return the query side of BM25; empty when `query` holds no word at all.

    :param weights: as in `query_terms`.
    """
    asked = query_terms(query, also, weights)
    return SparseVector([term.dimension for term in asked], [term.weight for term in asked])
