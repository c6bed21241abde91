"""Measuring how well the search answers a set of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.app.index_state import IndexState, check_vaults
from rag.app.workspace import Workspace
from rag.evaluation.comparison import (
    Comparison,
    Difference,
    check_writable,
    choose_run,
    compare,
    save_runs,
)
from rag.evaluation.run import Judge, Question, Run, run_questions, score_auc, summaries
from rag.search.results import QueryFilters
from rag.search.run import create_search_pipeline
from rag.support.json_reports import hidden, inline, optional


@dataclass(frozen=True, kw_only=True)
class ModeReport:
    """A question set asked in one mode.

    :param score_auc: how well the score tells right first results from wrong ones, where there are
        both.
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


def evaluate(
    workspace: Workspace,
    questions: Sequence[Question],
    modes: Sequence[str],
    transforms: list[str] | None = None,
    vaults: list[str] | None = None,
    baseline: Mapping[str, Run] | None = None,
    save: Path | None = None,
) -> EvaluationReport:
    """Ask the questions of a set, in each mode of some, and of some vaults only; compare with the
    runs of a baseline, by mode, and keep the runs in a file."""
    if save is not None:
        check_writable(save)
    check_vaults(workspace.config, vaults, workspace.state.roots)
    with workspace.manifest() as manifest:
        notes = [name[:2] for name in manifest.names() if not vaults or name[0] in vaults]
    judge = Judge(notes)
    runs: dict[str, Run] = {}  # `auto` has the name of the mode that it came to
    for mode in modes:
        made = create_search_pipeline(workspace.store, workspace.config, transforms=transforms)
        with closing(made) as pipeline:
            run = run_questions(pipeline, questions, judge, QueryFilters(vaults), mode)
        runs[run.mode] = run
    if save is not None:
        save_runs(save, [*runs.values()])
    reports = {mode: _mode_report(run, baseline) for mode, run in runs.items()}
    is_worse = any(report.worse for report in reports.values())
    several = len(modes) > 1
    return EvaluationReport(
        figures=None if several else reports[run.mode],
        modes=reports if several else None,
        worse=is_worse if several and baseline is not None else None,
        runs=[*reports.values()],
        index=workspace.state,
    )


def _mode_report(run: Run, baseline: Mapping[str, Run] | None) -> ModeReport:
    facts: dict[str, Any] = {"score_auc": score_auc(run.outcomes), "run": run}
    if baseline is not None:
        before = choose_run(dict(baseline), run.mode)
        compared = compare(before.outcomes, run.outcomes)
        facts |= {"comparison": compared.differences, "worse": compared.worse}
        facts |= {"compared": compared, "compared_with": before.mode}
    return ModeReport(**summaries(run.outcomes), **facts)
