"""What a query means, and what a search would look for, without searching."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import with_model
from rag.app.results import Plan, plan_of
from rag.app.workspace import Workspace
from rag.clients.factory import chat_provider
from rag.config import RAGConfig
from rag.exceptions import QueryError
from rag.query.syntax import bounded, parse_query
from rag.search.components.query_analyzer import understand
from rag.search.components.query_expander import (
    VariantMaker,
    configured_transforms,
    wanted_transforms,
)
from rag.search.components.query_router import QueryRouter
from rag.search.planned_query import find_intent
from rag.search.query import told
from rag.search.relaxation import is_planned
from rag.search.results import QueryFilters, SearchedVariant, SearchMode
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
        plan=plan_of(intent),
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
    filters = [f"{'-' if one.negated else ''}{one.field}:{one.value}" for one in parsed.fields]
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
    variants, more = VariantMaker(config).make(understood.meant, names, dense)
    return TransformReport(
        query=query,
        text=parsed.text,
        filters=filters,
        also=understood.also,
        corrections=understood.corrections,
        route=route,
        mode=mode,
        variants=[told(variant) for variant in variants],
        notices=[*understood.notices, *more],
    )
