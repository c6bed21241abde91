"""Measuring how well the search answers a set of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import EvaluateRequest, names_of
from rag.app.workspace import Workspace
from rag.evaluation.baseline import check_writable, choose_run, save_runs
from rag.evaluation.comparison import Comparison, Difference, compare
from rag.evaluation.judging import Judge
from rag.evaluation.questions import Question
from rag.evaluation.run import Run, run_questions, score_auc, summaries
from rag.search.pipeline import create_search_pipeline
from rag.search.results import QueryFilters
from rag.support.json_reports import hidden, inline, optional

# Given the questions and the mode they are asked in; yields them as they are asked.
Track = Callable[[Iterable[Question], str], Iterable[Question]]


@dataclass(frozen=True, kw_only=True)
class ModeReport:
    """A question set asked in one mode.

    :param overall: each metric over all questions.
    :param categories: the same by the category of questions.
    :param score_auc: how well the score tells right first results from wrong ones, where there are
        both.
    :param comparison: of each metric with the baseline.
    :param worse: whether the search became worse.
    """

    overall: dict[str, float]
    categories: dict[str, dict[str, float]]
    score_auc: float | None = optional(None)
    comparison: dict[str, Difference] | None = optional(None)
    worse: bool | None = optional(None)
    run: Run = hidden()
    compared: Comparison | None = hidden(None)
    compared_with: str = hidden("")


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """A question set, asked in one mode, whose figures these are, or in several by their names.

    :param worse: of several modes with a baseline: whether the search became worse in any.
    """

    figures: ModeReport | None = inline(None)
    modes: dict[str, ModeReport] | None = optional(None)
    worse: bool | None = optional(None)
    runs: list[ModeReport] = hidden()
    index: IndexState = hidden()

    @property
    def is_worse(self) -> bool:
        """Whether the search became worse in any mode."""
        return any(one.worse for one in self.runs)


def evaluate(
    workspace: Workspace, request: EvaluateRequest, track: Track = lambda questions, _: questions
) -> EvaluationReport:
    """Ask the questions of a workspace; see `Workspace.evaluate`."""
    if request.save is not None:
        check_writable(request.save)
    state = workspace.state
    check_vaults(request.vaults, state.roots)
    modes = list(dict.fromkeys(request.modes)) or [workspace.config.search.mode]
    runs = _runs(workspace, request, modes, track)
    if request.save is not None:
        save_runs(request.save, runs)
    reports = [_mode_report(run, request) for run in runs]
    if len(modes) == 1:
        return EvaluationReport(figures=reports[0], runs=reports, index=state)
    return EvaluationReport(
        modes={one.run.mode: one for one in reports},
        worse=None if request.baseline is None else any(one.worse for one in reports),
        runs=reports,
        index=state,
    )


def _runs(
    workspace: Workspace, request: EvaluateRequest, modes: list[str], track: Track
) -> list[Run]:
    """Return a run for each mode; `auto` has the name of the mode that it came to."""
    wanted = request.vaults
    transforms = names_of(request.transforms)
    notes = workspace.note_names()
    judge = Judge([note[:2] for note in notes if not wanted or note.vault in wanted])
    filters = QueryFilters(list(wanted) if wanted else None)
    runs: dict[str, Run] = {}
    for mode in modes:
        made = create_search_pipeline(workspace.store, workspace.config, transforms=transforms)
        with closing(made) as pipeline:
            run = run_questions(pipeline, track(request.questions, mode), judge, filters, mode)
        runs[run.mode] = run
    return list(runs.values())


def _mode_report(run: Run, request: EvaluateRequest) -> ModeReport:
    """Return the figures of a run, compared with the baseline where there is one."""
    compared, before = None, None
    if request.baseline is not None:
        before = choose_run(dict(request.baseline), run.mode)
        compared = compare(before.outcomes, run.outcomes)
    return ModeReport(
        **summaries(run.outcomes),
        score_auc=score_auc(run.outcomes),
        comparison=compared.differences if compared else None,
        worse=compared.worse if compared else None,
        run=run,
        compared=compared,
        compared_with=before.mode if before else "",
    )
