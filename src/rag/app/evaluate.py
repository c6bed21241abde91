"""Measuring how well the search answers a set of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import EvaluateRequest, names_of
from rag.app.snapshot import Snapshot
from rag.evaluation.baseline import check_writable, choose_run, save_runs
from rag.evaluation.comparison import Comparison, compare
from rag.evaluation.judging import Judge
from rag.evaluation.questions import Question
from rag.evaluation.run import Run, run_questions
from rag.search.pipeline import create_search_pipeline
from rag.search.results import QueryFilters

# Given the questions and the mode they are asked in; yields them as they are asked.
Track = Callable[[Iterable[Question], str], Iterable[Question]]


@dataclass(frozen=True)
class ModeReport:
    """A question set asked in one mode.

    :param comparison: with the baseline, if there is one.
    :param compared_with: the mode of that baseline.
    """

    run: Run
    comparison: Comparison | None = None
    compared_with: str = ""


@dataclass(frozen=True)
class EvaluationReport:
    """A question set, asked in some modes.

    :param several: whether several modes were asked for.
    """

    modes: list[ModeReport]
    index: IndexState
    several: bool = False

    @property
    def comparisons(self) -> list[Comparison]:
        """Those with a baseline."""
        return [one.comparison for one in self.modes if one.comparison]

    @property
    def worse(self) -> bool:
        """Whether the search became worse in any mode."""
        return any(comparison.worse for comparison in self.comparisons)


def evaluate(
    snapshot: Snapshot, request: EvaluateRequest, track: Track = lambda questions, _: questions
) -> EvaluationReport:
    """Ask the questions of a snapshot; see `Workspace.evaluate`."""
    if request.save is not None:
        check_writable(request.save)
    state = snapshot.state
    check_vaults(request.vaults, state.roots)
    modes = list(dict.fromkeys(request.modes)) or [snapshot.config.search.mode]
    runs = _runs(snapshot, request, modes, track)
    if request.save is not None:
        save_runs(request.save, runs)
    return EvaluationReport([_compared(run, request) for run in runs], state, len(modes) > 1)


def _runs(
    snapshot: Snapshot, request: EvaluateRequest, modes: list[str], track: Track
) -> list[Run]:
    """Return a run for each mode; `auto` has the name of the mode that it came to."""
    wanted = request.vaults
    transforms = names_of(request.transforms)
    judge = Judge([place for place in snapshot.places() if not wanted or place[0] in wanted])
    filters = QueryFilters(list(wanted) if wanted else None)
    runs: dict[str, Run] = {}
    for mode in modes:
        made = create_search_pipeline(snapshot.store, snapshot.config, transforms=transforms)
        with closing(made) as pipeline:
            run = run_questions(pipeline, track(request.questions, mode), judge, filters, mode)
        runs[run.mode] = run
    return list(runs.values())


def _compared(run: Run, request: EvaluateRequest) -> ModeReport:
    if request.baseline is None:
        return ModeReport(run)
    before = choose_run(dict(request.baseline), run.mode)
    return ModeReport(run, compare(before.outcomes, run.outcomes), before.mode)
