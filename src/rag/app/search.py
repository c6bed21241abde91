"""Searching: planning included."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState
from rag.app.opening import begin
from rag.app.requests import SearchRequest
from rag.app.snapshot import Snapshot
from rag.clients.factory import embedding_provider
from rag.search.modes import SearchMode
from rag.search.pipeline import create_search_pipeline
from rag.search.results import SearchResponse
from rag.search.run import search as run_search

if TYPE_CHECKING:
    from haystack import Pipeline

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
    config = snapshot.config
    if request.mode in _BY_MEANING:  # insists, whatever was found a minute ago
        embedding_provider(config).forget_silence()

    def make(transforms: list[str] | None) -> Pipeline:
        return create_search_pipeline(snapshot.store, config, request.rerank, transforms)

    opening = begin(snapshot, config, request, request.query, make, "search", request.rerank)
    response = run_search(
        opening.pipeline,
        request.query,
        opening.filters,
        request.top_k or config.search.top_k,
        mode=request.mode or config.search.mode,
        chunks=request.chunks,
        explained=request.explain,
        keep_mode=request.mode is not None,
        intent=opening.plan,
    )
    response.notices = [*opening.notices, *response.notices]
    milliseconds = round((time.monotonic() - started) * 1000)
    return SearchReport(response, opening.plan, opening.state, milliseconds)
