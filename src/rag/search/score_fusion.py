"""Words and meaning in one score.

Ranks are not fused but scores: reciprocal rank fusion lets a weak list spoil a strong one. Scores
of words stay as they are, and each chunk gains by how near it is in meaning:

    score = words + λ · full · nearness,  nearness = softplus(z − 1),
    z = (cosine − mean) / deviation

The cosine is that of the sentence of the chunk that is nearest to the query, less half of the
sentence's level (`rag.index.background`). λ grows up to elevenfold, the less of the query the best
text holds: λ · (1 + 10 · (1 − min(1, c / .7))²), c being its score by words against `full`.

`full` is what a text scores that holds each word of the query once, so that meaning counts for
more where the words of the query found little. `mean` and `deviation` are those of the cosines of
a sample of the whole index: a model's cosines may lie in any range. softplus(x) = ln(1 + eˣ) is x
for what is near, and never quite 0: what is nearer always gains more.

While an index is being embedded λ is multiplied by the square of the share that has embeddings: it
tells little that the nearest of the few is near, when the right one may be among the others. A
chunk without an embedding is taken to be as near as leaves open whether it is right
(`RankingWeights.expected`): nearer the more of the words it holds. So neither is favoured.

How λ was fitted is in docs/ranking.md.

What all variants of a query find together is added in the same way:

    score + share · top · (found − floor) / (best − floor)

once for their words, `top` being the best lexical score of the query itself (`weight` where it
finds nothing lexically), and once for their meaning, `top` being `weight`, what the query's own
meaning can gain. The share is that of the variants sought on that side. It is below 1, so that
all variants together count less than the query.

Which variant found what is asked of the store once more after each search with variants, for the
chunks that are shown alone; see `rag.search.explanation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean, pstdev
from typing import Any, NamedTuple

from haystack.dataclasses.sparse_embedding import SparseEmbedding

from rag.search.query_variants import WEIGHTS, Variant, Variants, blended_vector, blended_words
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import Candidate, Query

_MOSTLY = 0.7  # of a query; a text that holds so much is told by its words
_ALIKE = 1e-6  # cosines that differ by less do so by rounding


class Nearness:
    """What a search is told by cosines.

    :param sample: cosines of some chunks of the index, drawn without regard to the query.
    :param full: what a text scores that holds each word of the query once.
    :param share: of the chunks of the index that have an embedding.
    :param covered: what the best text scores by words, as a share of `full`.
    """

    def __init__(
        self, sample: Sequence[float], full: float, share: float = 1.0, covered: float = 1.0
    ) -> None:
        self._full = full
        unsaid = 1.0 - min(covered / _MOSTLY, 1.0)
        self._unit = WEIGHTS.meaning * (1.0 + WEIGHTS.unsaid * unsaid**2) * share**2
        self._mean = fmean(sample) if sample else 0.0
        self._deviation = pstdev(sample, self._mean) if sample else 0.0

    def of(self, cosine: float) -> float:
        """Return how near a chunk of that cosine is, more than 0, in standard deviations."""
        # Where all cosines are alike, or none is known, nothing tells chunks apart.
        is_told = self._deviation > _ALIKE
        return _softplus((cosine - self._mean) / self._deviation - 1.0 if is_told else -1.0)

    def gain(self, cosine: float) -> float:
        """Return what a chunk of that cosine gains, more than 0."""
        return self._unit * self._full * self.of(cosine)

    def expected_gain(self, words: float) -> float:
        """Return what a chunk without an embedding gains that scores so much by words."""
        if self._deviation <= _ALIKE:
            return self.gain(self._mean)
        least, rise = WEIGHTS.expected
        return self._unit * (least * self._full + rise * words)


def fuse(
    candidates: Iterable[Candidate], cosines: Mapping[str, float], nearness: Nearness
) -> list[Candidate]:
    """Return candidates with their scores by words and by meaning together, in order.

    :param candidates: with what they score by words.
    :param cosines: by id, of those that have an embedding.
    """

    def fused(candidate: Candidate) -> Candidate:
        words, cosine = candidate.score, cosines.get(candidate.id)
        if cosine is None:
            gain = nearness.expected_gain(words)
            return candidate._replace(score=words + gain, meaning=gain)
        gain = nearness.gain(cosine)
        return candidate._replace(score=words + gain, meaning=gain, cosine=cosine)

    return list(map(fused, candidates))


def _softplus(z: float) -> float:
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


def _gains(nearest: Sequence[Candidate], weight: float, depth: int) -> dict[str, float]:
    if not nearest:
        return {}
    top = nearest[0].score
    floor = nearest[-1].score if len(nearest) >= depth else 0.0
    if top <= floor:  # all alike: nothing tells them apart
        return {candidate.id: 0.0 for candidate in nearest}
    return {
        candidate.id: weight * max(0.0, candidate.score - floor) / (top - floor)
        for candidate in nearest
    }


def widen(
    plain: Iterable[Candidate],
    others: Iterable[Candidate],
    by_words: tuple[Sequence[Candidate], float],
    by_meaning: tuple[Sequence[Candidate], float],
    depth: int,
) -> list[Candidate]:
    """Return all candidates with what variants of the query add to them, in no order.

    :param plain: what the query itself found.
    :param others: what only its variants found, with what each scores by the query.
    :param by_words: the chunks that the variants found lexically, best first, and what the best
        of them gains.
    :param by_meaning: the same semantically.
    :param depth: how many each of them might hold: of a shorter list, which is all there is, the
        floor is 0.
    """
    words, meaning = (_gains(found, worth, depth) for found, worth in (by_words, by_meaning))

    def with_gains(candidate: Candidate) -> Candidate:
        gains = words.get(candidate.id, 0.0), meaning.get(candidate.id, 0.0)
        return candidate._replace(score=candidate.score + sum(gains), gains=gains)

    # Its own meaning alone finds nothing here.
    new = (c for c in map(with_gains, others) if c.score > c.meaning)
    return [*map(with_gains, plain), *new]


class Lists(NamedTuple):
    """What a store found, best first: by the query's words and by the nearest sentence, and by its
    variants' words and meaning."""

    words: list[Candidate]
    nearest: list[Candidate]
    wider_words: list[Candidate]
    wider_meaning: list[Candidate]

    def beside(self, known: Sequence[Candidate]) -> list[Candidate]:
        """Return what is in none of the known ones, each once."""
        seen = {candidate.id for candidate in known}
        rest = chain(self.nearest, self.wider_words, self.wider_meaning)
        return list({c.id: c for c in rest if c.id not in seen}.values())


def find_lists(
    store: BaseDocumentStore,
    query: SparseEmbedding,
    embedding: list[float] | None,
    variants: Sequence[Variant],
    filters: dict[str, Any] | None,
    top_k: int,
) -> Lists:
    """Ask a store for the `top_k` chunks of each list, in one batch.

    :param embedding: without one nothing is searched semantically.
    """
    if embedding is None and not variants:
        return Lists(store.find_candidates(query, filters, top_k), [], [], [])
    near: list[Query] = [] if embedding is None else [embedding]
    wider: list[Query] = [blended_words(variants)] if variants else []
    if variants and embedding is not None and (vector := blended_vector(variants)) is not None:
        wider.append(vector)
    depth = wider_depth(top_k)
    asked = [*((one, top_k) for one in (query, *near)), *((one, depth) for one in wider)]
    words, *found = store.find_lists(asked, filters)
    nearest = found[0] if near else []
    wider_words, wider_meaning = [*found[len(near) :], [], []][:2]
    return Lists(words, nearest, wider_words, wider_meaning)


def wider_depth(top_k: int) -> int:
    """Return how many chunks the variants may find of each kind; they weigh less."""
    return max(1, top_k // 2)


def widened(
    plain: Sequence[Candidate],
    others: Sequence[Candidate],
    lists: Lists,
    variants: Variants,
    weight: float,
    depth: int,
) -> list[Candidate]:
    """Add what the variants found to what the query found.

    :param others: what only its variants found, with what each scores by the query.
    :param weight: what the nearest to the variants gains; and what the best find of their words is
        measured against, where the query finds nothing lexically.
    """
    best = lists.words[0].score if lists.words else weight
    by_words = lists.wider_words, best * sum(v.weight for v in variants if v.words)
    by_meaning = lists.wider_meaning, weight * sum(v.weight for v in variants if v.is_embedded)
    return widen(plain, others, by_words, by_meaning, wider_depth(depth))
