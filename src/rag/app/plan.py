"""Planning a query, without searching."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag.app.choices import with_model
from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import PlanRequest
from rag.app.snapshot import Snapshot
from rag.clients.factory import chat_provider
from rag.config import RAGConfig
from rag.search.planned_query import find_intent
from rag.search.relaxation import is_planned
from rag.search.results import QueryFilters
from rag.search.understanding.query_understanding import understand

if TYPE_CHECKING:
    from rag.search.planned_query import Intent


@dataclass(frozen=True)
class PlanReport:
    """What a query means.

    :param plan: `None` when it could not be planned; `notices` say why.
    :param is_usual: whether a search filters by it that is not told to plan.
    """

    query: str
    plan: Intent | None
    notices: list[str]
    index: IndexState
    is_usual: bool = True


def plan(snapshot: Snapshot, request: PlanRequest) -> PlanReport:
    """Plan a query; see `Workspace.plan`."""
    config = _with_model(snapshot.config, request)
    filters = request.filters or QueryFilters()
    state, store = snapshot.state, snapshot.store
    check_vaults(filters.vaults, state.roots)
    bounds = understand(store, request.query).notices  # what no search takes is no query
    found, notices = find_intent(store, config, request.query, filters, full=True)
    is_usual = not (found and found.narrows) or is_planned(store, config, request.query)
    return PlanReport(request.query, found, [*bounds, *notices], state, is_usual)


def _with_model(config: RAGConfig, request: PlanRequest) -> RAGConfig:
    """Return the settings with one chat model for all that is asked, if one was named."""
    config = with_model(config, request.model, request.no_model, False)
    if not request.model:
        return config
    planner = replace(config.planner, extractor_model="", hyde_model="", router_model="")
    return replace(chat_provider(config).with_model(config, request.model), planner=planner)
