"""The search pipeline, and the function that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from haystack import Document as HaystackDocument
from haystack import Pipeline

from rag.config import OllamaConfig, RAGConfig, complete
from rag.exceptions import IndexUnavailableError, QueryError
from rag.index.snapshots import NO_INDEX, NO_INDEX_HINT
from rag.search.attribution import Found, trace
from rag.search.components.lexical_embedder import LexicalTextEmbedder
from rag.search.components.llm_ranker import DEPTH, ModelReranker
from rag.search.components.note_ranker import (
    ChunkRetriever,
    DocumentLoader,
    Hit,
    Hits,
    NoteRanker,
)
from rag.search.components.query_embedder import AUTO, DENSE, QueryEmbedder
from rag.search.explanation import explain
from rag.search.filter_listing import CHUNKS_PER_NOTE, list_notes
from rag.search.planning import LISTED, Planned, add_planning, plan_inputs, planned
from rag.search.query_understanding import Understood, understand
from rag.search.query_variants import told
from rag.search.relaxation import Attempt, attempts, in_a_mode
from rag.search.results import QueryFilters, SearchResponse, SearchResult
from rag.stores.base.protocol import NoteStore
from rag.support.pipeline_errors import own_errors
from rag.text.bm25 import bounded_score, query_terms

if TYPE_CHECKING:
    from rag.search.planned_query import Intent

# Chunks asked of the store at least: some notes fill the top with chunks of their own.
_MIN_CHUNKS = 100


def create_search_pipeline(
    store: NoteStore,
    config: RAGConfig | OllamaConfig | None = None,
    rerank: bool = False,
    transforms: list[str] | None = None,
) -> Pipeline:
    """Make the search pipeline.

        embedder (LexicalTextEmbedder)   -> retriever (ChunkRetriever) -> ranker (NoteRanker)
        query_embedder (QueryEmbedder)  ->      -> loader (DocumentLoader)

    With transforms an expander (QueryExpander) hands the query's variants to the query_embedder
    and the retriever; with routes a router (QueryRouter) stands before all. It serialises:
    `Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])`.

    :param config: without it the settings in force; of an `OllamaConfig` alone, the others are.
    :param rerank: let the chat model order the best results anew.
    :param transforms: names of `rag.query.registry`; without it `search.transforms`.
    :raises UsageError: for a transform that does not exist.
    :raises ConfigError: for such a transform or classifier in the settings.
    """
    config = complete(config)
    pipeline = Pipeline()
    pipeline.add_component("embedder", LexicalTextEmbedder())
    pipeline.add_component("query_embedder", QueryEmbedder(store, config.ollama))
    pipeline.add_component("retriever", ChunkRetriever(store, _MIN_CHUNKS))
    pipeline.add_component("ranker", NoteRanker())
    pipeline.add_component("loader", DocumentLoader(store, config.search.top_k))
    pipeline.connect("embedder.sparse_embedding", "retriever.query_sparse_embedding")
    pipeline.connect("query_embedder.embedding", "retriever.query_embedding")
    pipeline.connect("query_embedder.mode", "retriever.mode")
    pipeline.connect("query_embedder.variants", "retriever.variants")
    pipeline.connect("retriever.plain", "ranker.plain")
    pipeline.connect("retriever.candidates", "ranker.candidates")
    pipeline.connect("ranker.hits", "loader.hits")
    is_chosen = transforms is not None
    names = config.search.transforms if transforms is None else transforms
    add_planning(pipeline, store, config, names, is_chosen)
    if rerank:
        pipeline.add_component("reranker", ModelReranker(config.ollama))
        for name in ("documents", "hits", "duplicates"):
            pipeline.connect(f"loader.{name}", f"reranker.{name}")
    return pipeline


def search(
    pipeline: Pipeline,
    query: str,
    filters: QueryFilters | None = None,
    top_k: int = 5,
    *,
    mode: str = AUTO,
    chunks: bool = False,
    explained: bool = False,
    keep_mode: bool = False,
    intent: Intent | None = None,
) -> SearchResponse:
    """Run a search.

    :param pipeline: from `create_search_pipeline`.
    :param query: plain words, or the syntax of `rag.query.syntax`.
    :param top_k: how many results.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`.
    :param chunks: list chunks, several of one note perhaps, instead of notes.
    :param explained: take each result's score apart.
    :param keep_mode: let no route change the mode. Without it a mode is only the default of
        queries whose route has none, as `search.mode` is.
    :param intent: what the query and the filters mean, from `rag.search.planned_query.find_intent`;
        filters that were only understood are let go when nothing fits them.
    :raises QueryError: when the query is empty or the search fails.
    :raises UsageError: for a vault in the query that does not exist.
    :raises IndexUnavailableError: when there is no index, or it is damaged, or it holds no
        embeddings that `mode` could use.
    :raises ConnectionError: when `mode` needs an embedding of the query and there is none.
    """
    if top_k < 1:
        raise QueryError(f"top_k must be at least 1, not {top_k}")
    store = open_store(pipeline)
    with store.pinned(), own_errors(QueryError, "the search failed"):
        for attempt in attempts(query, filters, mode, keep_mode, intent):
            understood = understand(store, attempt.query, attempt.filters, attempt.lists)
            output, searched = _searched(pipeline, store, understood, attempt, top_k, chunks)
            if output["documents"]:
                break
        response = to_response(output, understood, searched, attempt, query)
        found = tell_found(store, response, output["hits"], searched)
        if explained:
            is_dense = response.mode == DENSE  # words count nothing then
            asked = [] if is_dense else query_terms(understood.text, understood.also)
            for result, why in zip(
                response.results, explain(store, asked, output["hits"], found), strict=True
            ):
                result.explanation = why
    return response


def _searched(
    pipeline: Pipeline,
    store: NoteStore,
    understood: Understood,
    attempt: Attempt,
    top_k: int,
    chunks: bool,
) -> tuple[dict[str, Any], Planned]:
    """Return what the last component gave, and what there is to tell of those before."""
    if not understood.text:
        return list_notes(store, understood, top_k), LISTED

    def run(attempt: Attempt) -> dict[str, Any]:
        inputs = search_inputs(understood, top_k, chunks, attempt.mode)
        read = plan_inputs(pipeline, inputs, understood, attempt.keep_mode, attempt.variants)
        if "reranker" in pipeline.graph:
            inputs["loader"]["top_k"] = max(top_k, DEPTH)
            inputs["reranker"] = {"query": attempt.rerank or understood.meant, "top_k": top_k}
        last = "reranker" if "reranker" in pipeline.graph else "loader"
        outputs: dict[str, Any] = pipeline.run(inputs, include_outputs_from={last, *read})
        return {"last": outputs[last], **outputs}

    outputs, notices = in_a_mode(attempt, run)
    found = planned(outputs)
    return outputs["last"], found._replace(notices=[*notices, *found.notices])


def tell_found(
    store: NoteStore, response: SearchResponse, hits: Hits, searched: Planned
) -> list[Found]:
    """Tell each result of a response what found it.

    :param searched: from `planned`.
    """
    found = trace(store, hits, searched.variants, searched.plain)
    for result, one in zip(response.results, found, strict=True):
        result.found_by = one.by
    return found


def search_inputs(
    understood: Understood, top_k: int, chunks: bool = False, mode: str = AUTO
) -> dict[str, dict[str, Any]]:
    """Return what a pipeline that searches is to be run with."""
    named = [] if mode == DENSE else understood.named
    depth = max(_MIN_CHUNKS, top_k * CHUNKS_PER_NOTE)
    return {
        "embedder": {"text": understood.text, "also": understood.also},
        "query_embedder": {"text": understood.meant, "mode": mode},
        "retriever": {
            "weight": _weight(understood) or 1.0,
            "filters": understood.filters,
            "top_k": depth,
            "named": named,
            "matched": understood.matched[:depth],
        },
        "ranker": {"named": named, "chunks": chunks, "top_k": top_k},
        "loader": {"top_k": top_k},
    }


def open_store(pipeline: Pipeline) -> NoteStore:
    """Return the store that a pipeline searches.

    :raises IndexUnavailableError: when there is no index.
    """
    store = cast(ChunkRetriever, pipeline.get_component("retriever")).document_store
    if not store.is_readable:
        raise IndexUnavailableError(NO_INDEX, store.path, hint=NO_INDEX_HINT)
    return store


def _weight(understood: Understood) -> float:
    """Return what the query's terms weigh together."""
    return sum(term.weight for term in query_terms(understood.text))


def to_response(
    output: dict[str, Any],
    understood: Understood,
    searched: Planned,
    attempt: Attempt,
    query: str,
) -> SearchResponse:
    """Turn what the loader gave into results with scores in [0, 1).

    :param searched: from `planned`.
    :param attempt: how it was searched.
    :param query: as it was typed.
    """
    asked = _weight(understood)
    results = [
        to_result(document, hit, duplicates, asked)
        for document, hit, duplicates in zip(
            output["documents"], output["hits"], output["duplicates"], strict=True
        )
    ]
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
        searched=" ".join([understood.meant, *understood.also]),
        corrections=understood.corrections,
        tags=understood.tags,
        route=searched.route,
        variants=[told(variant) for variant in searched.variants],
        timings=dict(searched.timings),
    )


def to_result(
    document: HaystackDocument, hit: Hit, duplicates: list[HaystackDocument], asked: float
) -> SearchResult:
    """Turn one ranked document into a result.

    :param asked: what the query's terms weigh together.
    """
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
        score=bounded_score(score, asked),
        file_path=str(meta.get("file_path", "")),
        title=str(meta.get("title", "")),
        vault=str(meta.get("vault", "")),
        position=int(meta.get("position", 0)),
        heading=list(meta.get("heading") or []),
        line_start=int(meta.get("line_start", 1)),
        line_end=int(meta.get("line_end", 1)),
        tags=list(meta.get("tags") or []),
        created=str(meta.get("created", "")),
        scores=scores,
        duplicates=[f"{d.meta.get('vault')}/{d.meta.get('file_path')}" for d in duplicates],
    )
