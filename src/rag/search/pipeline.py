"""The wiring of the search pipeline."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from haystack import Pipeline

from rag.config import OllamaConfig, RAGConfig, complete
from rag.search.components.note_ranker import ChunkRetriever, NoteLoader
from rag.search.components.query_analyzer import QueryAnalyzer
from rag.search.components.query_embedder import QueryEmbedder
from rag.search.relaxation import LOADER as LOADER
from rag.search.relaxation import RERANKER as RERANKER
from rag.stores.base.document_store import BaseDocumentStore, own_store

# What fails is raised; Haystack's log would add on stderr which of the inputs its snapshot of the
# pipeline cannot hold.
logging.getLogger("haystack").addHandler(logging.NullHandler())

ANALYZER, ROUTER, EXPANDER = "query_analyzer", "router", "expander"
RETRIEVER = "retriever"


def create_search_pipeline(
    store: BaseDocumentStore,
    config: RAGConfig | OllamaConfig | None = None,
    rerank: bool = False,
    transforms: list[str] | None = None,
) -> Pipeline:
    """Make the search pipeline, through which one `Query` goes, and then one `Retrieval`:

        query_analyzer -> [router -> expander] -> query_embedder -> retriever
            -> loader -> [reranker]

    The last gives the `documents`. It serialises: `Pipeline.loads(pipeline.dumps(),
    allowed_modules=["rag"])`, and searches with `run({"query_analyzer": {"text": "…"}})`.

    :param config: without it the settings in force; of an `OllamaConfig` alone, the others are.
    :param transforms: names of `rag.query.registry`; without it `search.transforms`.
    :raises UsageError: for a store of another package, a transform that does not exist;
        `ConfigError`: for such a transform or classifier in the settings.
    """
    store, config = own_store(store), complete(config)
    analyzer = QueryAnalyzer(store, config.search.top_k, config.search.mode)
    pipeline = search_with(analyzer, config, transforms)
    if rerank:
        from rag.search.components.llm_ranker import DEPTH, ModelReranker  # few searches are

        analyzer.depth = DEPTH
        pipeline.add_component(RERANKER, ModelReranker(config))
        pipeline.connect(f"{LOADER}.retrieval", f"{RERANKER}.retrieval")
    return pipeline


def search_with(
    analyzer: QueryAnalyzer, config: RAGConfig, transforms: list[str] | None = None
) -> Pipeline:
    """Make the pipeline from an analyzer of queries to the documents that they find.

    :param transforms: as in `create_search_pipeline`.
    """
    store, pipeline = analyzer.document_store, Pipeline()
    query: list[tuple[str, Any]] = [(ANALYZER, analyzer)]
    if config.routes.classifier or config.search.transforms or transforms:
        query += _planning(store, config, transforms)  # a search need not wait for its imports
    query += [("query_embedder", QueryEmbedder(store, config)), (RETRIEVER, ChunkRetriever(store))]
    for name, part in (*query, (LOADER, NoteLoader(store))):
        pipeline.add_component(name, part)
    for (sender, _), (receiver, _) in pairwise(query):
        pipeline.connect(f"{sender}.query", f"{receiver}.query")
    pipeline.connect(f"{RETRIEVER}.retrieval", f"{LOADER}.retrieval")
    return pipeline


def _planning(
    store: BaseDocumentStore, config: RAGConfig, transforms: list[str] | None
) -> Iterator[tuple[str, Any]]:
    """Yield a router where there are routes, and an expander where variants may be wanted."""
    names = config.search.transforms if transforms is None else transforms
    from rag.search.components.query_expander import (
        QueryExpander,
        configured_transforms,
        wanted_transforms,
    )

    if transforms is None:
        names = configured_transforms(names, "search.transforms")
    else:
        names = wanted_transforms(names)
    may_expand = bool(names)
    if config.routes.classifier:
        from rag.search.components.query_router import QueryRouter

        router = QueryRouter(store, config.routes, config, keep_transforms=transforms is not None)
        yield ROUTER, router
        rules = config.routes.rules.values() if transforms is None else ()
        may_expand |= any(wanted_transforms(rule.get("transforms", [])) for rule in rules)
    if may_expand:
        yield EXPANDER, QueryExpander(store, names, config)
