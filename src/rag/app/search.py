"""Searching: planning included."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rag.app.index_state import IndexState, check_vaults
from rag.app.notes.lines import excerpt_around
from rag.app.requests import SearchRequest
from rag.app.results import Plan, plan_of, unmatched
from rag.app.workspace import Workspace
from rag.search.components.passage_reader import is_question
from rag.search.results import QueryFilters, SearchMode, SearchResponse, SearchResult
from rag.search.run import create_search_pipeline, intent_of
from rag.search.run import search as run_search
from rag.support.json_reports import hidden, optional
from rag.text.messages import brief, plural

if TYPE_CHECKING:
    from rag.search.planned_query import Intent

_WITHOUT_DATE = "vault = ? AND {} = '' AND length(chunks) > 0"
_DATES = {"created": "a date", "modified": "a date of change (times of copied files are none)"}
_NEAREST, _TITLE = 3, 60  # notes that are named where nothing matches; characters of a title


@dataclass(kw_only=True)
class SearchReport(SearchResponse):
    """The results of a search, best first, and what they were found in.

    :param intent: the plan as the engine has it.
    :param nearest: the notes that are named where nothing clearly matches, by the last notice.
    """

    json_order: ClassVar[str] = (
        "query mode route variants timings notices corrections missing results total plan"
        " elapsed_ms index"
    )

    plan: Plan | None = optional(None)
    elapsed_ms: int
    index: IndexState
    intent: Intent | None = hidden()
    nearest: list[SearchResult] = hidden()


def search(workspace: Workspace, request: SearchRequest) -> SearchReport:
    """Find notes; the query is planned first where it asks for that."""
    started = time.monotonic()
    refreshed = workspace.refresh() if request.refresh and not workspace.is_open else ()
    config = workspace.config
    is_read = request.rerank is None and config.search.reader
    by_words = (request.mode or config.search.mode) == SearchMode.LEXICAL
    if is_read and not by_words and is_question(request.query):
        workspace.begin_reading()
    store, index = workspace.store, workspace.state
    filters, names = request.filters or QueryFilters(), request.transforms
    check_vaults(config, filters.vaults, index.roots)
    pipeline = workspace.pipeline(
        lambda: create_search_pipeline(store, config, request.rerank, names),
        *("search", request.rerank, repr(names)),
    )
    intent, notices = intent_of(store, config, request.query, filters, request.plan)
    response = run_search(
        pipeline,
        request.query,
        filters,
        request.top_k or config.search.top_k,
        mode=request.mode or config.search.mode,
        chunks=request.chunks,
        explained=request.explain,
        keep_mode=request.mode is not None,
        intent=intent,
        order=request.order,
    )
    response.notices = [*refreshed, *notices, *response.notices]
    dated = {filters.date_field} if filters.date_from or filters.date_to else set[str]()
    dated |= {"modified"} if filters.modified_from or filters.modified_to else set()
    if dated or not response.results:
        with workspace.manifest() as manifest:
            vaults = filters.vaults or manifest.vaults()
            for name in sorted(dated):
                undated = _WITHOUT_DATE.format(name)
                if left_out := sum(manifest.rows(undated, vault) for vault in vaults):
                    notes = plural(left_out, "note")
                    response.notices.append(f"left out: {notes} without {_DATES[name]}")
            if not response.results:
                query, tags = response.query, response.tags
                response.notices += unmatched(manifest, query, filters, tags, intent, index)
    nearest = _leave_out(response, request)
    index.mark_gone(response.results)
    if nearest:
        titles = ", ".join(brief(result.title, _TITLE) for result in nearest)
        response.notices.append(f"nothing here clearly matches; nearest: {titles}")
    for rank, result in enumerate(response.results, 1):
        result.rank, result.file = rank, str(index.file(result))
        if request.context is not None:
            result.context = excerpt_around(workspace, result, request.context)
    return SearchReport(
        **vars(response),
        plan=plan_of(intent, response.relaxed) if intent else None,
        elapsed_ms=round((time.monotonic() - started) * 1000),
        index=index,
        intent=intent,
        nearest=nearest,
    )


def _leave_out(response: SearchResponse, request: SearchRequest) -> list[SearchResult]:
    """Leave out what nothing bears or scores too little; return what is nearest if all is."""
    results, nearest = response.results, list[SearchResult]()
    if not request.everything:
        borne = [hit for hit in results if hit.is_borne]
        nearest = [] if borne else results[:_NEAREST]
        results = borne
    least = request.min_score
    kept = [hit for hit in results if hit.score >= least or not any(hit.scores.values())]
    if results and not kept:
        best, left_out = max(hit.score for hit in results), plural(len(results), "result")
        response.notices.append(f"{left_out} left out, the best of which scores {best:.2f}")
    response.results, response.total = kept, len(kept)
    return nearest
