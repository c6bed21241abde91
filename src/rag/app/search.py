"""Searching: planning included."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import IndexState
from rag.app.notes.lines import Excerpt, read_excerpts
from rag.app.opening import begin
from rag.app.requests import SearchRequest
from rag.app.results import Plan, Result, plan_of, result_of
from rag.app.workspace import Workspace
from rag.query.property_values import is_comparison, value_test
from rag.query.syntax import parse_query
from rag.search.embedding_choice import embeddings_for
from rag.search.modes import SearchMode
from rag.search.pipeline import create_search_pipeline
from rag.search.results import QueryFilters, SearchedVariant, SearchResponse, SearchResult
from rag.search.run import search as run_search
from rag.search.understanding.query_understanding import known_properties
from rag.support.json_reports import hidden, optional
from rag.text.messages import brief, plural
from rag.text.normalize import name_key

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.index.manifest import Manifest
    from rag.search.planned_query import Intent

_NEAREST, _TITLE = 3, 60  # notes that are named where nothing matches; characters of a title
_MOST_VALUES = 1_000  # of a property, among which a near one is looked for
_NEAR = 3  # properties, or values of one, that are named
_BY_MEANING = (SearchMode.DENSE, SearchMode.HYBRID)


@dataclass(frozen=True, kw_only=True)
class SearchReport:
    """The results of a search, best first.

    :param mode: how they were found: `lexical`, `dense` or `hybrid`; `notices` say why not as
        wanted.
    :param route: the one of `[routes]` that the query took.
    :param variants: what was searched for besides the query.
    :param timings: the milliseconds that `transforms` took.
    :param corrections: words that no note holds, with what was searched for instead.
    :param missing: the other words that no note holds.
    :param plan: how the query was planned, if it was.
    :param elapsed_ms: from the request to the report.
    :param index: the state of the index that was searched.
    :param response: the results as the engine gives them; `intent` is the plan as it does.
    :param excerpts: the lines around each result, where a request wants them.
    :param nearest: the notes that are named where nothing clearly matches.
    """

    query: str
    mode: str
    route: str = optional("")
    variants: list[SearchedVariant] = optional(factory=list)
    timings: dict[str, float] = optional(factory=dict)
    notices: list[str]
    corrections: dict[str, str]
    missing: list[str]
    results: list[Result]
    total: int
    plan: Plan | None = optional(None)
    elapsed_ms: int
    index: IndexState
    response: SearchResponse = hidden()
    intent: Intent | None = hidden()
    excerpts: list[Excerpt] = hidden()
    nearest: list[SearchResult] = hidden()


class _Search(NamedTuple):
    """What a search gave, before it is told, and how its query was planned."""

    response: SearchResponse
    intent: Intent | None = None


def search(workspace: Workspace, request: SearchRequest) -> SearchReport:
    """Find notes; the query is planned first where it asks for that.

    :raises IndexUnavailableError: when there is no index.
    :raises UsageError: for a vault that is not in it.
    :raises QueryError: for a query that cannot be searched.
    """
    started = time.monotonic()
    refreshed = workspace.refresh() if request.refresh and not workspace.is_open else ()
    response, intent = _search(workspace, request)
    response.notices = [*refreshed, *response.notices]
    nearest = [] if request.everything else _leave_out_unborne(response)
    _leave_out_low(response, request.min_score)
    index, results = workspace.state, response.results
    index.mark_gone(results)
    around = request.context
    excerpts = [] if around is None else read_excerpts(workspace, results, around)
    return SearchReport(
        query=response.query,
        mode=response.mode,
        route=response.route,
        variants=response.variants,
        timings=response.timings,
        notices=[*response.notices, *_nearest_notice(nearest)],
        corrections=response.corrections,
        missing=[*response.missing],
        results=[
            result_of(result, index, rank=rank, context=excerpts[rank - 1] if excerpts else None)
            for rank, result in enumerate(results, 1)
        ],
        total=response.total,
        plan=plan_of(intent, response.relaxed),
        elapsed_ms=round((time.monotonic() - started) * 1000),
        index=index,
        response=response,
        intent=intent,
        excerpts=excerpts,
        nearest=nearest,
    )


def _search(workspace: Workspace, request: SearchRequest) -> _Search:
    """Search once."""
    if request.like is not None:
        from rag.app.related.similar import similar_notes

        return _Search(similar_notes(workspace, request.like, request))
    config = workspace.config
    if request.mode in _BY_MEANING:  # insists, whatever was found a minute ago
        embeddings_for(workspace.store, config).forget_silence()

    def make(transforms: list[str] | None) -> Pipeline:
        return create_search_pipeline(workspace.store, config, request.rerank, transforms)

    opening = begin(workspace, config, request, request.query, make, "search", request.rerank)
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
    undated = _undated(workspace, opening.filters)
    response.notices = [*opening.notices, *response.notices, *undated]
    if response.tags and not response.results:
        from rag.app.interpretation_text import unknown_tags

        state, plan = workspace.state, opening.plan
        response.notices += unknown_tags(response.tags, plan, state)
    if not response.results:
        with workspace.manifest() as manifest:
            asked = _asked_properties(manifest, request.query, opening.filters)
            response.notices += _unknown_properties(manifest, asked)
    return _Search(response, opening.plan)


def _undated(workspace: Workspace, filters: QueryFilters) -> Iterator[str]:
    """Yield how many notes a filter by the day of creation leaves out, since they have none."""
    if not (filters.date_from or filters.date_to) or filters.date_field != "created":
        return
    with workspace.manifest() as manifest:
        count = manifest.count_without_date(filters.vaults)
    if count:
        yield f"left out: {plural(count, 'note')} without a date"


def _leave_out_unborne(response: SearchResponse) -> list[SearchResult]:
    """Leave out what neither words nor nearness bear; where nothing is left, return the nearest."""
    kept = [one for one in response.results if one.is_borne]
    nearest = [] if kept else response.results[:_NEAREST]
    response.results, response.total = kept, len(kept)
    return nearest


def _nearest_notice(nearest: list[SearchResult]) -> Iterator[str]:
    """Yield which notes are nearest, where nothing clearly matches."""
    if nearest:
        titles = ", ".join(brief(one.title, _TITLE) for one in nearest)
        yield f"nothing here clearly matches; nearest: {titles} (--all shows them)"


def _leave_out_low(response: SearchResponse, least: float) -> None:
    """Leave out what scores less, and say so where nothing else was found."""
    kept = [one for one in response.results if one.score >= least or not any(one.scores.values())]
    low = len(response.results) - len(kept)
    if low and not kept:
        best, left_out = max(one.score for one in response.results), plural(low, "result")
        response.notices.append(f"{left_out} left out, the best of which scores {best:.2f}")
    response.results, response.total = kept, len(kept)


def _asked_properties(
    manifest: Manifest, query: str, filters: QueryFilters
) -> Iterator[tuple[str, str]]:
    """Yield name and value of each property that a query, or filters beside it, want."""
    yield from (filters.values or {}).items()
    for term in parse_query(query, known_properties(manifest, query)).properties:
        if not term.negated:
            yield term.field, term.value


def _unknown_properties(manifest: Manifest, asked: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield what to say of each property, or value of one, that no note has.

    :param asked: names in lower case, and values.
    """
    catalogue = manifest.catalogue
    for name, value in asked:
        fields = catalogue.fields()
        if name not in fields:
            near = get_close_matches(name, fields, _NEAR, 0.6)
            yield f"no note has the property {brief(name)!r}" + _also(near)
        elif not catalogue.bearing(name, value_test(value)):
            values = catalogue.values(name, _MOST_VALUES)
            near = values[:_NEAR] if is_comparison(value) else _near_values(value, values)
            yield f"no note has the {brief(name)} {brief(value)!r}" + _also(near)


def _near_values(value: str, values: Iterable[str]) -> list[str]:
    """Return those that are written much alike, and else those that have the value as a part."""
    known = {name_key(one): one for one in values}
    wanted = name_key(value)
    near = get_close_matches(wanted, known, _NEAR, 0.5) or [key for key in known if wanted in key]
    return [known[key] for key in near[:_NEAR]]


def _also(near: list[str]) -> str:
    return f"; near: {', '.join(map(brief, near))}" if near else ""
