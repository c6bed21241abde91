"""The metrics of one ranking.

Written out here, since no library fits: `pytrec-eval-terrier` (and `ir-measures`, which is
built on it) has no wheels for Linux on ARM and brings SciPy, 140 MB, for significance tests;
`ranx` brings Numba and pandas, 450 MB, and takes a second to import.

All take the gains of the results by rank, best first, as `rag.evaluation.judging.gains` makes
them, and return a number in [0, 1]. Ties cannot occur: rank is the order of the list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

DEPTH = 10  # results that are examined
METRICS = ("ndcg_5", "ndcg_10", "mrr", "hit_1", "hit_3", "hit_5", "recall_10")


def score(gains: Sequence[float], judged: Sequence[float]) -> dict[str, float]:
    """Return all `METRICS` of one ranking.

    nDCG counts every gain. The others count only results with the highest gain there is:
    relevant notes, or partial ones where the question names no relevant note.

    :param gains: of the results by rank.
    :param judged: the gains of all that the question names, found or not; at least one.
    """
    top = max(judged)
    hits = [gain == top for gain in gains]
    return {
        "ndcg_5": ndcg(gains, judged, 5),
        "ndcg_10": ndcg(gains, judged, 10),
        "mrr": reciprocal_rank(hits, DEPTH),
        "hit_1": hit(hits, 1),
        "hit_3": hit(hits, 3),
        "hit_5": hit(hits, 5),
        "recall_10": recall(hits, sum(gain == top for gain in judged), 10),
    }


def ndcg(gains: Sequence[float], judged: Sequence[float], k: int) -> float:
    """Return nDCG@k: the discounted gain of the first k, as a share of the best possible one.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4),
    2002, with linear gain and the discount 1 / log2(rank + 1): `ndcg_cut` of trec_eval.
    """
    return _dcg(gains, k) / _dcg(sorted(judged, reverse=True), k)


def _dcg(gains: Sequence[float], k: int) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))


def reciprocal_rank(hits: Sequence[bool], k: int) -> float:
    """Return 1 / rank of the first hit among the first k, else 0; its mean is MRR@k.

    Voorhees, "The TREC-8 question answering track report", 1999.
    """
    return next((1 / rank for rank, right in enumerate(hits[:k], 1) if right), 0.0)


def hit(hits: Sequence[bool], k: int) -> float:
    """Return 1 when one of the first k is a hit, else 0: `success` of trec_eval."""
    return float(any(hits[:k]))


def recall(hits: Sequence[bool], total: int, k: int) -> float:
    """Return the share of all `total` notes wanted that is among the first k.

    Where more than k are wanted, a perfect ranking stays below 1, as in trec_eval.
    """
    return sum(hits[:k]) / total
