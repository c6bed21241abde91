"""The score that is shown: how sure it is that a note is what was searched for.

What notes are ranked by says little by itself: the same sum is much for a query of one word and
little for one of ten. The score that is shown compares between queries. It is

    x / (1 + x),  x = .4 · c^1.5 · √s,  c = s / full

`s` is what the note scores by words and `full` what a text of average length would that held each
word of the query once: `c` is how much of the query was found, and may exceed 1. That much found
means more the rarer the words are, which is in `s`. The two exponents were chosen for the area
under the curve of right and wrong first results (docs/ranking.md); the factor puts a text that
holds the only word of a query, one in a thousand, a little above the middle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rag.search.components.form_ranker import full_gain
from rag.search.weights import WEIGHTS
from rag.text.bm25 import query_terms

_FACTOR, _COVERAGE, _EVIDENCE = 0.4, 1.5, 0.5
_LIKENESS = 4.0
_MOST_COVERED = 100.0
_CALLED_SO = 0.8  # at least, for a note whose name is the query
_IN_TEXT = ("words", "grams", "edges")  # fields that a text with all words of a query has


def full_score(text: str, rarity: Callable[[int], float]) -> float:
    """Return what a text of average length scores that holds each word of a query once.

    :param text: of the query, corrected.
    :param rarity: what it tells of a text that it has a dimension of the lexical index.
    """
    terms = query_terms(text, weights=WEIGHTS.fields)
    words = sum(t.weight * rarity(t.dimension) for t in terms if t.field in _IN_TEXT)
    return words + full_gain(text, rarity)


def relevance(words: float, full: float, meaning: float = 0.0, is_named: bool = False) -> float:
    """Return the score that is shown, in [0, 1).

    Words and meaning are each a reason to be right by themselves: the score is that not both are
    wrong. What a cosine is worth differs by model, so the nearest of a search is worth a half, and
    what is less near by far less.

    :param words: what a note scores by words, 0 or more.
    :param full: from `full_score`.
    :param meaning: how near it is in meaning, as a share of how near the nearest chunk is.
    :param is_named: whether the note's title, alias or file name is the query.
    """
    near = 0.0 if math.isnan(meaning) else min(max(0.0, meaning), 1.0)
    wrong: float = 1.0 / (1.0 + near**_LIKENESS)
    if full > 0 and words > 0 and math.isfinite(words):
        covered = min(words / full, _MOST_COVERED)
        wrong /= 1.0 + _FACTOR * covered**_COVERAGE * words**_EVIDENCE
    if is_named:
        wrong *= 1.0 - _CALLED_SO
    return 1.0 - wrong


def in_order(scores: Sequence[float]) -> list[float]:
    """Return the scores of ranked results so that none exceeds one before it."""
    least = 1.0
    return [least := min(least, score) for score in scores]
