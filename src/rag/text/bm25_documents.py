"""The document side of BM25, for many texts at once.

Python sees each word once, to look up its row in a table; everything after that (grams, counting,
weighing) is done by numpy for a whole batch, in one sort.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from rag.text.bm25 import (
    ADDRESSES,
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
from rag.text.ngrams import hash_grams
from rag.text.tokenizer import MAX_WORD, cleaned, fold_accents, stem_letters, terms

_BATCH = 512  # texts: some 200,000 numbers to sort
_MAX_WORDS = 1 << 18
_COLUMNS = 2

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


class DocumentEncoder:
    """Makes the sparse vectors of texts.

    Instances may be shared between threads; one does its work at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table = _WordTable()

    def encode(self, texts: Sequence[str], beside: Sequence[Beside] | None = None) -> Encoded:
        """Return the vectors of texts, title and headings included.

        :param beside: for each text what is found with it and does not stand in it.
        """
        vectors: list[SparseVector] = []
        words: set[str] = set()
        with self._lock:
            for start in range(0, len(texts), _BATCH):
                self._table.keep_small()
                batch = slice(start, start + _BATCH)
                part = self._encode([cleaned(text) for text in texts[batch]], (beside or ())[batch])
                vectors += part.vectors
                words.update(part.words)
        return Encoded(vectors, sorted(words))

    def _encode(self, texts: list[str], beside: Sequence[Beside]) -> Encoded:
        rows, loan_rows, unsegmented = [], [], []
        row_of = self._table.__getitem__
        for text in texts:
            words, run_text = pieces(text)
            rows.append([*map(row_of, words)])
            loan_rows.append([*map(row_of, KATAKANA_WORD.findall(run_text))] if run_text else [])
            unsegmented.append(run_text)
        spaced, owners = _flat(rows)
        loans, loan_owners = _flat(loan_rows)
        word, edge = self._table.lookup(spaced).T
        is_word = spaced > 0  # row 0 is the break
        gram_keys, characters = _gram_keys(unsegmented)
        # A key is text << 32 | dimension.
        keys = (
            (owners | word)[is_word],
            (owners | edge)[edge > 0],
            loan_owners | self._table.lookup(loans)[:, 0],
            gram_keys,
            _beside_keys(beside),
        )
        of_words = (owners[is_word] >> np.uint64(32)).astype(np.int64)
        lengths = np.bincount(of_words, minlength=len(texts)) + characters / CHARACTERS_PER_WORD
        used = np.flatnonzero(np.bincount(np.concatenate((spaced, loans)))).tolist()
        words = [*chain.from_iterable(self._table.written[row] for row in used)]
        return Encoded(_weigh(np.concatenate(keys), lengths), words)


def _is_kept(word: str) -> bool:
    """Whether a word is worth remembering: neither a letter nor a number nor base64."""
    return 2 <= len(word) <= MAX_WORD // 2 and not word.isdigit()


def _flat(rows: list[list[int]]) -> tuple[Array, Array]:
    """Return the rows of many texts in one array, and for each the number of its text, in the upper
    half of a key."""
    owners = np.repeat(np.arange(len(rows), dtype=np.uint64), [*map(len, rows)])
    return np.array([*chain.from_iterable(rows)], np.int64), owners << np.uint64(32)


def _gram_keys(texts: list[str]) -> tuple[Array, Array]:
    """Return the keys of the grams of all texts, and how many characters of each are in runs."""
    joined = "\n".join(["", *texts, ""])
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    owners = np.repeat(
        np.arange(len(texts) + 1, dtype=np.uint64), [1, *(len(text) + 1 for text in texts)]
    )
    owners[1:] -= np.uint64(1)
    hashes, starts, runs = hash_grams(codes)
    keys = owners[starts] << np.uint64(32) | np.uint64(GRAMS) | hashes
    characters = np.bincount(owners[runs].astype(np.int64), minlength=len(texts))
    return keys, characters


def _beside_keys(beside: Sequence[Beside]) -> Array:
    """Return the keys of what is beside each text; a term counts once."""
    keys = [
        at << 32 | dimension
        for at, one in enumerate(beside)
        for dimension in {*_stated(one.properties), *_terms(ADDRESSES, one.addresses)}
    ]
    return np.array(keys, np.uint64)


def _stated(lines: str) -> Iterator[int]:
    """Yield the dimensions of the terms of front matter, and of the words beside each other."""
    yield from _terms(PROPERTIES, lines)
    for line in lines.split("\n") if lines else ():
        words, _ = pieces(cleaned(line))
        yield from (stated_dimension(a, b) for a, b in pairwise(words) if "\0" not in (a, b))


def _terms(field: int, text: str) -> Iterator[int]:
    return (beside_dimension(field, term) for term in (terms(text) if text else ()))


def _weigh(keys: Array, lengths: Array) -> list[SparseVector]:
    """Count equal keys and return the vectors of BM25's term-frequency part."""
    keys, tf = np.unique(keys, return_counts=True)
    owners = (keys >> np.uint64(32)).astype(np.int64)
    values = saturated(tf, lengths[owners]).tolist()
    indices = (keys & np.uint64(0xFFFFFFFF)).tolist()
    bounds = np.searchsorted(owners, np.arange(len(lengths) + 1)).tolist()
    return [SparseVector(indices[start:end], values[start:end]) for start, end in pairwise(bounds)]


class _WordTable(dict[str, int]):
    """Word -> row of a table of its dimensions: word, and edge (0 where it is too short)."""

    def __init__(self) -> None:
        super().__init__({"\0": 0})
        self._rows = array("Q", [0] * _COLUMNS)
        self.written: list[tuple[str, ...]] = [()]  # how the word of a row is remembered

    def __missing__(self, word: str) -> int:
        letters = fold_accents(word[:MAX_WORD])
        self._rows.append(word_dimension(stem_letters(letters)))
        first = edge(letters)
        self._rows.append(edge_dimension(first) if first else 0)
        # People leave accents out when they search.
        spellings = {word, *filter(_is_kept, [letters])} if _is_kept(word) else ()
        self.written.append(tuple(spellings))
        self[word] = row = len(self)
        return row

    def lookup(self, rows: Array) -> Array:
        # The view must be gone before the array can grow again; what is taken from it is a copy.
        return np.frombuffer(self._rows, np.uint64).reshape(-1, _COLUMNS)[rows]

    def keep_small(self) -> None:
        if len(self) > _MAX_WORDS:
            self.clear()
            self["\0"] = 0
            del self._rows[_COLUMNS:], self.written[1:]
