"""The document side of BM25: the sparse vectors of texts."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
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
    spellings = {form for word in written for form in (word, fold_accents(word[:MAX_WORD]))}
    return Encoded(vectors, sorted(filter(_is_kept, spellings)))


def _encode(texts: list[str], beside: Sequence[Beside], written: set[str]) -> list[SparseVector]:
    """Return the vectors of cleaned texts, and add their words to those that are `written`."""
    dimensions, lengths, unsegmented = list[list[int]](), list[int](), list[str]()
    for text in texts:
        words, runs = pieces(text)
        loans = KATAKANA_WORD.findall(runs)
        own = [*chain.from_iterable(map(_dimensions, words))]
        own += [_dimensions(loan)[0] for loan in loans]
        dimensions.append(own)
        lengths.append(len(words) - words.count(BREAK))
        unsegmented.append(runs)
        written.update(words, loans)
    for own, about in zip(dimensions, beside, strict=False):
        own += {*_beside(about)}  # a term counts once
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), [*map(len, dimensions)])
    keys = owners << _OWNER | np.array([*chain.from_iterable(dimensions)], np.uint64)
    gram_keys, characters = _gram_keys(unsegmented)
    return _weigh(np.concatenate((keys, gram_keys)), lengths + characters / CHARACTERS_PER_WORD)


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
def _dimensions(word: str) -> tuple[int, ...]:
    if word == BREAK:
        return ()
    letters = fold_accents(word[:MAX_WORD])
    first = edge(letters)
    of_word = word_dimension(stem_letters(letters))
    return (of_word, edge_dimension(first)) if first else (of_word,)


def _beside(beside: Beside) -> Iterator[int]:
    """Yield the dimensions of what is beside a text, and of words side by side in front matter."""
    for field, text in ((PROPERTIES, beside.properties), (ADDRESSES, beside.addresses)):
        for term in terms(text) if text else ():
            yield beside_dimension(field, term)
    for line in beside.properties.split("\n") if beside.properties else ():
        words, _ = pieces(cleaned(line))
        yield from (stated_dimension(a, b) for a, b in pairwise(words) if BREAK not in (a, b))
