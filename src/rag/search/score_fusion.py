"""Words and meaning in one score.

Ranks are not fused but scores: reciprocal rank fusion lets a weak list spoil a strong one. Scores
of words stay as they are, and a chunk that is near in meaning gains up to as much as all words of
the query weigh:

    score = words + weight · (cosine − floor) / (top − floor)

`top` is the best cosine among the nearest chunks and `floor` the lowest of them, so that it does
not matter in what range a model's cosines lie. Chunks that are not among the nearest gain
nothing. `rag eval` measures it; see docs/ranking.md.

What all variants of a query find together is added in the same way:

    score + share · top · (found − floor) / (best − floor)

once for their words, `top` being the best lexical score of the query itself (`weight` where it
finds nothing lexically), and once for their meaning, `top` being `weight`, what the query's own
meaning can gain. The share is that of the variants sought on that side. It is below 1, so that
all variants together count less than the query.

Which variant found what is asked of the store once more after each search with variants, for the
chunks that are shown alone; see `rag.search.attribution`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag.stores.base.scored_chunk import Candidate


def fuse(
    lexical: Iterable[Candidate],
    nearest: Sequence[Candidate],
    weight: float,
    depth: int,
) -> list[Candidate]:
    """Return all candidates with their lexical and semantic scores together, in no order.

    :param lexical: chunks found lexically; of those in `nearest` too, every one that shares any.
    :param nearest: chunks found semantically, best first; their scores are cosines.
    :param weight: what the nearest gains.
    :param depth: how many `nearest` might hold: of a shorter list, which is all there is, the
        floor is 0.
    """
    gains = _gains(nearest, weight, depth)
    by_id = {candidate.id: candidate for candidate in nearest}
    fused = {}
    for candidate in lexical:
        meaning = gains.get(candidate.id, 0.0)
        near = by_id.get(candidate.id)
        fused[candidate.id] = candidate._replace(
            score=candidate.score + meaning, meaning=meaning, cosine=near.score if near else 0.0
        )
    for candidate in nearest:
        meaning = gains[candidate.id]
        if candidate.id not in fused and meaning > 0:
            fused[candidate.id] = candidate._replace(
                score=meaning, meaning=meaning, cosine=candidate.score
            )
    return list(fused.values())


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
    :param depth: how many each of them might hold, as in `fuse`.
    """
    words, meaning = (_gains(found, worth, depth) for found, worth in (by_words, by_meaning))

    def with_gains(candidate: Candidate) -> Candidate:
        gains = words.get(candidate.id, 0.0), meaning.get(candidate.id, 0.0)
        return candidate._replace(score=candidate.score + sum(gains), gains=gains)

    new = (candidate for candidate in map(with_gains, others) if candidate.score > 0)
    return [*map(with_gains, plain), *new]
