"""The search pipeline, and the function that runs it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, cast

from haystack import Document as HaystackDocument
from haystack import Pipeline

from rag.config import RAGConfig
from rag.exceptions import IndexUnavailableError, QueryError
from rag.pipelines.components import LexicalTextEmbedder, NoteRanker
from rag.pipelines.errors import own_errors
from rag.pipelines.models import QueryFilters, SearchResponse, SearchResult
from rag.stores.edge import QdrantEdgeDocumentStore
from rag.stores.generations import NO_INDEX, NO_INDEX_HINT
from rag.stores.retrievers import QdrantEdgeSparseRetriever
from rag.text.lexical import bounded_score
from rag.vault import normalize_tags

# Chunks asked of the store for each note wanted, and at least: a note is ranked by its
# best three, and some notes fill the top with chunks of their own.
_CHUNKS_PER_NOTE = 8
_MIN_CHUNKS = 100


def build_qdrant_filters(filters: QueryFilters | None) -> dict[str, Any] | None:
    """Return the Haystack filter for vaults (any of), tags (all of) and dates (inclusive).

    `paths` are not part of it: they need the index's list of notes (`resolve_paths`).
    """
    if filters is None:
        return None
    conditions: list[dict[str, Any]] = []
    vaults = filters.vaults or []
    if len(vaults) == 1:
        conditions.append(_condition("vault", "==", vaults[0]))
    elif vaults:
        conditions.append(_condition("vault", "in", list(vaults)))
    conditions += [
        _condition("tags", "==", normalize_tags([tag])[0])
        for tag in filters.tags or []
        if normalize_tags([tag])
    ]
    if filters.date_from:
        conditions.append(_condition("created", ">=", _day(filters.date_from)))
    if filters.date_to:
        last = f"{_day(filters.date_to)}T23:59:59.999999"
        conditions.append(_condition("created", "<=", last))
    if len(conditions) > 1:
        return {"operator": "AND", "conditions": conditions}
    return conditions[0] if conditions else None


def _condition(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def _day(value: date) -> str:
    return (value.date() if isinstance(value, datetime) else value).isoformat()


def create_search_pipeline(
    store: QdrantEdgeDocumentStore, config: RAGConfig | None = None
) -> Pipeline:
    """Make the search pipeline.

        embedder (LexicalTextEmbedder) -> retriever (QdrantEdgeSparseRetriever)
            -> ranker (NoteRanker)

    It serialises: `Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])`.
    """
    pipeline = Pipeline()
    pipeline.add_component("embedder", LexicalTextEmbedder())
    pipeline.add_component("retriever", QdrantEdgeSparseRetriever(store, top_k=_MIN_CHUNKS))
    top_k = config.search.top_k if config else 5
    pipeline.add_component("ranker", NoteRanker(top_k=top_k))
    pipeline.connect("embedder.sparse_embedding", "retriever.query_sparse_embedding")
    pipeline.connect("retriever.documents", "ranker.documents")
    return pipeline


def search(
    pipeline: Pipeline,
    query: str,
    filters: QueryFilters | None = None,
    top_k: int = 5,
    *,
    chunks: bool = False,
) -> SearchResponse:
    """Run a search.

    :param pipeline: from `create_search_pipeline`.
    :param top_k: how many results.
    :param chunks: list chunks, several of one note perhaps, instead of notes.
    :raises QueryError: when the query is empty or the search fails.
    :raises IndexUnavailableError: when there is no index, or it is damaged.
    """
    if not query.strip():
        raise QueryError("the query is empty", hint='Say what to look for: `rag search "words"`')
    if top_k < 1:
        raise QueryError(f"top_k must be at least 1, not {top_k}")
    output = run_pipeline(pipeline, search_inputs(pipeline, query, filters, top_k, chunks))
    results = to_results(output["ranker"]["documents"], query)
    return SearchResponse(query, results, len(results))


def search_inputs(
    pipeline: Pipeline, query: str, filters: QueryFilters | None, top_k: int, chunks: bool = False
) -> dict[str, dict[str, Any]]:
    """Return what a pipeline that searches is to be run with."""
    conditions = build_qdrant_filters(filters)
    if filters and filters.paths:
        matched = resolve_paths(_retriever(pipeline).document_store, filters.paths)
        within = _condition("file_id", "in", matched)
        both = {"operator": "AND", "conditions": [conditions, within]}
        conditions = both if conditions else within
    return {
        "embedder": {"text": query},
        "retriever": {
            "filters": conditions,
            "top_k": max(_MIN_CHUNKS, top_k * _CHUNKS_PER_NOTE),
        },
        "ranker": {"top_k": top_k, "chunks": chunks},
    }


def _retriever(pipeline: Pipeline) -> QdrantEdgeSparseRetriever:
    return cast(QdrantEdgeSparseRetriever, pipeline.get_component("retriever"))


def resolve_paths(store: QdrantEdgeDocumentStore, globs: list[str]) -> list[str]:
    """Return the ids of the notes whose path, or vault and path, matches one of `globs`.

    :raises QueryError: when one of them is no pattern.
    """
    from unicodedata import normalize

    from pathspec import PathSpec

    from rag.stores.manifest import published_manifest

    patterns = [normalize("NFC", glob if "/" in glob else f"/**/{glob}") for glob in globs]
    try:
        spec = PathSpec.from_lines("gitignore", patterns)
    except ValueError as error:
        raise QueryError(
            "not a path pattern", str(error), hint="Try 'folder/**' or '*.md'."
        ) from error
    with published_manifest(store.directory) as manifest:
        return [
            identity
            for vault, path, _, _, identity in manifest.names()
            if spec.match_file(path) or spec.match_file(f"{vault}/{path}")
        ]


def run_pipeline(pipeline: Pipeline, inputs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Run a pipeline that reads the index.

    :raises IndexUnavailableError: when there is no index.
    :raises QueryError: when a component failed for a reason that is not one of our errors.
    """
    store = _retriever(pipeline).document_store
    if not store.is_readable:
        raise IndexUnavailableError(NO_INDEX, store.path, hint=NO_INDEX_HINT)
    with own_errors(QueryError, "the search failed"):
        return pipeline.run(inputs, include_outputs_from={"ranker"})


def to_results(documents: list[HaystackDocument], query: str) -> list[SearchResult]:
    """Turn ranked documents into results with scores in [0, 1)."""
    results = []
    for document in documents:
        meta, score = document.meta, document.score or 0.0
        results.append(
            SearchResult(
                content=document.content or "",
                score=bounded_score(score, query),
                file_path=str(meta.get("file_path", "")),
                title=str(meta.get("title", "")),
                vault=str(meta.get("vault", "")),
                position=int(meta.get("position", 0)),
                heading=list(meta.get("heading") or []),
                line_start=int(meta.get("line_start", 1)),
                line_end=int(meta.get("line_end", 1)),
                tags=list(meta.get("tags") or []),
                created=str(meta.get("created", "")),
                scores={"lexical": score},
            )
        )
    return results
