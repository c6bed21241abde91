"""Words and meaning in one score.

Ranks are not fused but scores: reciprocal rank fusion lets a weak list spoil a strong one. Scores
of words stay as they are, and a chunk that is near in meaning gains up to as much as all words of
the query weigh:

    score = words + weight · (cosine − floor) / (top − floor)

`top` is the best cosine among the nearest chunks and `floor` the lowest of them, so that it does
not matter in what range a model's cosines lie. Chunks that are not among the nearest gain
nothing. `rag eval` measures it; see docs/ranking.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag.stores.candidates import Candidate


def fuse(
    lexical: Iterable[Candidate],
    nearest: Sequence[Candidate],
    weight: float,
    depth: int,
) -> list[Candidate]:
    """Return all candidates with what they score by words and meaning together, in no order.

    :param lexical: chunks by words; of those in `nearest` too, every one that shares any.
    :param nearest: chunks by meaning, best first; their scores are cosines.
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
