"""Asking a question set of the index."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from haystack import Pipeline

from rag.evaluation.judging import Judge, Place, gains
from rag.evaluation.metrics import DEPTH, METRICS, score
from rag.evaluation.questions import Question
from rag.exceptions import QueryError, UsageError
from rag.search.modes import SearchMode
from rag.search.results import QueryFilters
from rag.search.run import search

LATENCY = "latency_ms_p50"


@dataclass(frozen=True)
class Outcome:
    """What became of one question: `ranked` lists `vault/path`, best first, and `score` is that of
    the first, 0 where nothing was found."""

    question: Question
    ranked: list[str]
    metrics: dict[str, float]
    latency_ms: float
    score: float = 0.0


@dataclass
class Run:
    """A question set, asked in one mode, and the questions whose notes the index has not.

    `notices` are the first that a search gave.
    """

    mode: str
    outcomes: list[Outcome] = field(default_factory=list)
    unknown: list[Question] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def run_questions(
    pipeline: Pipeline,
    questions: Iterable[Question],
    judge: Judge,
    filters: QueryFilters | None = None,
    mode: str = SearchMode.AUTO,
) -> Run:
    """Search for each question and measure what is found.

    A question whose notes the index does not hold is a miss like any other.

    :param pipeline: from `create_search_pipeline`.
    :param mode: of the search; of `auto` the run has the name of what it came to.
    :raises IndexUnavailableError: when there is no index, or it is damaged.
    :raises QueryError: when a search fails.
    """
    run, used = Run(mode), set()
    for question in questions:
        started = time.perf_counter()
        try:
            keep = mode != SearchMode.AUTO  # it is to be measured, whatever the routes
            response = search(pipeline, question.query, filters, DEPTH, mode=mode, keep_mode=keep)
        except (QueryError, UsageError) as error:
            raise UsageError(f"question {question.id}: {error.message}", hint=error.hint) from error
        milliseconds = (time.perf_counter() - started) * 1000
        found = [Place(result.vault, result.file_path) for result in response.results]
        judged = judge.judged(question)
        metrics = score(gains(found, judged), [one.gain for one in judged])
        ranked, first = [*map(str, found)], next((r.score for r in response.results), 0.0)
        run.outcomes.append(Outcome(question, ranked, metrics, milliseconds, first))
        run.notices = run.notices or response.notices
        used.add(response.mode)
        if not judge.knows(question):
            run.unknown.append(question)
    if (
        mode == SearchMode.AUTO
    ):  # a hybrid search may find that some queries are better searched lexically
        run.mode = SearchMode.HYBRID if SearchMode.HYBRID in used else SearchMode.LEXICAL
    return run


def summary(outcomes: list[Outcome]) -> dict[str, float]:
    """Return the mean of each metric, the median latency, and the number of `queries`."""
    return {
        **{name: fmean(one.metrics[name] for one in outcomes) for name in METRICS},
        LATENCY: median(one.latency_ms for one in outcomes),
        "queries": len(outcomes),
    }


def score_auc(outcomes: Iterable[Outcome]) -> float | None:
    """Return how well the score tells right first results from wrong ones, in [0, 1].

    It is the area under the ROC curve: how often a right first result scores more than a wrong one
    of another question; equal scores count a half (Hanley and McNeil, Radiology 143(1), 1982).
    `None` where none is right or none is wrong.
    """
    right: list[float] = []
    wrong: list[float] = []
    for one in outcomes:
        (right if one.metrics["hit_1"] else wrong).append(one.score)
    if not (right and wrong):
        return None
    wrong.sort()
    below = [(bisect_left(wrong, score) + bisect_right(wrong, score)) / 2 for score in right]
    return fmean(below) / len(wrong)


def summaries(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return `overall` and, by name in the order of the set, `categories`."""
    groups: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.question.category:
            groups.setdefault(one.question.category, []).append(one)
    return {
        "overall": summary(outcomes),
        "categories": {name: summary(group) for name, group in groups.items()},
    }
