"""What a query means, and what a search would look for, without searching; the plans on record, and
making one again, from what the models said then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

from rag.app.index_state import IndexState, check_vaults, open_index
from rag.app.requests import with_model
from rag.app.results import Plan, plan_of
from rag.app.workspace import Workspace
from rag.clients.factory import chat_provider
from rag.config import PlannerConfig, RAGConfig, planner_config
from rag.exceptions import ConfigError, QueryError
from rag.query import parse_date_range
from rag.query.llm import ReplayAsker
from rag.query.metadata import MetadataTransformer
from rag.query.planner.audit_log import AuditRecord, AuditTrail
from rag.query.planner.plan import FullTransformationResult
from rag.query.syntax import bounded, parse_query
from rag.search.components.query_analyzer import understand
from rag.search.components.query_expander import (
    QueryExpander,
    configured_transforms,
    wanted_transforms,
)
from rag.search.components.query_router import QueryRouter
from rag.search.planned_query import find_intent
from rag.search.results import QueryFilters, SearchedVariant, SearchMode
from rag.search.run import is_planned
from rag.stores import get_document_store
from rag.support.json_reports import hidden, inline, nullable

if TYPE_CHECKING:
    from rag.search.planned_query import Intent


@dataclass(frozen=True, kw_only=True)
class PlanReport:
    """What a query means.

    :param plan: `None` when it could not be planned; `notices` say why.
    :param intent: the plan as the search takes it.
    :param is_usual: whether a search filters by it that is not told to plan.
    """

    query: str
    plan: Plan | None = inline()
    index: IndexState
    intent: Intent | None = hidden()
    notices: list[str] = hidden()
    is_usual: bool = hidden()


def plan(
    workspace: Workspace,
    query: str,
    filters: QueryFilters | None = None,
    model: str = "",
    no_model: bool = False,
) -> PlanReport:
    """Return what a query means; nothing is searched.

    :param model: the chat model that is asked, and no other; "" for those of the settings.
    """
    config = with_model(workspace.config, no_model)
    if model:
        planner = replace(config.planner, extractor_model="", hyde_model="", router_model="")
        config = replace(chat_provider(config).with_model(config, model), planner=planner)
    filters = filters or QueryFilters()
    state, store = workspace.state, workspace.store
    check_vaults(config, filters.vaults, state.roots)
    bounds = understand(store, query).notices  # what no search takes is no query
    intent, notices = find_intent(store, config, query, filters, full=True)
    return PlanReport(
        query=query,
        plan=plan_of(intent) if intent else None,
        index=state,
        intent=intent,
        notices=[*bounds, *notices],
        is_usual=not (intent and intent.narrows) or is_planned(store, config, query),
    )


@dataclass(frozen=True, kw_only=True)
class TransformReport:
    """What a search would look for.

    :param also: what is added to its words.
    :param corrections: words that no note holds, with what would be searched for instead.
    :param route: the one of `[routes]` that it takes.
    :param notices: why not as wanted.
    """

    query: str
    text: str
    filters: list[str]
    also: list[str]
    corrections: dict[str, str]
    route: str = nullable()
    mode: str
    variants: list[SearchedVariant]
    notices: list[str]


def plan_search(
    config: RAGConfig, query: str, transforms: Sequence[str] | None = None
) -> TransformReport:
    """Return what a search would look for; nothing is searched.

    :param transforms: without them those of the query's route, or of `search.transforms`.
    :raises UsageError: for a transform, or a vault in the query, that does not exist.
    """
    parsed = parse_query(bounded(query))
    if not parsed:
        raise QueryError("the query is empty", hint='Say what to look for: `rag transform "words"`')
    names = None if transforms is None else wanted_transforms(transforms)
    route, mode = "", config.search.mode
    filters = [f"{'-' if term.negated else ''}{term.field}:{term.value}" for term in parsed.fields]
    filters += [f'"{phrase}"' for phrase in parsed.phrases]
    filters += [f"-{text}" for text in parsed.excluded]
    filters += [f"-{prefix}*" for prefix in parsed.excluded_prefixes]
    with get_document_store(config) as store:
        understood = replace(understand(store, query), mode=mode, transforms=names)
        if understood.text and config.routes.classifier:
            router = QueryRouter(store, config.routes, config, keep_transforms=names is not None)
            with closing(router):
                routed = router.run(understood)["query"]
            route, mode, names = routed.route, routed.mode, routed.transforms
            if routed.filters != understood.filters:
                filters += [f"vault:{name}" for name in config.routes.rules[route]["vaults"]]
            understood = routed
        dense = mode != SearchMode.LEXICAL and store.embedding_dim is not None
    if names is None:
        names = configured_transforms(config.search.transforms, "search.transforms")
    variants, more = QueryExpander(None, config=config).make(understood.meant, names, dense)
    return TransformReport(
        query=query,
        text=parsed.text,
        filters=filters,
        also=understood.also,
        corrections=understood.corrections,
        route=route,
        mode=mode,
        variants=[*variants],
        notices=[*understood.notices, *more],
    )


# -- the plans on record ---------------------------------------------------------------

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
    models said then, and against the index as it is now. No model is asked.

    :raises QueryError: when the record's settings cannot be.
    """
    names, notices = {setting.name for setting in fields(PlannerConfig)}, list[str]()
    if others := ", ".join(sorted(names ^ {*record.settings})):
        notices.append(f"the settings of another version of rag were recorded ({others})")
    given = {name: value for name, value in record.settings.items() if name in names}
    try:
        settings = planner_config(given, "the record")
    except ConfigError as error:
        why = f"the settings in {record.id or 'the record'} do not fit: {error.message}"
        raise QueryError(why, hint="`rag audit ID` shows them.") from error
    planner = MetadataTransformer(settings, ReplayAsker(record.trace))
    with open_index(config) as manifest:
        catalogue = manifest.catalogue
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
