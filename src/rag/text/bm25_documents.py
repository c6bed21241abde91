"""The document side of BM25: the sparse vectors of texts."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain, count, pairwise
from typing import Any, NamedTuple

import numpy as np

from rag.text.bm25 import (
    ADDRESSES,
    BREAK,
    CHARACTERS_PER_WORD,
    GRAMS,
    KATAKANA_WORD,
    PROPERTIES,
    SparseVector,
    beside_dimension,
    edge,
    edge_dimension,
    pieces,
    saturated,
    stated_dimension,
    word_dimension,
)
from rag.text.ngrams import code_points, hash_grams
from rag.text.tokenizer import MAX_WORD, cleaned, fold_accents, stem_letters, terms

_BATCH = 512  # texts: some 200,000 numbers to sort
_OWNER = np.uint64(32)  # a key is the number of a text << 32 | dimension
_MOST_WORDS = 1 << 18  # that are remembered with their dimensions

Array = np.ndarray[Any, np.dtype[Any]]


class Encoded(NamedTuple):
    """The vector of each text, in order, and the words that they are written with, with and
    without accents, sorted."""

    vectors: list[SparseVector]
    words: list[str]


class Beside(NamedTuple):
    """What a text is found by that does not stand in it: what the front matter says, and where
    links lead."""

    properties: str = ""
    addresses: str = ""


def encode_documents(texts: Sequence[str], beside: Sequence[Beside] | None = None) -> Encoded:
    """Return the vectors of texts, title and headings included.

    :param beside: for each text what is found with it and does not stand in it.
    """
    vectors: list[SparseVector] = []
    written: set[str] = set()
    for start in range(0, len(texts), _BATCH):
        batch = slice(start, start + _BATCH)
        vectors += _encode([*map(cleaned, texts[batch])], (beside or ())[batch], written)
    plain = (fold_accents(word[:MAX_WORD]) for word in written if not word.isascii())
    return Encoded(vectors, sorted(filter(_is_kept, written.union(plain))))


def _encode(texts: list[str], beside: Sequence[Beside], written: set[str]) -> list[SparseVector]:
    """Return the vectors of cleaned texts, and add their words to those that are `written`."""
    words, loans, unsegmented = list[list[str]](), list[list[str]](), list[str]()
    for text in texts:
        own, runs = pieces(text)
        words.append([word for word in own if word != BREAK] if runs else own)
        loans.append(KATAKANA_WORD.findall(runs))
        unsegmented.append(runs)
    distinct = defaultdict[str, int](count().__next__)
    numbers, owners = _numbers(words, distinct), _owners(words)
    loan_numbers, loan_owners = _numbers(loans, distinct), _owners(loans)
    whole, edges = np.array([_dimensions(word) for word in distinct], np.uint64).reshape(-1, 2).T
    written.update(distinct)
    about = [{*_beside(one)} for one in beside]  # a term counts once
    gram_keys, characters = _gram_keys(unsegmented)
    keys = (
        owners << _OWNER | whole[numbers],
        (owners << _OWNER | edges[numbers])[edges[numbers] != 0],
        loan_owners << _OWNER | whole[loan_numbers],
        _owners(about) << _OWNER | np.array([*chain.from_iterable(about)], np.uint64),
        gram_keys,
    )
    lengths = np.array([*map(len, words)]) + characters / CHARACTERS_PER_WORD
    return _weigh(np.concatenate(keys), lengths)


def _numbers(words: list[list[str]], distinct: defaultdict[str, int]) -> Array:
    """Return the number of each word of all texts; a new word gets the next."""
    return np.array([*map(distinct.__getitem__, chain.from_iterable(words))], np.intp)


def _owners(terms: Sequence[Collection[object]]) -> Array:
    """Return for each term of all texts the number of its text."""
    return np.repeat(np.arange(len(terms), dtype=np.uint64), [*map(len, terms)])


def _gram_keys(texts: list[str]) -> tuple[Array, Array]:
    """Return the keys of the grams of all texts, and how many characters of each are in runs."""
    codes = code_points("\n".join(["", *texts, ""]))
    owners = np.repeat(
        np.arange(len(texts) + 1, dtype=np.uint64), [1, *(len(text) + 1 for text in texts)]
    )
    owners[1:] -= np.uint64(1)
    hashes, starts, runs = hash_grams(codes)
    keys = owners[starts] << _OWNER | np.uint64(GRAMS) | hashes
    return keys, np.bincount(owners[runs].astype(np.int64), minlength=len(texts))


def _weigh(keys: Array, lengths: Array) -> list[SparseVector]:
    """Count equal keys and return the vectors of BM25's term-frequency part."""
    keys, tf = np.unique(keys, return_counts=True)
    owners = (keys >> _OWNER).astype(np.int64)
    # Arrays go to another process in a third of the time that lists take.
    values: Any = array("d", saturated(tf, lengths[owners]).tobytes())
    indices: Any = array("I", (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32).tobytes())
    bounds = np.searchsorted(owners, np.arange(len(lengths) + 1)).tolist()
    return [SparseVector(indices[start:end], values[start:end]) for start, end in pairwise(bounds)]


def _is_kept(word: str) -> bool:
    return 2 <= len(word) <= MAX_WORD // 2 and not word.isdigit()


@lru_cache(_MOST_WORDS)
def _dimensions(word: str) -> tuple[int, int]:
    """Return the dimensions of a word and of its first letters, 0 where it has no more."""
    letters = fold_accents(word[:MAX_WORD])
    first = edge(letters)
    return word_dimension(stem_letters(letters)), edge_dimension(first) if first else 0


def _beside(beside: Beside) -> Iterator[int]:
    """Yield the dimensions of what is beside a text, and of words side by side in front matter."""
    for field, text in ((PROPERTIES, beside.properties), (ADDRESSES, beside.addresses)):
        for term in terms(text) if text else ():
            yield beside_dimension(field, term)
    for line in beside.properties.split("\n") if beside.properties else ():
        words, _ = pieces(cleaned(line))
        yield from (stated_dimension(a, b) for a, b in pairwise(words) if BREAK not in (a, b))
