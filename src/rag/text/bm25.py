"""BM25 as sparse vectors: what a text weighs in the lexical index, and what a query asks of it.

The score of a document d for a query q is the dot product of two sparse vectors,

    score(q, d) = Σ_t  weight(t) · qtf(t) · idf(t) · tf(t, d)·(k1 + 1) / (tf(t, d) + K(d))
    K(d)        = k1 · (1 - b + b · length(d) / average length)

(Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009, eq. 3.15). The document
vector holds the term-frequency part, the query vector the weight and qtf, and a store multiplies
the query by idf from the counts of the whole index (`rag.index.manifest`), so no vector changes
when another note does.

Five fields share one space of 2^32 dimensions: the upper three bits name the field, the lower
29 hash the term. `words` are stemmed, and runs of katakana are words; `grams` stand in for words
in scripts without spaces; `edges` are the first six letters of longer words, which join what the
stemmer keeps apart (administer, administration). `properties` are words of the front matter,
`addresses` those of what links lead to; neither is seen in the text, and both count less.

What stands side by side is not in the index: `rag.text.exact_forms` looks for it in the texts of
the best.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from string import ascii_lowercase, digits
from typing import Any, NamedTuple
from zlib import crc32

from rag.text.ngrams import RUN, hash_gram, is_seam, weigh_grams
from rag.text.tokenizer import (
    ASCII_SYMBOL_WORD,
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

MOST_STATED = 8  # words of a query that may be what front matter says; a question has more
MOST_TERMS = 1_024  # of a query; a page of text has as many

# Part of the index's fingerprint: raise it whenever the same text would give other vectors.
LEXICAL_VERSION = 8

BREAK = "\0"  # stands where an unsegmented run parted two words
SPACED = re.compile(f"{SPACED_WORD}|{BREAK}")  # of text without unsegmented runs
_ASCII = re.compile(ASCII_WORD)
_ASCII_SYMBOL = re.compile(ASCII_SYMBOL_WORD)
_LETTERS = ascii_lowercase + digits
_SPACED_OUT = "".join(char if char in _LETTERS else " " for char in map(chr, range(128)))
# Loan words are the only words of Japanese to be seen without a dictionary.
KATAKANA_WORD = re.compile("[\u30a1-\u30fa][\u30a1-\u30fa\u30fc]{2,}")


class SparseVector(NamedTuple):
    """Parallel lists, or arrays as lists: `indices` are distinct dimensions below 2^32, `values`
    their weights."""

    indices: list[int]
    values: list[float]


# What a term of a query counts for.
WORDS = 1.0
LOANS = 0.5  # a run of katakana as a word; its pairs of characters count too
EDGE_WEIGHT = 0.1
BESIDE_WEIGHT = 0.1  # a word in the front matter or an address, or two characters, against a word
STATED = 1.0  # two words side by side in one field of the front matter
GUESSED = 0.8  # a word that was not typed, against one that was


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
        if ("#" in text or "++" in text) and _ASCII_SYMBOL.search(text):
            return _ASCII.findall(text), ""
        return text.translate(_SPACED_OUT).split(), ""  # in a third of the time
    parted, runs = RUN.subn(BREAK, text.replace(BREAK, " "))
    return SPACED.findall(parted), text if runs else ""


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


def text_terms(query: str) -> list[QueryTerm]:
    """Return what a query asks of texts: `query_terms` without what is sought beside them."""
    return [term for term in query_terms(query) if term.field not in BESIDE]


def subject_terms(text: str) -> list[QueryTerm]:
    """Return the words and grams of a text that name its subject, as often as they stand there."""
    return _content(text, is_bare=True) or _content(text, asking=True, is_bare=True)


@lru_cache(8)  # a search asks for them to open the index, to rank and to weigh what it found
def query_terms(query: str, also: tuple[str, ...] = ()) -> tuple[QueryTerm, ...]:
    """Return what a query asks of the index, each dimension once; none when it holds no word.

    Of more than `MOST_TERMS` the heaviest are asked, and of equal ones the first.

    :param also: further words to look for, such as corrections: only they themselves, each once,
        and not where the query has them in any form. One that the query has is looked for in front
        matter and addresses, as if it stood in the text.
    """
    subject = _content(query) or _content(query, asking=True)
    typed = {term.dimension for term in subject}
    guessed: dict[int, QueryTerm] = {}
    for word in also:
        terms = _content(word, asking=True)
        is_typed = any(term.dimension in typed for term in terms if term.field == "words")
        for term in terms:
            if term.field == "words" and term.dimension not in typed:
                guessed[term.dimension] = term._replace(weight=term.weight * GUESSED)
            elif term.field in BESIDE and is_typed:
                guessed[term.dimension] = term._replace(weight=GUESSED)
    subject += guessed.values()
    words, _ = pieces(cleaned(query))
    pairs = [(a, b) for a, b in pairwise(words) if BREAK not in (a, b)]
    if len(pairs) < MOST_STATED:
        subject += [
            QueryTerm("properties", f"{a} {b}", stated_dimension(a, b), STATED) for a, b in pairs
        ]
    summed: dict[int, QueryTerm] = {}
    for term in subject:
        first = summed.get(term.dimension)
        weight = (first.weight if first else 0.0) + term.weight
        summed[term.dimension] = (first or term)._replace(weight=weight)
    kept = list(summed.values())
    if len(kept) > MOST_TERMS:
        kept = sorted(kept, key=lambda term: -term.weight)[:MOST_TERMS]
    return tuple(sorted(kept, key=lambda term: _ORDER[term.field]))


def _content(text: str, asking: bool = False, is_bare: bool = False) -> list[QueryTerm]:
    """Return the words, grams and edges of a text, and what is beside it.

    :param asking: with the words that only ask, too.
    :param is_bare: words and grams alone.
    """
    words, unsegmented = pieces(cleaned(text))
    asked = []
    for word in words:
        term = stem(word)
        if word == BREAK or (term in STOP_TERMS and not asking):
            continue
        asked.append(QueryTerm("words", word, word_dimension(term), WORDS))
        if is_bare:
            continue
        if first := edge(fold_accents(word[:MAX_WORD])):
            asked.append(QueryTerm("edges", f"{first}…", edge_dimension(first), EDGE_WEIGHT))
        for field, number in (("addresses", ADDRESSES), ("properties", PROPERTIES)):
            dimension = beside_dimension(number, term)
            asked.append(QueryTerm(field, word, dimension, BESIDE_WEIGHT))
    loans = KATAKANA_WORD.findall(unsegmented)
    asked += [QueryTerm("words", loan, word_dimension(stem(loan)), LOANS) for loan in loans]
    for run in RUN.findall(unsegmented):
        asks = [0] * len(run) if asking else asked_characters(run)
        grams = [g for g in weigh_grams(run) if asks[g.start] < g.start + len(g.text)]
        asked += [QueryTerm("grams", g.text, GRAMS | hash_gram(g.text), g.weight) for g in grams]
        asked += [
            QueryTerm(
                "properties", g.text, beside_dimension(PROPERTIES, g.text), g.weight * BESIDE_WEIGHT
            )
            for g in grams
            if len(g.text) == 2 and not is_bare
        ]
    return asked


def asked_characters(run: str) -> list[int]:
    """Return, for each character of a run, where the words that only ask end that it is part of;
    0 for all others."""
    asks = [0] * len(run)
    for start, end in map(re.Match.span, JAPANESE_QUESTION.finditer(run)):
        asks[start:end] = [end] * (end - start)
    return asks


def encode_query(query: str, also: Iterable[str] = ()) -> SparseVector:
    """Return the query side of BM25; empty when `query` holds no word at all."""
    asked = query_terms(query, tuple(also))
    return SparseVector([term.dimension for term in asked], [term.weight for term in asked])
