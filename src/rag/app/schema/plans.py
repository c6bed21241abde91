"""Plans of queries in schema 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.app.schema.variants import variant_to_json

if TYPE_CHECKING:
    from rag.app.audit import AuditReport, RecordReport, Replay
    from rag.app.plan import PlanReport
    from rag.app.transform_preview import TransformReport
    from rag.query.planner.audit_log import AuditRecord
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

    :param relaxed: whether the filters of the plan were dropped.
    """
    from rag.app.interpretation_text import interpretation_line

    plan = intent.plan.model_dump(mode="json", exclude={"query", "intent"})
    chosen = intent.plan.intent
    return {
        "understood": interpretation_line(intent),
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


def transform_to_json(report: TransformReport) -> dict[str, Any]:
    """Return what would be searched."""
    return {
        "query": report.query,
        "text": report.text,
        "filters": report.filters,
        "also": report.also,
        "corrections": report.corrections,
        "route": report.route or None,
        "mode": report.mode,
        "variants": [variant_to_json(variant) for variant in report.variants],
        "notices": report.notices,
    }


def audit_to_json(report: AuditReport) -> dict[str, Any]:
    """Return the plans on record."""
    return {"records": [record_to_json(record) for record in report.records]}


def one_record_to_json(report: RecordReport) -> dict[str, Any]:
    """Return one plan on record."""
    return {"record": record_to_json(report.record)}


def replay_to_json(replay: Replay) -> dict[str, Any]:
    """Return how a plan that is made again compares with its record."""
    return {
        "id": replay.record.id,
        "query": replay.record.query,
        "same": replay.same,
        "differences": [difference._asdict() for difference in replay.differences],
        "notices": replay.notices,
    }


def record_to_json(record: AuditRecord) -> dict[str, Any]:
    """Return a plan as it is recorded."""
    from json import loads

    from rag.query.planner.audit_log import encoded

    found: dict[str, Any] = loads(encoded(record))
    return found
