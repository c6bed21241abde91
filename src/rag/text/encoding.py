"""The document side of BM25, for many texts at once.

Python sees each word once, to look up its row in a table; everything after that (grams,
shingles, counting, weighing) is done by numpy for a whole batch, in one sort.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rag.text.grams import hash_grams
from rag.text.lexical import (
    AVERAGE_WORDS,
    CHARACTERS_PER_WORD,
    EDGE_LENGTHS,
    GRAMS,
    K1,
    KATAKANA_WORD,
    SHINGLE_MIX,
    SHINGLES,
    B,
    SparseVector,
    edge_dimension,
    edges,
    pieces,
    word_dimension,
)
from rag.text.tokens import MAX_WORD, cleaned, stem

_BATCH = 512  # texts: some 200,000 numbers to sort
_MAX_WORDS = 1 << 18
_COLUMNS = 1 + len(EDGE_LENGTHS)
_MASK = np.uint64(SHINGLES - 1)

Array = np.ndarray[Any, np.dtype[Any]]


class DocumentEncoder:
    """Makes the sparse vectors of texts, and remembers the words it met.

    Instances may be shared between threads; one does its work at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words = _WordTable()
        self._new_words: set[str] = set()

    def encode(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return the vector of each text, title and headings included."""
        with self._lock:
            vectors = []
            for start in range(0, len(texts), _BATCH):
                self._words.keep_small()
                vectors += self._encode([cleaned(t) for t in texts[start : start + _BATCH]])
                self._new_words.update(self._words.take_new())
            return vectors

    def take_words(self) -> list[str]:
        """Return the words met for the first time since this was last asked, in order."""
        with self._lock:
            words, self._new_words = self._new_words, set()
        return sorted(word for word in words if 2 <= len(word) <= MAX_WORD // 2)

    def _encode(self, texts: list[str]) -> list[SparseVector]:
        rows: list[int] = []
        counts: list[int] = []
        unsegmented: list[str] = []
        for text in texts:
            words, run_text = pieces(text)
            rows += map(self._words.__getitem__, words)
            counts.append(len(words))
            unsegmented.append(run_text)
            if run_text:
                self._new_words.update(KATAKANA_WORD.findall(run_text))
        word_keys, lengths = self._word_keys(np.array(rows, np.int64), counts)
        gram_keys, characters = _gram_keys(unsegmented)
        lengths += characters / CHARACTERS_PER_WORD
        return _weigh(np.concatenate((*word_keys, gram_keys)), lengths)

    def _word_keys(self, rows: Array, counts: list[int]) -> tuple[list[Array], Array]:
        """Return the keys (text << 32 | dimension) of words, shingles and edges, and the number
        of words of each text."""
        texts = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
        is_word = rows > 0  # row 0 is the break
        table = self._words.lookup(rows)
        owners = texts << np.uint64(32)
        dimensions = table[:, 0]
        keys = [(owners | dimensions)[is_word]]
        pairs = is_word[:-1] & is_word[1:] & (texts[:-1] == texts[1:])
        mixed = (dimensions[:-1] * np.uint64(SHINGLE_MIX) ^ dimensions[1:]) & _MASK
        keys.append((owners[:-1] | np.uint64(SHINGLES) | mixed)[pairs])
        for column in range(1, _COLUMNS):
            edge = table[:, column]
            keys.append((owners | edge)[edge > 0])
        lengths = np.bincount(texts[is_word].astype(np.int64), minlength=len(counts))
        return keys, lengths.astype(np.float64)


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


def _weigh(keys: Array, lengths: Array) -> list[SparseVector]:
    """Count equal keys and return the vectors of BM25's term-frequency part."""
    keys, tf = np.unique(keys, return_counts=True)
    owners = (keys >> np.uint64(32)).astype(np.int64)
    k = K1 * (1 - B + B * lengths / AVERAGE_WORDS)
    values = (tf * (K1 + 1) / (tf + k[owners])).tolist()
    indices = (keys & np.uint64(0xFFFFFFFF)).tolist()
    bounds = np.searchsorted(owners, np.arange(len(lengths) + 1)).tolist()
    return [SparseVector(indices[start:end], values[start:end]) for start, end in pairwise(bounds)]


class _WordTable(dict[str, int]):
    """Word -> row of a table of its dimensions: word, and edges (0 where it is too short)."""

    def __init__(self) -> None:
        super().__init__({"\0": 0})
        self._rows = array("Q", [0] * _COLUMNS)
        self._new: list[str] = []

    def __missing__(self, word: str) -> int:
        dimensions = [word_dimension(stem(word)), *map(edge_dimension, edges(word))]
        self._rows.extend(dimensions + [0] * (_COLUMNS - len(dimensions)))
        self[word] = row = len(self)
        self._new.append(word)
        return row

    def lookup(self, rows: Array) -> Array:
        # The view must be gone before the array can grow again; what is taken from it is a copy.
        return np.frombuffer(self._rows, np.uint64).reshape(-1, _COLUMNS)[rows]

    def take_new(self) -> list[str]:
        words, self._new = self._new, []
        return words

    def keep_small(self) -> None:
        if len(self) > _MAX_WORDS:
            self.clear()
            self["\0"] = 0
            del self._rows[_COLUMNS:]
