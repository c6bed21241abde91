"""How alike two names are: by rapidfuzz, or by difflib where it is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from rag.text.tokenizer import name_key

try:
    from rapidfuzz import fuzz, process
except ImportError:  # difflib knows one way to compare, whatever scorer is asked for
    ENGINE = "difflib"
    SCORERS: dict[str, Callable[..., float]] = {}
else:
    ENGINE = "rapidfuzz"
    SCORERS = {
        "WRatio": fuzz.WRatio,
        "ratio": fuzz.ratio,
        "partial_ratio": fuzz.partial_ratio,
        "token_sort_ratio": fuzz.token_sort_ratio,
        "token_set_ratio": fuzz.token_set_ratio,
    }


class Match(NamedTuple):
    """A choice, and how like the query it is, from 0 to 100."""

    value: str
    score: float


def best_matches(
    query: str,
    choices: Sequence[str],
    limit: int = 5,
    scorer: str = "ratio",
    cutoff: float = 0.0,
    keyed: bool = False,
) -> list[Match]:
    """Return the choices most like a query, the best first and of equal ones the first given.

    Case and width do not count.

    :param scorer: one of `SCORERS`; another is `WRatio`.
    :param cutoff: the least score.
    :param keyed: whether query and choices are in normal form already, which saves much time.
    """
    if limit < 1 or not choices:
        return []
    if not SCORERS:
        return _by_difflib(query, choices, limit, cutoff)
    chosen = SCORERS.get(scorer, SCORERS["WRatio"])
    found = process.extract(
        query if keyed else name_key(query),
        choices,
        scorer=chosen,
        processor=None if keyed else name_key,
        limit=limit,
        score_cutoff=cutoff,
    )
    return [Match(value, round(score, 2)) for value, score, _ in found]


def _by_difflib(query: str, choices: Sequence[str], limit: int, cutoff: float) -> list[Match]:
    wanted = SequenceMatcher(autojunk=False)
    wanted.set_seq2(name_key(query))
    found = []
    for value in choices:
        wanted.set_seq1(name_key(value))
        if 100 * wanted.quick_ratio() >= cutoff:
            score = round(100 * wanted.ratio(), 2)
            if score >= cutoff:
                found.append(Match(value, score))
    return sorted(found, key=lambda match: -match.score)[:limit]
