"""What a query means, and what a search would look for, without searching."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, check_vaults
from rag.app.opening import with_model
from rag.app.requests import PlanRequest
from rag.app.results import Plan, plan_of
from rag.app.workspace import Workspace
from rag.clients.factory import chat_provider
from rag.config import RAGConfig
from rag.exceptions import QueryError
from rag.query.limits import bounded
from rag.query.syntax import ParsedQuery, parse_query
from rag.search.components.query_expander import (
    VariantMaker,
    configured_transforms,
    wanted_transforms,
)
from rag.search.components.query_router import QueryRouter
from rag.search.modes import SearchMode
from rag.search.planned_query import find_intent
from rag.search.query_variants import told
from rag.search.relaxation import is_planned
from rag.search.results import QueryFilters, SearchedVariant
from rag.search.understanding.query_understanding import Understood, understand
from rag.stores import get_document_store
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.json_reports import hidden, inline, nullable
from rag.text.tokenizer import has_words

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


def plan(workspace: Workspace, request: PlanRequest) -> PlanReport:
    """Return what a query means; nothing is searched.

    :raises RAGError: as for `search`.
    """
    config = _with_model(workspace.config, request)
    filters = request.filters or QueryFilters()
    state, store = workspace.state, workspace.store
    check_vaults(filters.vaults, state.roots)
    bounds = understand(store, request.query).notices  # what no search takes is no query
    found, notices = find_intent(store, config, request.query, filters, full=True)
    is_usual = not (found and found.narrows) or is_planned(store, config, request.query)
    told = [*bounds, *notices]
    return PlanReport(
        query=request.query,
        plan=plan_of(found),
        index=state,
        intent=found,
        notices=told,
        is_usual=is_usual,
    )


def _with_model(config: RAGConfig, request: PlanRequest) -> RAGConfig:
    """Return the settings with one chat model for all that is asked, if one was named."""
    config = with_model(config, request.model, request.no_model, False)
    if not request.model:
        return config
    planner = replace(config.planner, extractor_model="", hyde_model="", router_model="")
    return replace(chat_provider(config).with_model(config, request.model), planner=planner)


@dataclass
class TransformReport:
    """What a search would look for.

    :param text: the words of the query.
    :param filters: what it filters by.
    :param also: what is added to its words.
    :param corrections: words that no note holds, with what would be searched for instead.
    :param route: the one of `[routes]` that it takes.
    :param mode: of search.
    :param variants: what would be searched for besides.
    :param notices: why not as wanted.
    """

    query: str
    text: str
    filters: list[str] = field(default_factory=list)
    also: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)
    route: str = nullable("")
    mode: str = ""
    variants: list[SearchedVariant] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def plan_search(
    config: RAGConfig, query: str, transforms: Sequence[str] | None = None
) -> TransformReport:
    """Find out what a search would look for; nothing is searched, and no index is needed.

    :param transforms: without them those of the query's route, or of `search.transforms`.
    :raises QueryError: when the query is empty or too long.
    :raises UsageError: for a transform, or a vault in the query, that does not exist.
    :raises ConfigError: for a route with a vault or transform that does not exist.
    """
    parsed = parse_query(bounded(query))
    if not parsed:
        raise QueryError("the query is empty", hint='Say what to look for: `rag transform "words"`')
    names = None if transforms is None else wanted_transforms(transforms)
    plan = TransformReport(query, parsed.text, _filters(parsed), mode=config.search.mode)
    with get_document_store(config) as store:
        is_indexed = store.is_readable
        understood = understand(store, query) if is_indexed else _unindexed(query, parsed)
        plan.also, plan.corrections = understood.also, understood.corrections
        plan.notices += understood.notices
        if understood.text and config.routes.classifier:
            names = _route(plan, config, store, understood, names)
        dense = plan.mode != SearchMode.LEXICAL and (
            not is_indexed or store.embedding_dim is not None
        )
    if names is None:
        names = configured_transforms(config.search.transforms, "search.transforms")
    made, notices = VariantMaker(config).make(understood.meant, names, dense)
    plan.variants = [told(variant) for variant in made]
    plan.notices += notices
    return plan


def _unindexed(query: str, parsed: ParsedQuery) -> Understood:
    """Understand what can be without an index."""
    text = parsed.text if has_words(parsed.text) else ""
    return Understood(query, text, vaults=parsed.values("vault"), notices=[*parsed.beyond])


def _route(
    plan: TransformReport,
    config: RAGConfig,
    store: BaseDocumentStore,
    understood: Understood,
    names: list[str] | None,
) -> list[str] | None:
    """Note the route of a query, and return the transforms that come of it."""
    with closing(QueryRouter(store, config.routes, config)) as router:
        keep = bool(understood.vaults)
        routed = router.run(understood.meant, plan.mode, keep_vaults=keep, transforms=names)
    plan.route, plan.mode = routed["route"], routed["mode"]
    plan.notices += filter(None, [routed["notice"]])
    if routed["where"]:
        vaults = config.routes.rules[plan.route]["vaults"]
        plan.filters += [f"vault:{name}" for name in vaults]
    found: list[str] | None = routed["transforms"]
    return found


def _filters(parsed: ParsedQuery) -> list[str]:
    """Return the conditions that a query states, as they are written."""
    stated = [f"{'-' if f.negated else ''}{f.field}:{f.value}" for f in parsed.fields]
    stated += [f'"{phrase}"' for phrase in parsed.phrases]
    stated += [f"-{text}" for text in parsed.excluded]
    return stated + [f"-{prefix}*" for prefix in parsed.excluded_prefixes]
