"""The plans on record; and making one again, from what the models said then."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import date
from itertools import islice
from typing import Any

from rag.app.index_state import open_index
from rag.config import PlannerConfig, RAGConfig, planner_config
from rag.exceptions import ConfigError, QueryError
from rag.index.manifest import ManifestCatalogue
from rag.query import parse_date_range
from rag.query.llm import ReplayAsker
from rag.query.metadata import MetadataTransformer
from rag.query.planner.audit_log import AuditRecord, AuditTrail
from rag.query.planner.plan import FullTransformationResult
from rag.query.router import IntentRouter
from rag.support.json_reports import hidden

_LAST = 10
_PARTS = ("intent", "metadata", "hyde")


@dataclass(frozen=True)
class AuditReport:
    """The plans on record, the newest first.

    :param first: the day from which on they were wanted.
    :param problem: why not all of them can be read.
    :param skipped: how many lines hold no record.
    """

    records: list[AuditRecord]
    first: date | None = hidden(None)
    problem: str = hidden("")
    skipped: int = hidden(0)


@dataclass(frozen=True)
class RecordReport:
    """One plan on record."""

    record: AuditRecord


@dataclass(frozen=True)
class Difference:
    """A field of a plan, such as `metadata.tags`, that is another now."""

    field: str
    stored: Any
    replayed: Any


@dataclass(frozen=True)
class Replay:
    """A recorded plan, and the one that is made of the same query now.

    :param notices: why the two may differ: the index changed, the record was cut, ...
    """

    id: str
    query: str
    same: bool
    differences: list[Difference]
    notices: list[str]


def list_records(
    config: RAGConfig, last: int | None = None, since: str | None = None
) -> AuditReport:
    """List the plans on record: the last so many, those since a day as people write it, or ten."""
    first = None if since is None else parse_date_range(since).first
    trail = AuditTrail(config.data_dir)
    records = list(islice(trail.records(first), last or (None if first else _LAST)))
    return AuditReport(records, first, trail.problem, trail.skipped)


def find_record(config: RAGConfig, beginning: str) -> RecordReport:
    """Return the plan whose id begins so.

    :raises UsageError: when there is none, or there are several.
    """
    return RecordReport(AuditTrail(config.data_dir).find(beginning))


def replay(config: RAGConfig, record: AuditRecord) -> Replay:
    """Plan a recorded query again: with the settings, the flags and the day of then, with what the
    models said then, and against the index as it is now. No model is asked; a plug-in is.

    :raises QueryError: when the record's settings cannot be.
    """
    known, notices = {setting.name for setting in fields(PlannerConfig)}, list[str]()
    if others := ", ".join(sorted(known ^ {*record.settings})):
        notices.append(f"the settings of another version of rag were recorded ({others})")
    given = {name: value for name, value in record.settings.items() if name in known}
    try:
        settings = planner_config(given, "the record")
    except ConfigError as error:
        why = f"the settings of {record.id or 'the record'} cannot be: {error.message}"
        raise QueryError(why, hint="`rag audit ID` shows them.") from error
    router = IntentRouter(settings.router)
    planner = MetadataTransformer(settings, ReplayAsker(record.trace), router)
    with open_index(config) as manifest:
        catalogue = ManifestCatalogue(manifest)
        if catalogue.digest() != record.catalogue:
            notices.append("the index changed since: names may be there that were not, or be gone")
        result = planner.transform(
            record.query, catalogue, flags=record.flags, today=record.today, full=record.full
        )
    if record.cut:
        notices.append("the record is not whole, so that the plan cannot be made quite as it was")
    before, now = _flat(record.result), _flat(result)
    differences = [
        Difference(name, before.get(name), now.get(name))
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
    return Replay(record.id, record.query, not differences, differences, notices)


def _flat(result: FullTransformationResult) -> dict[str, Any]:
    """Return the fields of a plan as JSON has them; those of its parts by their dotted names."""
    plan: dict[str, Any] = json.loads(json.dumps(result.model_dump(), default=str))
    for part in _PARTS:
        plan |= {f"{part}.{name}": value for name, value in plan.pop(part).items()}
    return plan
