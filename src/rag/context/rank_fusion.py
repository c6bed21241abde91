"""One list of items out of several."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, inf

from rag.context.models import ContextItem

RRF_K = 60


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[ContextItem]], k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[ContextItem]:
    """Fuse ranked lists: an item scores Σ weight / (k + rank), ranks from 1, best item 1.0.

    Cormack, Clarke and Büttcher 2009, "Reciprocal Rank Fusion outperforms Condorcet and
    individual Rank Learning Methods". Of items with one id the first is kept; equal scores stay
    in the order of first appearance. `metadata["found_by"]` holds the numbers, from 0, of the
    lists that an item is in.

    :param weights: what each list counts for; without them all the same.
    :raises ValueError: for weights of another length, below 0 or infinite, or `k` below 0.
    """
    if weights is not None and len(weights) != len(lists):
        raise ValueError(f"{len(weights)} weights for {len(lists)} lists")
    if weights is not None and not all(0 <= weight < inf for weight in weights):
        raise ValueError(f"weights must be finite and not negative, not {list(weights)}")
    if k < 0:
        raise ValueError(f"k must not be negative, not {k}")
    parts: dict[str, list[float]] = {}
    first: dict[str, ContextItem] = {}
    found_by: dict[str, list[int]] = {}
    for number, items in enumerate(lists):
        weight = 1.0 if weights is None else weights[number]
        for rank, item in enumerate(items, 1):
            lists_of = found_by.setdefault(item.id, [])
            if number in lists_of:  # a list counts an item once, where it stands higher
                continue
            lists_of.append(number)
            first.setdefault(item.id, item)
            parts.setdefault(item.id, []).append(weight / (k + rank))
    # Summed exactly: the same ranks in lists of another order are a tie.
    scores = {key: fsum(added) for key, added in parts.items()}
    best = max(scores.values(), default=0.0) or 1.0
    return [
        first[key].model_copy(
            update={
                "score": scores[key] / best,
                "metadata": {**first[key].metadata, "found_by": found_by[key]},
            }
        )
        for key in sorted(scores, key=lambda key: -scores[key])
    ]
