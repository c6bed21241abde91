"""What is searched for besides the query itself: its variants, and what they may weigh.

All variants together are searched with one lexical and one semantic query. BM25 and the cosine are
linear, so that a weighted sum of vectors finds exactly what a weighted sum of scores would, and
five variants cost hardly more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.results import SearchedVariant
from rag.search.weights import WEIGHTS
from rag.stores.base.batch import Batch
from rag.text.bm25 import SparseVector, text_terms

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
    terms = text_terms(text, WEIGHTS.fields)
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
