"""Telling a change from chance: the paired bootstrap."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.evaluation.questions import Question
from rag.evaluation.run import LATENCY, METRICS, Outcome, Run, summaries
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


_KIND = "rag eval"
_SCHEMA = 1
_HINT = "Make one with `rag eval QUESTIONS --save FILE`."


def save_runs(file: Path, runs: Iterable[Run]) -> None:
    """Write runs with every question's ranking and metrics.

    :raises UsageError: when the file cannot be written.
    """
    modes = {run.mode: {**summaries(run.outcomes), "questions": _rows(run)} for run in runs}
    text = json.dumps({"schema": _SCHEMA, "kind": _KIND, "modes": modes}, ensure_ascii=False)
    try:
        file.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise _cannot_write(file, error.strerror or str(error)) from error


def check_writable(file: Path) -> None:
    """Refuse a place where `save_runs` cannot write, before the work of a run is done.

    :raises UsageError: for a folder, or a file in a folder that does not exist.
    """
    if file.is_dir():
        raise _cannot_write(file, "it is a folder")
    if not file.absolute().parent.is_dir():
        raise _cannot_write(file, "its folder does not exist")


def _cannot_write(file: Path, cause: str) -> UsageError:
    return UsageError(f"cannot write {file}", cause, hint="Name another file: --save FILE")


def load_runs(file: Path) -> dict[str, Run]:
    """Read the runs of a file by mode.

    :raises UsageError: when it cannot be read, is no file of `save_runs`, or one of another
        schema.
    """
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {file}", error.strerror or str(error), hint=_HINT) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is no baseline: it is not JSON", hint=_HINT) from error
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise UsageError(f"{file} is no baseline: it holds no saved run", hint=_HINT)
    if found.get("schema") != _SCHEMA:
        raise UsageError(
            f"{file} is a baseline of schema {found.get('schema')!r}, not {_SCHEMA}",
            hint=f"Another version of rag made it. {_HINT}",
        )
    try:
        runs = {
            mode: Run(mode, [_outcome(row) for row in run["questions"]])
            for mode, run in found["modes"].items()
        }
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise UsageError(f"{file} is a damaged baseline", hint=_HINT) from error
    return runs


def choose_run(runs: dict[str, Run], mode: str) -> Run:
    """Return the run to compare a mode with: that of the same mode, or the only one there is.

    :raises UsageError: when there are several, none of them of this mode.
    """
    if mode in runs:
        return runs[mode]
    if len(runs) == 1:
        return next(iter(runs.values()))
    kept = ", ".join(runs) or "none"
    raise UsageError(f"the baseline has no run of mode {mode} (it has: {kept})", hint=_HINT)


def _rows(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "id": one.question.id,
            "query": one.question.query,
            "relevant": one.question.relevant,
            "partial": one.question.partial,
            "category": one.question.category,
            "ranked": one.ranked,
            "metrics": one.metrics,
            "latency_ms": one.latency_ms,
        }
        for one in run.outcomes
    ]


def _outcome(row: dict[str, Any]) -> Outcome:
    """Read one question of a file; any exception of a wrong shape means that it is damaged."""
    texts = (row["id"], row["query"], row["category"], *row["relevant"], *row["partial"])
    metrics = {name: float(row["metrics"][name]) for name in METRICS}
    latency = float(row["latency_ms"])
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    if not all(0 <= value <= 1 for value in metrics.values()) or not 0 <= latency < float("inf"):
        raise ValueError
    question = Question(
        row["id"], row["query"], tuple(row["relevant"]), tuple(row["partial"]), row["category"]
    )
    return Outcome(question, list(row["ranked"]), metrics, latency)
