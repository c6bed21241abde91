"""Measured searches in schema 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.evaluation.run import score_auc, summaries

if TYPE_CHECKING:
    from rag.app.evaluate import EvaluationReport, ModeReport


def report_to_json(report: EvaluationReport) -> dict[str, Any]:
    """Return the figures of one mode, or of several by their names."""
    if not report.several:
        return _mode_to_json(report.modes[0])
    worse = {"worse": report.worse} if report.comparisons else {}
    return {"modes": {one.run.mode: _mode_to_json(one) for one in report.modes}, **worse}


def _mode_to_json(report: ModeReport) -> dict[str, Any]:
    figures = summaries(report.run.outcomes)
    found: dict[str, Any] = {
        "overall": _rounded(figures["overall"]),
        "categories": {name: _rounded(figure) for name, figure in figures["categories"].items()},
    }
    auc = score_auc(report.run.outcomes)
    if auc is not None:
        found["score_auc"] = round(auc, 6)
    if comparison := report.comparison:
        found["comparison"] = {
            name: {"difference": one.difference, "low": one.low, "high": one.high}
            for name, one in comparison.differences.items()
        }
        found["worse"] = comparison.worse
    return found


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in figures.items()}
