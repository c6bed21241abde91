"""Telling a change from chance: the paired bootstrap."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from rag.evaluation.run import LATENCY, METRICS, Outcome, Question, Run, cause_of, summaries
from rag.exceptions import UsageError
from rag.support.json_reports import hidden

DECIDING = "ndcg_10"  # the metric that says whether a run is worse
FEW = 6  # of fewer questions the interval is too narrow: a sign test of 5 cannot reach 95 %
_RESAMPLES = 10_000
_SEED = 20
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
    """Two runs, compared on the questions that are in both and say the same; `left_out` are the ids
    of the others."""

    differences: dict[str, Difference]
    queries: int
    left_out: list[str]

    @property
    def worse(self) -> bool:
        """Whether the interval of nDCG@10 lies wholly below 0: a drop that is hardly chance."""
        return self.differences[DECIDING].high < 0

    @property
    def same(self) -> bool:
        """Whether nDCG@10 and both ends of its interval did not move at all."""
        deciding = self.differences[DECIDING]
        return deciding.low == deciding.difference == deciding.high == 0

    @property
    def better(self) -> bool:
        """Whether the interval of nDCG@10 lies wholly above 0."""
        return self.differences[DECIDING].low > 0


def compare(baseline: list[Outcome], now: list[Outcome]) -> Comparison:
    """Compare two runs on the questions that have the same id, query and notes in both: a number
    that stands for another question now must not be paired with the old one.

    :raises UsageError: when no question is in both.
    """
    before = {outcome.question.id: outcome for outcome in baseline}
    after = {outcome.question.id: outcome for outcome in now}
    same = [
        name for name in before if name in after and _content(before[name]) == _content(after[name])
    ]
    if not same:
        raise UsageError(
            "the baseline and this question set share no question",
            hint="Make a baseline with the same set: `rag eval QUESTIONS --save FILE`",
        )
    return Comparison(
        _differences([before[name] for name in same], [after[name] for name in same]),
        len(same),
        [name for name in {**before, **after} if name not in same],
    )


def _content(outcome: Outcome) -> tuple[str, frozenset[str], frozenset[str]]:
    question = outcome.question
    return question.query, frozenset(question.relevant), frozenset(question.partial)


def _differences(baseline: list[Outcome], now: list[Outcome]) -> dict[str, Difference]:
    """Return the difference of each metric and of the median latency (ms), with the percentile
    interval (95 %) of the paired bootstrap: 10,000 sets of the same size, drawn with replacement
    and a fixed seed. Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13; Sakai,
    "Evaluating evaluation metrics based on the bootstrap", SIGIR 2006. It says what other questions
    would change, and not what a busier machine would: the latency decides nothing.
    """
    import numpy as np

    draws = np.random.default_rng(_SEED).integers(0, len(baseline), (_RESAMPLES, len(baseline)))
    differences = {}
    for name in (*METRICS, LATENCY):
        old, new = (
            np.array([o.latency_ms if name == LATENCY else o.metrics[name] for o in run])
            for run in (baseline, now)
        )
        middle = np.median if name == LATENCY else np.mean
        resampled = middle(new[draws], axis=1) - middle(old[draws], axis=1)
        least, most = np.percentile(resampled, (2.5, 97.5))
        was, became = middle(old), middle(new)
        figures = (became - was, least, most, was, became)
        # + 0.0 turns a negative zero into a plain one.
        differences[name] = Difference(*(round(float(x), _DIGITS) + 0.0 for x in figures))
    return differences


_HINT = "Make one with `rag eval QUESTIONS --save FILE`."


@dataclass(frozen=True, kw_only=True)
class _SavedQuestion(Question):
    """A question, and how a run answered it."""

    ranked: list[str]
    metrics: dict[str, Annotated[float, Field(ge=0, le=1)]]
    latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    def outcome(self) -> Outcome:
        question = Question(self.id, self.query, self.relevant, self.partial, self.category)
        metrics = {name: self.metrics[name] for name in METRICS}
        return Outcome(question, self.ranked, metrics, self.latency_ms)


@dataclass
class _SavedRun:
    questions: list[_SavedQuestion]


@dataclass
class _SavedRuns:
    schema: Literal[1]
    kind: Literal["rag eval"]
    modes: dict[str, _SavedRun]


def save_runs(file: Path, runs: Sequence[Run]) -> None:
    """Write runs with every question's ranking and metrics.

    :raises UsageError: when the file cannot be written.
    """
    answered = ("ranked", "metrics", "latency_ms")
    modes: dict[str, Any] = {}
    for run in runs:
        rows = [
            asdict(row.question) | {n: getattr(row, n) for n in answered} for row in run.outcomes
        ]
        modes[run.mode] = {**summaries(run.outcomes), "questions": rows}
    text = json.dumps({"schema": 1, "kind": "rag eval", "modes": modes}, ensure_ascii=False)
    try:
        file.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}", error.strerror or "") from error


def check_writable(file: Path) -> None:
    """Refuse a place where `save_runs` cannot write, before the work of a run is done.

    :raises UsageError: for a folder, or a file in a folder that does not exist.
    """
    if file.is_dir() or not file.absolute().parent.is_dir():
        hint = "Name a file in a folder that is there: --save FILE"
        raise UsageError(f"cannot write {file}", hint=hint)


def load_runs(file: Path) -> dict[str, Run]:
    """Read the runs of a file by mode.

    :raises UsageError: when it cannot be read, or is no file of `save_runs`.
    """
    try:
        saved = TypeAdapter(_SavedRuns).validate_python(from_json(file.read_bytes()))
        return {
            mode: Run(mode, [row.outcome() for row in run.questions])
            for mode, run in saved.modes.items()
        }
    except OSError as error:
        raise UsageError(f"cannot read {file}", error.strerror or "", hint=_HINT) from error
    except (ValueError, KeyError) as error:
        why = "it is not JSON"
        if isinstance(error, ValidationError):
            why = cause_of(error)
        elif isinstance(error, KeyError):
            why = f"the metric {error} is missing"
        raise UsageError(f"{file} is not a saved run: {why}", hint=_HINT) from error


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
