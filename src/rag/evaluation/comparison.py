"""Telling a change from chance: the paired bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.evaluation.metrics import METRICS
from rag.evaluation.run import LATENCY, Outcome
from rag.exceptions import UsageError
from rag.support.json_reports import hidden

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DECIDING = "ndcg_10"  # the metric that says whether a run is worse
FEW = 6  # of fewer questions the interval is too narrow: a sign test of 5 cannot reach 95 %
_RESAMPLES = 10_000
_SEED = 20
_AT_ONCE = 2_000_000  # numbers held in memory at a time
_DIGITS = 6


@dataclass(frozen=True)
class Difference:
    """A metric in two runs: `difference` is now less baseline, and lies between `low` and `high`
    (95 %), all rounded to six digits, so that what is judged is what is shown."""

    difference: float
    low: float
    high: float
    baseline: float = hidden()
    now: float = hidden()


@dataclass(frozen=True)
class Comparison:
    """Two runs, compared on the questions that are in both and say the same.

    The lists hold the ids of the questions left out.
    """

    differences: dict[str, Difference]
    queries: int
    only_baseline: list[str]
    only_now: list[str]
    changed: list[str]

    @property
    def worse(self) -> bool:
        """Whether the interval of nDCG@10 lies wholly below 0: a drop that is hardly chance."""
        return self.differences[DECIDING].high < 0

    @property
    def same(self) -> bool:
        """Whether nDCG@10 and both ends of its interval did not move at all."""
        one = self.differences[DECIDING]
        return one.low == one.difference == one.high == 0

    @property
    def better(self) -> bool:
        """Whether the interval of nDCG@10 lies wholly above 0."""
        return self.differences[DECIDING].low > 0


def compare(baseline: list[Outcome], now: list[Outcome]) -> Comparison:
    """Compare two runs question by question.

    A question is the same when its id, its query and the notes it names are: a number that
    stands for another question now must not be paired with the old one.

    :raises UsageError: when no question is in both.
    """
    before = {one.question.id: one for one in baseline}
    after = {one.question.id: one for one in now}
    both = [name for name in before if name in after]
    same = [name for name in both if _content(before[name]) == _content(after[name])]
    if not same:
        raise UsageError(
            "the baseline and this question set share no question",
            hint="Make a baseline with the same set: `rag eval QUESTIONS --save FILE`",
        )
    return Comparison(
        differences([before[name] for name in same], [after[name] for name in same]),
        len(same),
        only_baseline=[name for name in before if name not in after],
        only_now=[name for name in after if name not in before],
        changed=[name for name in both if name not in set(same)],
    )


def _content(one: Outcome) -> tuple[str, frozenset[str], frozenset[str]]:
    question = one.question
    return question.query, frozenset(question.relevant), frozenset(question.partial)


def differences(baseline: list[Outcome], now: list[Outcome]) -> dict[str, Difference]:
    """Return the difference of each metric and of the median latency (ms), with its interval.

    The percentile interval of the paired bootstrap: 10,000 times a set of the same size is
    drawn from the questions, with replacement, and both runs are measured on it; the middle
    95 % of the differences are the interval. Efron and Tibshirani, "An Introduction to the
    Bootstrap", 1993, ch. 13; Sakai, "Evaluating evaluation metrics based on the bootstrap",
    SIGIR 2006. The seed is fixed: the same runs give the same interval.

    The interval says what other questions would change. Of the latency it does not say what a
    busier machine would change, and so the latency decides nothing.

    :param baseline: one outcome of each question.
    :param now: the same questions in the same order.
    """
    import numpy as np

    names = [*METRICS, LATENCY]
    old, new = _table(baseline), _table(now)
    drawn = np.empty((_RESAMPLES, len(names)))
    random = np.random.default_rng(_SEED)
    count = len(baseline)
    rows = max(1, _AT_ONCE // count)
    for first in range(0, _RESAMPLES, rows):
        part = slice(first, min(first + rows, _RESAMPLES))
        draw = random.integers(0, count, (part.stop - first, count))
        for column in range(len(METRICS)):
            drawn[part, column] = (new[column] - old[column])[draw].mean(axis=1)
        drawn[part, -1] = np.median(new[-1][draw], axis=1) - np.median(old[-1][draw], axis=1)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    ends = zip(_summary(old), _summary(new), low, high, strict=True)
    return {
        # + 0.0 turns a negative zero into a plain one.
        name: Difference(
            *(round(float(x), _DIGITS) + 0.0 for x in (became - was, least, most, was, became))
        )
        for name, (was, became, least, most) in zip(names, ends, strict=True)
    }


def _table(outcomes: list[Outcome]) -> NDArray[np.float64]:
    """Return one row for each metric and, last, for the latency; one column for each question."""
    import numpy as np

    rows = [[one.metrics[name] for one in outcomes] for name in METRICS]
    return np.array([*rows, [one.latency_ms for one in outcomes]])


def _summary(table: NDArray[np.float64]) -> list[float]:
    import numpy as np

    return [*map(float, table[:-1].mean(axis=1)), float(np.median(table[-1]))]
