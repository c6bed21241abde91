"""Runs kept in a file, to compare later ones with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rag.evaluation.metrics import METRICS
from rag.evaluation.questions import Question
from rag.evaluation.run import Outcome, Run, summaries
from rag.exceptions import UsageError

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
