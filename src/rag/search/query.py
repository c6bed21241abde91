"""The one value that a search hands from component to component: the query with its variants, and
what it found.

All variants together are searched with one lexical and one semantic query. BM25 and the cosine are
linear, so that a weighted sum of vectors finds exactly what a weighted sum of scores would, and
five variants cost hardly more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from haystack.dataclasses import Document
from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.index.embedding_space import Background
from rag.search.results import WORDS, NearWord, SearchedVariant, SearchMode
from rag.stores.base.points import Candidate, Point
from rag.support.pipeline_parts import NotCopied
from rag.text.bm25 import (
    KATAKANA_WORD,
    content_words,
    encode_query,
    pieces,
    text_terms,
)
from rag.text.tokenizer import TOKEN, cleaned


@dataclass(frozen=True)
class RankingWeights:
    """The weights of a search. docs/ranking.md says how they were measured."""

    # What a chunk gains for a word of the query to the letter, as a share of the word's weight; on
    # top of that in a title, heading or alias; the first for words joined by marks, such as 2.3.1.
    exact: float = 0.1
    named: float = 0.25
    identifier: float = 0.25
    pair: float = 0.15  # for two words side by side, as a share of what they tell together
    rarest_pair: float = 6.5  # what two tell at most: what one tells that a chunk in 650 has
    seam: float = 0.6  # two characters of different scripts, which the index does not count
    # In the place of `exact` and `named` where the query is one word: more than a text may score
    # for having many other forms of it.
    alone: float = 1.5
    alone_named: float = 1.0
    sections: tuple[float, ...] = (1.0, 0.3, 0.1)  # the first, second, … section of a note
    meaning: float = 0.15  # for a standard deviation nearer, as a share of a full text's score
    # What of that a chunk without an embedding is taken to have: one that shares no word with the
    # query, and how much more one that scores as a text with all of them.
    expected: tuple[float, float] = (1.6, 1.2)
    reading: float = 0.08  # for a log odd of an answer, as a share of a full text's score
    unsaid: float = 10.0  # times more of `meaning` where no text holds a word of the query
    variants: float = 0.5  # all variants together, against the query itself
    kept: int = 10  # results among which the best of the query itself stays


WEIGHTS = RankingWeights()


ORIGINAL = "original"  # how results name the query itself among what found them
HYDE = "hyde"  # the transform whose texts are searched only semantically
HYDE_IDLE = "hyde has no effect: the search is by words"


_LONGEST = 4_000  # characters of a variant


def shown(text: str) -> str:
    """Return the text of a variant as it is searched for and told: on one line, not too long."""
    return " ".join(text.split())[:_LONGEST]


def blended_words(variants: Iterable[SearchedVariant]) -> SparseEmbedding:
    """Return one query that scores what all variants score together: each asks of the words as
    much in all as it weighs.

    Their texts are plain words: what looks like a filter or a phrase is none. What a model guesses
    is looked for in texts alone.
    """
    summed: dict[int, float] = {}
    for variant in variants:
        terms = text_terms(variant.text) if WORDS in variant.sides else []
        total = sum(term.weight for term in terms)
        for term in terms:
            share = variant.weight * term.weight / total
            summed[term.dimension] = summed.get(term.dimension, 0.0) + share
    return SparseEmbedding(list(summed), list(summed.values()))


def blended_vector(variants: Iterable[SearchedVariant]) -> list[float] | None:
    """Return one vector whose similarity is the weighted sum of those of all; `None` where no
    variant has a vector, or they cancel out."""
    embedded = [(v.vector, v.weight) for v in variants if v.is_embedded]
    if not embedded:
        return None
    import numpy as np

    vectors = np.array([vector for vector, _ in embedded], np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = np.array([[weight] for _, weight in embedded])
    mean = (weights * vectors / np.where(lengths == 0, 1, lengths)).sum(axis=0)
    length = float(np.linalg.norm(mean))
    blended: list[float] = (mean / length).tolist() if length > 1e-6 else []
    return blended or None


def weighed(variants: Sequence[SearchedVariant]) -> tuple[SearchedVariant, ...]:
    """Return variants of equal weights, which are `RankingWeights.variants` together."""
    return tuple(replace(v, weight=WEIGHTS.variants / len(variants)) for v in variants)


# Chunks asked of the store at least, and for each note that is wanted: a note is ranked by its best
# three sections, and some notes fill the top with chunks of their own.
MIN_CHUNKS, CHUNKS_PER_NOTE = 100, 8


@dataclass(frozen=True)
class Query(NotCopied):
    """What is searched for, and how. The analyzer makes it; later components replace fields."""

    # What was typed, in the query syntax, and read with the index at hand.
    typed: str
    text: str  # what notes are ranked by; empty when the query has no words
    # Further words to look for: those a prefix stands for, corrections, and those of the text that
    # stand in front matter or addresses alone, which then count for more.
    also: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)  # words that no note holds
    missing: dict[str, NearWord | None] = field(default_factory=dict)  # others, with the nearest
    filters: dict[str, Any] | None = None  # of the flags and of the query, as Haystack has them
    tags: list[str] = field(default_factory=list)
    vaults: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)  # notes with the query as title, alias or file
    matched: list[str] = field(default_factory=list)  # notes that hold a phrase, or its `title:`
    lists: bool = False  # a query without words filters, and so asks for a list of notes
    full: float = 0.0  # what a text scores that holds each word once
    is_literal: bool = False  # has `begin*` or `-without`: without a shared word there is no match
    notices: list[str] = field(default_factory=list)  # why it is not searched as it was wanted

    # How it is searched.
    mode: str = SearchMode.AUTO
    keep_mode: bool = False  # no route changes it
    top_k: int = 5
    chunks: bool = False  # list chunks, several of one note perhaps, instead of notes
    unranked: bool = False  # no words to rank by: the notes that the filters select, in `order`
    order: str = ""
    variants: Sequence[SearchedVariant] = ()
    rerank: str = ""  # what a reranker orders by, if not `meant`
    depth: int = 0  # how many results are loaded at least, for a reranker to choose from

    # What components add.
    route: str = ""
    transforms: list[str] | None = None  # those of the route
    embedding: list[float] | None = None
    background: Background | None = None  # of the model of the embedding
    share: float = 1.0  # of the chunks of the index that have an embedding
    timings: Mapping[str, float] = field(default_factory=dict)  # milliseconds by step

    # Of a question to be answered.
    question: str = ""
    quoted: str = ""  # what quotations are chosen by
    quotes_all: bool = False  # the notes themselves are what was asked for

    def noting(self, *notices: str, **changes: Any) -> Query:
        """Return the query with changes, and with the notices that are not empty."""
        return replace(self, notices=[*self.notices, *filter(None, notices)], **changes)

    @cached_property
    def meant(self) -> str:
        """The text with its misspelt words corrected."""
        if not self.corrections:
            return self.text
        spaced = TOKEN.sub(lambda m: self.corrections.get(m[0], m[0]), cleaned(self.text))
        return KATAKANA_WORD.sub(lambda m: self.corrections.get(m[0], m[0]), spaced)

    @property
    def known(self) -> str:
        """What is meant, without the words that no note holds."""
        if not self.missing:
            return self.meant
        kept = TOKEN.sub(lambda m: "" if m[2] in self.missing else m[0], cleaned(self.meant))
        return kept.strip()

    @property
    def searched(self) -> str:
        """What notes are ranked by: the words, and those added to them."""
        words = {*content_words(self.meant)}
        return " ".join([self.meant, *(word for word in self.also if word not in words)])

    @cached_property
    def lexical(self) -> SparseEmbedding:
        """The sparse vector of BM25; empty when the query holds no word."""
        vector = encode_query(self.text, self.also)
        return SparseEmbedding([*vector.indices], [*vector.values])

    @cached_property
    def weight(self) -> float:
        """What the terms of the text weigh together, those sought beside it aside."""
        return sum(term.weight for term in text_terms(self.text)) or 1.0

    @property
    def chunk_limit(self) -> int:
        """How many chunks the store is asked for, of each kind."""
        return max(MIN_CHUNKS, self.top_k * CHUNKS_PER_NOTE)

    @cached_property
    def is_doubted(self) -> bool:
        """Whether no note holds any of the words as they are spaced, nor is known to be meant."""
        is_known = self.named or self.matched or self.corrections
        return not is_known and all(word in self.missing for word in content_words(self.text))

    @property
    def is_strange(self) -> bool:
        """Whether no note holds any of the words, of a query without unspaced ones, of which that
        cannot be said."""
        is_strange = bool(self.missing) and not self.is_literal and self.is_doubted
        return is_strange and not pieces(cleaned(self.text))[1]


class Hit(NamedTuple):
    """A ranked note (or chunk), with score = bonus + reading + Σ weight · score of the parts."""

    id: str  # of the document to show
    note: str
    score: float
    parts: tuple[Candidate, ...] = ()
    bonus: float = 0.0
    reading: float = 0.0  # for answering the query, where a reader read it
    kept: bool = False  # the best of the query itself, where variants were searched for too
    document: Document | None = None  # once loaded
    duplicates: tuple[Document, ...] = ()  # those that say nearly the same
    rank: int = 0  # before it was reranked, from 1


@dataclass(frozen=True)
class Retrieval(NotCopied):
    """What was found for a query so far."""

    query: Query
    candidates: Sequence[Candidate] = ()  # chunks, in no order
    plain: Sequence[Candidate] = ()  # those that the query itself found, where it has variants
    hits: Sequence[Hit] = ()  # ranked notes, best first
    beyond: Sequence[Hit] = ()  # those after the last one that is shown
    read: Mapping[str, Point] = field(default_factory=dict)  # by document, read on the way

    @property
    def documents(self) -> list[Document]:
        """The documents of the hits, in their order, each with the score of its hit."""
        return [hit.document for hit in self.hits if hit.document]
