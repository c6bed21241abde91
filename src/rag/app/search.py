"""Searching: planning included."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState
from rag.app.notes.lines import Excerpt, read_excerpts
from rag.app.opening import begin
from rag.app.properties import asked_properties, unknown_properties
from rag.app.requests import SearchRequest
from rag.app.snapshot import Snapshot
from rag.config import RAGConfig
from rag.exceptions import RAGError
from rag.search.embedding_choice import embeddings_for
from rag.search.modes import SearchMode
from rag.search.pipeline import create_search_pipeline
from rag.search.relaxation import wants_plan
from rag.search.results import QueryFilters, SearchResponse, SearchResult
from rag.search.run import search as run_search
from rag.text.messages import brief, plural

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.search.planned_query import Intent

_NEAREST, _TITLE = 3, 60  # notes that are named where nothing matches; characters of a title
_BY_MEANING = (SearchMode.DENSE, SearchMode.HYBRID)


@dataclass(frozen=True)
class SearchReport:
    """The results of a search.

    :param plan: how the query was planned, if it was.
    :param index: the state of the index that was searched.
    :param excerpts: the lines around each result, where a request wants them.
    :param milliseconds: from the request to the report.
    :param nearest: the notes that are named where nothing clearly matches.
    """

    response: SearchResponse
    plan: Intent | None
    index: IndexState
    milliseconds: int
    excerpts: list[Excerpt] = field(default_factory=list)
    nearest: list[SearchResult] = field(default_factory=list)

    @property
    def notices(self) -> list[str]:
        """Those of the response, and one that names the nearest notes."""
        if not self.nearest:
            return self.response.notices
        titles = ", ".join(brief(one.title, _TITLE) for one in self.nearest)
        said = f"nothing here clearly matches; nearest: {titles}"
        return [*self.response.notices, f"{said} (--all shows them)"]


def search(snapshot: Snapshot, request: SearchRequest) -> SearchReport:
    """Search a snapshot; see `Workspace.search`."""
    started = time.monotonic()
    if not request.refresh or snapshot.is_open:
        report = _search(snapshot, request)
    else:
        report = _search_refreshed(snapshot, request)
    return replace(report, milliseconds=round((time.monotonic() - started) * 1000))


def _search_refreshed(snapshot: Snapshot, request: SearchRequest) -> SearchReport:
    """Search after what changed was indexed: most often nothing was, so the search goes first."""
    from rag.app.refresh import Refresh

    report = None
    with Refresh(snapshot.config) as refresh:
        if not refresh.is_over and _may_repeat(snapshot.config, request):
            snapshot.reopen(0)  # that is seen to
            with suppress(RAGError):  # it may be over with the change; else it comes again
                report = _search(snapshot, request)
        if report is None or refresh.has_begun():
            snapshot.reopen(0)  # before the writer removes what is read
        changed, notices, is_new = refresh.result()
        if report is None or is_new:
            snapshot.reopen(changed)
            report = _search(snapshot, request)
    report.response.notices = [*notices, *report.response.notices]
    return replace(report, index=replace(report.index, changed=changed))


def _may_repeat(config: RAGConfig, request: SearchRequest) -> bool:
    """Return whether nobody notices a search that is done twice: no model is asked for more than an
    embedding, and no plan goes on record."""
    is_planned = wants_plan(config, request.query, request.plan)
    transforms = config.search.transforms if request.transforms is None else request.transforms
    return not (is_planned or transforms or request.rerank)


def _search(snapshot: Snapshot, request: SearchRequest) -> SearchReport:
    if request.like is not None:
        from rag.app.related.similar import similar_notes

        return _report(snapshot, request, similar_notes(snapshot, request.like, request))
    return _search_query(snapshot, request)


def _search_query(snapshot: Snapshot, request: SearchRequest) -> SearchReport:
    config = snapshot.config
    if request.mode in _BY_MEANING:  # insists, whatever was found a minute ago
        embeddings_for(snapshot.store, config).forget_silence()

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
        order=request.order,
    )
    undated = _undated(snapshot, opening.filters)
    response.notices = [*opening.notices, *response.notices, *undated]
    if response.tags and not response.results:
        from rag.app.interpretation_text import unknown_tags

        state, plan = snapshot.state, opening.plan
        response.notices += unknown_tags(response.tags, plan, state)
    if not response.results:
        with snapshot.manifest() as manifest:
            asked = asked_properties(manifest, request.query, opening.filters)
            response.notices += unknown_properties(manifest, asked)
    return _report(snapshot, request, response, opening.plan)


def _undated(snapshot: Snapshot, filters: QueryFilters) -> Iterator[str]:
    """Yield how many notes a filter by the day of creation leaves out, since they have none."""
    if not (filters.date_from or filters.date_to) or filters.date_field != "created":
        return
    with snapshot.manifest() as manifest:
        count = manifest.count_without_date(filters.vaults)
    if count:
        yield f"left out: {plural(count, 'note')} without a date"


def _report(
    snapshot: Snapshot,
    request: SearchRequest,
    response: SearchResponse,
    plan: Intent | None = None,
) -> SearchReport:
    """Return a response with what a request wants to know of its results."""
    nearest = [] if request.everything else _leave_out_unborne(response)
    _leave_out_low(response, request.min_score)
    snapshot.state.mark_gone(response.results)
    around = request.context
    excerpts = [] if around is None else read_excerpts(snapshot, response.results, around)
    return SearchReport(response, plan, snapshot.state, 0, excerpts, nearest)


def _leave_out_unborne(response: SearchResponse) -> list[SearchResult]:
    """Leave out what neither words nor nearness bear; where nothing is left, return the nearest."""
    kept = [one for one in response.results if one.is_borne]
    nearest = [] if kept else response.results[:_NEAREST]
    response.results, response.total = kept, len(kept)
    return nearest


def _leave_out_low(response: SearchResponse, least: float) -> None:
    """Leave out what scores less, and say so where nothing else was found."""
    kept = [one for one in response.results if one.score >= least or not any(one.scores.values())]
    low = len(response.results) - len(kept)
    if low and not kept:
        best, left_out = max(one.score for one in response.results), plural(low, "result")
        response.notices.append(f"{left_out} left out, the best of which scores {best:.2f}")
    response.results, response.total = kept, len(kept)
