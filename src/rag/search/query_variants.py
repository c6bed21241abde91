"""What is searched for besides the query itself: its variants, and what they may weigh.

All variants together are searched with one lexical and one semantic query. BM25 and the cosine are
linear, so that a weighted sum of vectors finds exactly what a weighted sum of scores would, and
five variants cost hardly more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.results import SearchedVariant
from rag.stores.base.batch import Batch
from rag.text.bm25 import SparseVector, text_terms


@dataclass(frozen=True)
class RankingWeights:
    """The weights of a search. docs/ranking.md says how they were measured.

    :param exact: a word of the query to the letter, beside what the index counts for any of its
        forms, as a share of the word's weight. Measured: .05 to .1 ranked best.
    :param named: the same for one in a title, heading or alias, on top of that.
    :param identifier: the same for words joined by marks, such as 2.3.1.
    :param pair: two words side by side as in the query, as a share of what they tell together.
        Measured in docs/ranking.md.
    :param rarest_pair: what two words tell together at most: what one tells that a chunk in 650
        has.
    :param seam: two characters of different scripts side by side, which the index does not count.
    :param alone: in the place of both where the query is one word or identifier: more than a text
        with other forms may score for having many, so that those that hold the word come first.
    :param alone_named: for one of those in a title, heading or alias, on top of that.
    :param sections: what the first, second, … section of a note counts for. Weights of 1, .5, .25
        rank a note above a better one because it is long.
    :param meaning: what a chunk gains for being a standard deviation nearer to the query, as a
        share of what a text with all words of the query scores; fitted, see docs/ranking.md.
    :param expected: what a chunk without an embedding is taken to have of that: one that shares no
        word with the query, and how much more one that scores as a text with all of them.
    :param unsaid: how many times more of it a chunk gains where no text holds a word of the query.
    :param variants: what the best find of all variants together gains, against the best of the
        query itself.
    :param kept: the best note of the query itself stays among so many, whatever its variants find.
    """

    exact: float = 0.1
    named: float = 0.25
    identifier: float = 0.25
    pair: float = 0.15
    rarest_pair: float = 6.5
    seam: float = 0.6
    alone: float = 1.5
    alone_named: float = 1.0
    sections: tuple[float, ...] = (1.0, 0.3, 0.1)
    meaning: float = 0.15
    expected: tuple[float, float] = (1.6, 1.2)
    unsaid: float = 10.0
    variants: float = 0.5
    kept: int = 10


WEIGHTS = RankingWeights()


ORIGINAL = "original"  # how results name the query itself among what found them
HYDE = "hyde"  # the transform whose texts are searched only semantically
HYDE_IDLE = "hyde has no effect: the search is by words"


_LONGEST = 4_000  # characters of a variant


def shown(text: str) -> str:
    """Return the text of a variant as it is searched for and told: on one line, not too long."""
    return " ".join(text.split())[:_LONGEST]


class Variant(NamedTuple):
    """A text to search for besides the query.

    `label` names it in results, `transform` what made it. `words` and `meaning` say on which
    sides it is searched for, `vector` is its embedding where there is one, `fallback` why no
    model wrote it.
    """

    label: str
    transform: str
    text: str
    weight: float
    words: bool = True
    meaning: bool = True
    vector: list[float] | None = None
    fallback: str = ""

    @property
    def is_embedded(self) -> bool:
        """Whether it can be searched semantically."""
        return self.meaning and self.vector is not None


class Variants(Batch[Variant]):
    """Variants that Haystack does not copy."""


def lexical_vector(variant: Variant) -> SparseEmbedding:
    """Return what a variant asks of the words, as much in all as it weighs.

    Its text is plain words: what looks like a filter or a phrase is none.
    """
    if not variant.words:
        return SparseEmbedding([], [])
    query = _encoded(variant.text)
    total = sum(query.values)
    return SparseEmbedding(query.indices, [variant.weight * v / total for v in query.values])


@lru_cache(64)  # asked for once to search, and once to tell who found what
def _encoded(text: str) -> SparseVector:
    # What a model guesses is looked for in texts alone.
    terms = text_terms(text)
    return SparseVector([term.dimension for term in terms], [term.weight for term in terms])


def blended_words(variants: Iterable[Variant]) -> SparseEmbedding:
    """Return one query that scores what all variants score together."""
    summed: dict[int, float] = {}
    for variant in variants:
        query = lexical_vector(variant)
        for index, value in zip(query.indices, query.values, strict=True):
            summed[index] = summed.get(index, 0.0) + value
    return SparseEmbedding(list(summed), list(summed.values()))


def blended_vector(variants: Iterable[Variant]) -> list[float] | None:
    """Return one vector whose similarity is the weighted sum of those of all; `None` where no
    variant has a vector, or they cancel out."""
    known = [(v.vector, v.weight) for v in variants if v.is_embedded]
    if not known:
        return None
    import numpy as np

    vectors = np.array([vector for vector, _ in known], np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = np.array([[weight] for _, weight in known])
    mean = (weights * vectors / np.where(lengths == 0, 1, lengths)).sum(axis=0)
    length = float(np.linalg.norm(mean))
    found: list[float] = (mean / length).tolist() if length > 1e-6 else []
    return found or None


def weighed(variants: Sequence[Variant]) -> Variants:
    """Return variants of equal weights, which are `RankingWeights.variants` together."""
    return Variants(v._replace(weight=WEIGHTS.variants / len(variants)) for v in variants)


def told(variant: Variant) -> SearchedVariant:
    """Return what there is to tell of a variant."""
    sides = [side for side in ("words", "meaning") if getattr(variant, side)]
    return SearchedVariant(
        label=variant.label,
        transform=variant.transform,
        text=variant.text,
        weight=variant.weight,
        sides=sides,
        fallback=variant.fallback,
    )
