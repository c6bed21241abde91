"""Words and meaning in one score.

Ranks are not fused but scores: reciprocal rank fusion lets a weak list spoil a strong one. Scores
of words stay as they are, and each chunk gains by how near it is in meaning:

    score = words + λ · full · nearness,  nearness = softplus(z − 1),
    z = (cosine − mean) / deviation

The cosine is that of the sentence of the chunk that is nearest to the query, less half of the
sentence's level (`rag.index.embedding_space`). λ grows up to elevenfold, the less of the query the
best text holds: λ · (1 + 10 · (1 − min(1, c / .7))²), c being its score by words against `full`.

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
from statistics import fmean, pstdev

from rag.search.query import WEIGHTS
from rag.stores.base.points import Candidate

_MOSTLY = 0.7  # of a query; a text that holds so much is told by its words
_ALIKE = 1e-6  # cosines that differ by less do so by rounding


def fuse(
    candidates: Iterable[Candidate],
    cosines: Mapping[str, float],
    sample: Sequence[float],
    full: float,
    share: float = 1.0,
    covered: float = 1.0,
) -> list[Candidate]:
    """Return candidates with their scores by words and by meaning together, in order.

    :param candidates: with what they score by words.
    :param cosines: by id, of those that have an embedding.
    :param sample: cosines of some chunks of the index, drawn without regard to the query.
    :param full, share, covered: see the module; `covered` is c / full of the best text.
    """
    unsaid = 1.0 - min(covered / _MOSTLY, 1.0)
    unit = WEIGHTS.meaning * (1.0 + WEIGHTS.unsaid * unsaid**2) * share**2
    mean = fmean(sample) if sample else 0.0
    deviation = pstdev(sample, mean) if sample else 0.0
    # Where all cosines are alike, or none is known, nothing tells chunks apart.
    tells, (least, rise) = deviation > _ALIKE, WEIGHTS.expected
    fused = []
    for candidate in candidates:
        words, cosine = candidate.score, cosines.get(candidate.id)
        if tells and cosine is None:
            gain = unit * (least * full + rise * words)
        else:
            z = (cosine - mean) / deviation - 1.0 if tells and cosine is not None else -1.0
            gain = unit * full * (max(z, 0.0) + math.log1p(math.exp(-abs(z))))
        fused.append(
            candidate._replace(score=words + gain, meaning=gain, cosine=cosine or candidate.cosine)
        )
    return fused


def widen(
    plain: Iterable[Candidate],
    others: Iterable[Candidate],
    by_words: tuple[Sequence[Candidate], float],
    by_meaning: tuple[Sequence[Candidate], float],
    depth: int,
) -> list[Candidate]:
    """Return all candidates with what variants of the query add to them, in no order.

    :param others: what only its variants found, with what each scores by the query.
    :param by_words: the chunks that the variants found lexically, best first, and what the best of
        them gains; `by_meaning`: the same semantically.
    :param depth: how many each might hold: of a shorter list the floor is 0.
    """

    def gains_of(ranked: Sequence[Candidate], worth: float) -> dict[str, float]:
        top = ranked[0].score if ranked else 0.0
        floor = ranked[-1].score if len(ranked) >= depth else 0.0
        # All alike: nothing tells them apart.
        unit = worth / (top - floor) if top > floor else 0.0
        return {c.id: unit * max(0.0, c.score - floor) for c in ranked}

    words, meaning = gains_of(*by_words), gains_of(*by_meaning)

    def with_gains(candidate: Candidate) -> Candidate:
        gains = words.get(candidate.id, 0.0), meaning.get(candidate.id, 0.0)
        return candidate._replace(score=candidate.score + sum(gains), gains=gains)

    # Its own meaning alone finds nothing here.
    new = (c for c in map(with_gains, others) if c.score > c.meaning)
    return [*map(with_gains, plain), *new]
