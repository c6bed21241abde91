"""Searching: planning included."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, check_vaults
from rag.app.requests import SearchRequest
from rag.app.snapshot import Snapshot
from rag.search.modes import SearchMode
from rag.search.pipeline import create_search_pipeline
from rag.search.relaxation import intent_of
from rag.search.results import QueryFilters, SearchResponse
from rag.search.run import search as run_search

if TYPE_CHECKING:
    from rag.search.planned_query import Intent

_BY_MEANING = (SearchMode.DENSE, SearchMode.HYBRID)


@dataclass(frozen=True)
class SearchReport:
    """The results of a search.

    :param plan: how the query was planned, if it was.
    :param index: the state of the index that was searched.
    :param milliseconds: from the request to the report.
    """

    response: SearchResponse
    plan: Intent | None
    index: IndexState
    milliseconds: int


def search(snapshot: Snapshot, request: SearchRequest) -> SearchReport:
    """Search a snapshot; see `Workspace.search`."""
    started = time.monotonic()
    config, state, store = snapshot.config, snapshot.state, snapshot.store
    filters = request.filters or QueryFilters()
    check_vaults(filters.vaults, state.roots)
    if request.mode in _BY_MEANING:  # insists, whatever was found a minute ago
        from rag.clients.ollama.silent_servers import forget

        forget(config.ollama.embedding_urls)
    transforms = list(request.transforms or ())
    pipeline = snapshot.pipeline(
        lambda: create_search_pipeline(store, config, request.rerank, transforms or None),
        *("search", request.rerank, *transforms),
    )
    plan, notices = intent_of(store, config, request.query, filters, request.plan)
    response = run_search(
        pipeline,
        request.query,
        filters,
        request.top_k or config.search.top_k,
        mode=request.mode or config.search.mode,
        chunks=request.chunks,
        explained=request.explain,
        keep_mode=request.mode is not None,
        intent=plan,
    )
    response.notices = [*notices, *response.notices]
    return SearchReport(response, plan, state, round((time.monotonic() - started) * 1000))
