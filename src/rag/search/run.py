"""The function that runs the search pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from haystack import Pipeline

from rag.exceptions import QueryError
from rag.search.components.query_analyzer import check_top_k, readable
from rag.search.filters import check_order, ordered_results
from rag.search.matching_line import place_results
from rag.search.pipeline import ANALYZER
from rag.search.query import Hit, Retrieval
from rag.search.relaxation import Attempt, Outcome, attempts, run_attempts
from rag.search.relevance import are_borne, excess_of, weigh
from rag.search.results import QueryFilters, SearchMode, SearchResponse, SearchResult
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.pipeline_parts import component_of, own_errors
from rag.vault.frontmatter import properties_of

if TYPE_CHECKING:
    from haystack import Document

    from rag.search.planned_query import Intent


def search(
    pipeline: Pipeline,
    query: str,
    filters: QueryFilters | None = None,
    top_k: int = 5,
    *,
    mode: str | None = None,
    chunks: bool = False,
    explained: bool = False,
    keep_mode: bool = False,
    intent: Intent | None = None,
    order: str = "",
) -> SearchResponse:
    """Run a search.

    :param query: plain words, or the syntax of `rag.query.syntax`; without any, but with filters,
        the notes that they select are listed, the newest first.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`; without it `search.mode`.
    :param chunks: list chunks, several of one note perhaps, instead of notes.
    :param keep_mode: let no route change the mode, which is only a default otherwise.
    :param intent: from `find_intent`; what was only understood is dropped when nothing fits.
    :param order: of the results, or of the notes that are listed; see `rag.search.filters`.
    :raises QueryError: when the query is empty or the search fails; `UsageError`: for a vault in it
        that does not exist; `IndexUnavailableError`: without an index, or the embeddings for
        `mode`; `ConnectionError`: when `mode` needs an embedding of the query and there is none.
    """
    check_top_k(top_k)
    if order:
        check_order(order)
    store = open_store(pipeline)
    analyzer: Any = pipeline.get_component(ANALYZER)
    mode = analyzer.mode if mode is None else mode
    filters = None if filters == QueryFilters() else filters
    lists = isinstance(query, str) and not query.strip() and filters is not None
    given = {"top_k": top_k, "chunks": chunks, "order": order}

    def run(attempt: Attempt) -> dict[str, Any]:
        inputs = given | attempt.inputs | {"lists": lists or attempt.inputs.get("lists")}
        # Haystack copies each of them, which takes a while: those that say nothing are left out.
        asked = {name: value for name, value in inputs.items() if value or name == "text"}
        outputs: dict[str, Any] = pipeline.run({ANALYZER: asked})
        return outputs

    with store.pinned(), own_errors(QueryError, "the search failed"):
        tries = attempts(query, filters, mode, keep_mode, intent, lists_time=True)
        outcome = run_attempts(tries, run)
        retrieval, searched = outcome.retrieval, outcome.retrieval.query
        ids = [hit.id for hit in retrieval.hits]
        vectors = store.embeddings_of(ids) if searched.embedding else {}
        by_words = searched.mode != SearchMode.DENSE  # otherwise they count nothing
        results = to_results(retrieval, excess_of(store, retrieval, vectors), by_words)
        response = to_response(outcome, query, results)
        finders = place_results(store, response, retrieval, vectors)
        if explained:
            from rag.search.explanation import explain  # most searches do without it

            for result, why in zip(results, explain(store, retrieval, finders), strict=True):
                result.explanation = why
        if order:
            response.results = ordered_results(store.manifest(), results, order)
    return response


def open_store(pipeline: Pipeline, *needed: str) -> BaseDocumentStore:
    """Return the store that a pipeline searches, which must have the `needed` components besides.

    :raises IndexUnavailableError: when there is no index; `QueryError`: for a pipeline without
        these.
    """
    for name in (ANALYZER, *needed):
        if component_of(pipeline, name) is None:
            raise QueryError(
                f"the pipeline has no {name}: an older version of rag made it",
                hint="Make it again with create_search_pipeline or create_qa_pipeline.",
            )
    analyzer: Any = pipeline.get_component(ANALYZER)
    return readable(analyzer.document_store)


def to_response(outcome: Outcome, query: str, results: list[SearchResult]) -> SearchResponse:
    """Return what was found, and what there is to tell of it.

    :param query: as it was typed.
    :param results: from `to_results`.
    """
    attempt, searched = outcome.attempt, outcome.retrieval.query
    before = [attempt.notice] if attempt.notice and results else []
    return SearchResponse(
        query=query,
        results=results,
        total=len(results),
        mode=searched.mode,
        notices=[*before, *outcome.notices, *searched.notices],
        relaxed=attempt.relaxed and bool(results),
        searched=searched.searched,
        corrections=searched.corrections,
        missing=[*outcome.missing],
        near_words={word: near for word, near in outcome.missing.items() if near},
        tags=searched.tags,
        route=searched.route,
        variants=[*searched.variants],
        timings=dict(searched.timings),
    )


def to_results(
    retrieval: Retrieval, excess: Mapping[str, float] | None = None, by_words: bool = True
) -> list[SearchResult]:
    """Turn loaded hits into results.

    :param excess: from `rag.search.relevance.excess_of`.
    :param by_words: whether words counted.
    """
    query, hits = retrieval.query, retrieval.hits
    evidence = weigh(hits, query.full, excess, by_words, retrieval.beyond)
    is_listed, is_literal = by_words and not query.text, by_words and query.is_literal
    results = []
    for hit, proof, is_borne in zip(hits, evidence, are_borne(evidence), strict=True):
        assert hit.document
        result = to_result(hit.document, hit, proof.score())
        result.is_borne = is_listed or (is_borne and not (is_literal and not proof.has_words))
        results.append(result)
    # A reranker may have changed the order.
    ranked = [r for _, r in sorted(zip(hits, results, strict=True), key=lambda h: -h[0].score)]
    # None is shown with a higher score than one before it.
    for result, score in zip(ranked, accumulate((r.score for r in ranked), min), strict=True):
        result.score = 0.0 if is_listed else score
    return results


_FROM_META: dict[str, Any] = {
    **dict.fromkeys(("file_path", "title", "vault", "created"), str),
    **dict.fromkeys(("position", "repeated", "page"), int),
    **dict.fromkeys(("heading", "tags"), list),
}


def to_result(document: Document, hit: Hit, probability: float = 0.0) -> SearchResult:
    """Turn one hit into a result, shown by a chunk."""
    meta = document.meta
    meaning = sum(part.weight * part.meaning for part in hit.parts)
    gains = sum(part.weight * sum(part.gains) for part in hit.parts)
    scores = {"lexical": max(0.0, hit.score - meaning - gains)}
    if meaning:
        scores |= {"meaning": meaning, "cosine": hit.parts[0].cosine}
    if gains:
        scores["variants"] = gains
    if hit.rank:
        scores["retrieval_rank"] = hit.rank
    return SearchResult(
        id=str(meta.get("file_id", "")),
        content=document.content or "",
        score=probability,
        **{name: kind(meta.get(name) or kind()) for name, kind in _FROM_META.items()},
        line_start=int(meta.get("line_start", 1)),
        line_end=int(meta.get("line_end", 1)),
        line=int(meta.get("line_start", 1)),
        scores=scores,
        duplicates=[f"{d.meta.get('vault')}/{d.meta.get('file_path')}" for d in hit.duplicates],
        properties=properties_of(meta),
        chunk=document.id,
    )
