"""The function that runs the search pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from haystack import Document as HaystackDocument
from haystack import Pipeline

from rag.exceptions import QueryError
from rag.search.components.note_ranker import Hit, Hits
from rag.search.components.query_analyzer import check_top_k, readable
from rag.search.explanation import Found, explain, trace
from rag.search.filters import check_order, ordered_results
from rag.search.matching_line import point_at_matches
from rag.search.pipeline import RERANKER
from rag.search.planning import ANALYZER, EXPANDER, LISTED, ROUTER, Planned, planned
from rag.search.query_variants import WEIGHTS, told
from rag.search.relaxation import Attempt, attempts, holds_all, in_a_mode
from rag.search.relevance import are_borne, excess_of, in_order, weigh
from rag.search.results import NearWord, QueryFilters, SearchMode, SearchResponse, SearchResult
from rag.search.understanding.query_understanding import Understood, understand
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.base.scored_chunk import cosines_of
from rag.support.pipeline_errors import own_errors
from rag.support.pipeline_parts import component_of, store_of
from rag.text.bm25 import query_terms
from rag.vault.properties import properties_of

if TYPE_CHECKING:
    from rag.search.planned_query import Intent

# The components whose outputs tell how a query was searched, and what was found.
TOLD = {"query_embedder", "retriever", "loader", RERANKER, ROUTER, EXPANDER}


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

    :param pipeline: from `create_search_pipeline`.
    :param query: plain words, or the syntax of `rag.query.syntax`; without any, but with filters,
        the notes that they select are listed, the newest first.
    :param top_k: how many results. `search.top_k` is for commands, and for a pipeline that runs by
        itself.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`; without it `search.mode`.
    :param chunks: list chunks, several of one note perhaps, instead of notes.
    :param explained: take each result's score apart.
    :param keep_mode: let no route change the mode. Without it a mode is only the default of
        queries whose route has none, as `search.mode` is.
    :param intent: what the query and the filters mean, from `rag.search.planned_query.find_intent`;
        filters that were only understood are dropped when nothing fits them.
    :param order: of the results, or of the notes that are listed; see `rag.search.filters`.
    :raises QueryError: when the query is empty or the search fails.
    :raises UsageError: for a vault in the query that does not exist.
    :raises IndexUnavailableError: when there is no index, or it is damaged, or it holds no
        embeddings that `mode` could use.
    :raises ConnectionError: when `mode` needs an embedding of the query and there is none.
    """
    check_top_k(top_k)
    store = open_store(pipeline)
    top_k, mode = chosen(pipeline, top_k, mode)
    check_order(order)
    is_blank = isinstance(query, str) and not query.strip()
    is_filtered = is_blank and filters not in (None, QueryFilters())
    with store.pinned(), own_errors(QueryError, "the search failed"):
        missing: dict[str, NearWord | None] = {}
        for attempt in attempts(query, filters, mode, keep_mode, intent, lists_time=True):
            lists = attempt.lists or is_filtered
            understood = understand(store, attempt.query, attempt.filters, lists)
            if attempt.lists:  # though a list does without the words
                understood = replace(understood, missing=missing)
            if attempt.whole and (understood.missing or understood.corrections):
                continue
            understood = replace(understood, order=order) if order else understood
            output, searched = _searched(pipeline, understood, attempt, top_k, chunks)
            if attempt.whole and not holds_all(store, output["hits"], understood.text):
                continue
            missing = understood.missing
            if output["documents"]:
                break
        documents, embedding = output["documents"], searched.embedding
        vectors = store.embeddings_of([one.id for one in documents]) if embedding else {}
        results = to_results(
            understood,
            documents,
            output["hits"],
            output["duplicates"],
            excess_of(store, documents, vectors, embedding, searched.background),
            searched.mode != SearchMode.DENSE,
            output.get("beyond", ()),
        )
        response = to_response(output, understood, searched, attempt, query, results)
        # numpy takes longer to import than a search by words runs.
        cosines = cosines_of(vectors, embedding) if embedding else {}
        point_at_matches(store, response, cosines)
        found = tell_found(store, response, output["hits"], searched)
        if explained:
            is_dense = response.mode == SearchMode.DENSE  # words count nothing then
            asked = (
                [] if is_dense else query_terms(understood.text, understood.also, WEIGHTS.fields)
            )
            text = "" if is_dense else understood.known
            explanations = explain(store, asked, output["hits"], found, text)
            for result, why in zip(response.results, explanations, strict=True):
                result.explanation = why
        response.results = ordered_results(store.manifest(), response.results, order)
    return response


def chosen(pipeline: Pipeline, top_k: int | None, mode: str | None) -> tuple[int, str]:
    """Return how many results are wanted and how they are searched: where nobody said so, as the
    settings of the pipeline say."""
    analyzer: Any = pipeline.get_component(ANALYZER)
    return analyzer.top_k if top_k is None else top_k, analyzer.mode if mode is None else mode


def _searched(
    pipeline: Pipeline, understood: Understood, attempt: Attempt, top_k: int, chunks: bool
) -> tuple[dict[str, Any], Planned]:
    """Return what the last component gave, and what there is to tell of those before."""

    def run(attempt: Attempt) -> dict[str, Any]:
        inputs = {ANALYZER: {**analysed(understood, attempt, top_k), "chunks": chunks}}
        outputs: dict[str, Any] = pipeline.run(inputs, include_outputs_from=TOLD)
        return outputs

    outputs, notices = in_a_mode(attempt, run)
    last = outputs.get(RERANKER) or outputs["loader"]
    found = planned(outputs) if understood.text else LISTED
    return last, found._replace(notices=[*notices, *found.notices])


def analysed(understood: Understood, attempt: Attempt, top_k: int) -> dict[str, Any]:
    """Return what a pipeline's analyzer is run with for a query that was read."""
    return {
        "text": attempt.query,
        "understood": understood,
        "top_k": top_k,
        "mode": attempt.mode,
        "keep_mode": attempt.keep_mode,
        "variants": attempt.variants,
        "rerank": attempt.rerank,
    }


def tell_found(
    store: BaseDocumentStore, response: SearchResponse, hits: Hits, searched: Planned
) -> list[Found]:
    """Tell each result of a response what found it.

    :param searched: from `planned`.
    """
    found = trace(store, hits, searched.variants, searched.plain)
    for result, one in zip(response.results, found, strict=True):
        result.found_by = one.by
    return found


def open_store(pipeline: Pipeline, *needed: str) -> BaseDocumentStore:
    """Return the store that a pipeline searches.

    :param needed: names of components that it must have besides.
    :raises IndexUnavailableError: when there is no index.
    :raises QueryError: for a pipeline of an older version.
    """
    for name in (ANALYZER, *needed):
        if component_of(pipeline, name) is None:
            raise QueryError(
                f"the pipeline has no {name}: an older version of rag made it",
                hint="Make it again with create_search_pipeline or create_qa_pipeline.",
            )
    return readable(store_of(pipeline, ANALYZER))


def to_response(
    output: dict[str, Any],
    understood: Understood,
    searched: Planned,
    attempt: Attempt,
    query: str,
    results: list[SearchResult],
) -> SearchResponse:
    """Return what was found, and what there is to tell of it.

    :param searched: from `planned`.
    :param attempt: how it was searched.
    :param query: as it was typed.
    :param results: from `to_results`.
    """
    for result, rank in zip(results, output.get("ranks") or [], strict=False):
        result.scores["retrieval_rank"] = rank
    return SearchResponse(
        query=query,
        results=results,
        total=len(results),
        mode=searched.mode,
        notices=[
            *filter(None, [attempt.notice if results else ""]),
            *understood.notices,
            *searched.notices,
            *filter(None, [output.get("notice")]),
        ],
        relaxed=attempt.relaxed and bool(results),
        searched=understood.searched,
        corrections=understood.corrections,
        missing=understood.missing,
        tags=understood.tags,
        route=searched.route,
        variants=[told(variant) for variant in searched.variants],
        timings=dict(searched.timings),
    )


def to_results(
    understood: Understood,
    documents: Sequence[HaystackDocument],
    hits: Sequence[Hit],
    duplicates: Sequence[list[HaystackDocument]],
    excess: Mapping[str, float] | None = None,
    by_words: bool = True,
    beyond: Sequence[Hit] = (),
) -> list[SearchResult]:
    """Turn ranked documents into results.

    :param excess: from `rag.search.relevance.excess_of`.
    :param by_words: whether words counted.
    :param beyond: see `rag.search.relevance.weigh`.
    """
    evidence = weigh(hits, understood.full, excess, by_words, beyond)
    is_listed, is_literal = by_words and not understood.text, by_words and understood.is_literal
    results = [
        to_result(
            document,
            hit,
            same,
            one.score(),
            is_listed or (is_borne and not (is_literal and not one.has_words)),
        )
        for document, hit, same, one, is_borne in zip(
            documents, hits, duplicates, evidence, are_borne(evidence), strict=True
        )
    ]
    # A reranker may have changed the order.
    ranked = [r for _, r in sorted(zip(hits, results, strict=True), key=lambda h: -h[0].score)]
    for result, score in zip(ranked, in_order([r.score for r in ranked]), strict=True):
        result.score = 0.0 if is_listed else score
    return results


def to_result(
    document: HaystackDocument,
    hit: Hit,
    duplicates: list[HaystackDocument],
    probability: float,
    is_borne: bool,
) -> SearchResult:
    """Turn one ranked document into a result."""
    meta, score = document.meta, document.score or 0.0
    meaning = sum(part.weight * part.meaning for part in hit.parts)
    gains = sum(part.weight * sum(part.gains) for part in hit.parts)
    scores = {"lexical": max(0.0, score - meaning - gains)}
    if meaning:
        scores |= {"meaning": meaning, "cosine": hit.parts[0].cosine}
    if gains:
        scores["variants"] = gains
    return SearchResult(
        content=document.content or "",
        score=probability,
        file_path=str(meta.get("file_path", "")),
        title=str(meta.get("title", "")),
        vault=str(meta.get("vault", "")),
        position=int(meta.get("position", 0)),
        heading=list(meta.get("heading") or []),
        line_start=int(meta.get("line_start", 1)),
        line_end=int(meta.get("line_end", 1)),
        line=int(meta.get("line_start", 1)),
        repeated=int(meta.get("repeated", 0)),
        tags=list(meta.get("tags") or []),
        created=str(meta.get("created", "")),
        scores=scores,
        duplicates=[f"{d.meta.get('vault')}/{d.meta.get('file_path')}" for d in duplicates],
        properties=properties_of(meta),
        chunk=document.id,
        is_borne=is_borne,
    )
