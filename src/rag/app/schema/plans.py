"""Plans of queries in schema 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.plan import PlanReport
    from rag.search.planned_query import Intent


def report_to_json(report: PlanReport) -> dict[str, Any]:
    """Return what a query means as schema 1 has it.

    :raises TypeError: when it was not planned.
    """
    if report.plan is None:
        raise TypeError("the query was not planned")
    index = report.index.to_json()
    return {"query": report.query, **plan_to_json(report.plan), "index": index}


def plan_to_json(intent: Intent, relaxed: bool = False) -> dict[str, Any]:
    """Return an intent as schema 1 has it.

    :param relaxed: whether the filters of the plan were let go.
    """
    from rag.app.interpretation_text import understood_line

    plan = intent.plan.model_dump(mode="json", exclude={"query", "intent"})
    chosen = intent.plan.intent
    return {
        "understood": understood_line(intent),
        "route": chosen.primary_route.value,
        "route_by": chosen.by,
        "route_reason": chosen.reason,
        "narrows": intent.narrows,
        "relaxed": relaxed,
        **plan,
        "text": intent.text,
        "latency_ms": intent.milliseconds,
        "audit": intent.audit or None,
    }
