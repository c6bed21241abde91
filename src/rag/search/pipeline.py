"""The wiring of the search pipeline."""

from __future__ import annotations

import logging

from haystack import Pipeline

from rag.config import OllamaConfig, RAGConfig, complete
from rag.search.components.form_ranker import ExactFormRanker
from rag.search.components.llm_ranker import DEPTH, ModelReranker
from rag.search.components.note_ranker import ChunkRetriever, DocumentLoader, NoteRanker
from rag.search.components.query_analyzer import MIN_CHUNKS, QueryAnalyzer
from rag.search.components.query_embedder import LexicalTextEmbedder, QueryEmbedder
from rag.search.planning import ANALYZER, EXPANDER, ROUTER, add_planning
from rag.stores.base.document_store import BaseDocumentStore, own_store

# What fails is raised; Haystack's log would add on stderr which of the inputs its snapshot of the
# pipeline cannot hold.
logging.getLogger("haystack").addHandler(logging.NullHandler())

RERANKER = "reranker"
_CONNECTIONS = [
    (f"{ANALYZER}.text", "embedder.text"),
    (f"{ANALYZER}.also", "embedder.also"),
    (f"{ANALYZER}.meant", "query_embedder.text"),
    ("embedder.sparse_embedding", "retriever.query_sparse_embedding"),
    ("query_embedder.embedding", "retriever.query_embedding"),
    ("query_embedder.mode", "retriever.mode"),
    ("query_embedder.share", "retriever.share"),
    ("query_embedder.background", "retriever.background"),
    ("query_embedder.variants", "retriever.variants"),
    (f"{ANALYZER}.weight", "retriever.weight"),
    (f"{ANALYZER}.full", "retriever.full"),
    (f"{ANALYZER}.filters", "retriever.filters"),
    (f"{ANALYZER}.depth", "retriever.top_k"),
    (f"{ANALYZER}.named", "retriever.named"),
    (f"{ANALYZER}.matched", "retriever.matched"),
    (f"{ANALYZER}.meant", "forms.text"),
    ("embedder.sparse_embedding", "forms.query_sparse_embedding"),
    ("query_embedder.mode", "forms.mode"),
    (f"{ANALYZER}.filters", "forms.filters"),
    (f"{ANALYZER}.depth", "forms.limit"),
    (f"{ANALYZER}.top_k", "forms.top_k"),
    (f"{ANALYZER}.doubted", "forms.doubted"),
    (f"{ANALYZER}.strange", "query_embedder.strange"),
    (f"{ANALYZER}.known", "forms.known"),
    ("retriever.plain", "forms.plain"),
    ("retriever.candidates", "forms.candidates"),
    ("forms.plain", "ranker.plain"),
    ("forms.candidates", "ranker.candidates"),
    ("forms.read", "loader.read"),
    (f"{ANALYZER}.meant", "loader.query"),
    (f"{ANALYZER}.named", "ranker.named"),
    (f"{ANALYZER}.chunks", "ranker.chunks"),
    (f"{ANALYZER}.top_k", "ranker.top_k"),
    ("ranker.hits", "loader.hits"),
    (f"{ANALYZER}.loaded", "loader.top_k"),
    (f"{ANALYZER}.listed", "loader.listed"),
]


def create_search_pipeline(
    store: BaseDocumentStore,
    config: RAGConfig | OllamaConfig | None = None,
    rerank: bool = False,
    transforms: list[str] | None = None,
) -> Pipeline:
    """Make the search pipeline.

        query_analyzer -> embedder (LexicalTextEmbedder)  -> retriever (ChunkRetriever)
                       -> query_embedder (QueryEmbedder) ->     -> forms (ExactFormRanker)
                                            -> ranker (NoteRanker) -> loader (DocumentLoader)

    With transforms an expander (QueryExpander) hands the query's variants to the query_embedder
    and the retriever; with routes a router (QueryRouter) stands before both. The query_analyzer
    takes `text` and `filters`, and gives all others what they need. It serialises:
    `Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])`, and the pipeline that is loaded
    searches with `run({"query_analyzer": {"text": "…"}})`.

    :param config: without it the settings in force; of an `OllamaConfig` alone, the others are.
        `search.top_k` and `search.mode` count where a search names none.
    :param rerank: let a model order the best results again, see `ModelReranker`.
    :param transforms: names of `rag.query.registry`; without it `search.transforms`.
    :raises UsageError: for a store of another package, a transform that does not exist.
    :raises ConfigError: for such a transform or classifier in the settings.
    """
    store, config = own_store(store), complete(config)
    depth = DEPTH if rerank else 0
    analyzer = QueryAnalyzer(store, config.search.top_k, config.search.mode, depth)
    pipeline = search_with(analyzer, config, transforms)
    if rerank:
        pipeline.add_component(RERANKER, ModelReranker(config))
        for name in ("documents", "hits", "duplicates"):
            pipeline.connect(f"loader.{name}", f"{RERANKER}.{name}")
        pipeline.connect(f"{ANALYZER}.rerank", f"{RERANKER}.query")
        pipeline.connect(f"{ANALYZER}.top_k", f"{RERANKER}.top_k")
    return pipeline


def search_with(
    analyzer: QueryAnalyzer, config: RAGConfig, transforms: list[str] | None = None
) -> Pipeline:
    """Make the pipeline from an analyzer of queries to the documents that they find.

    :param transforms: as in `create_search_pipeline`.
    """
    store, pipeline = analyzer.document_store, Pipeline()
    pipeline.add_component(ANALYZER, analyzer)
    pipeline.add_component("embedder", LexicalTextEmbedder())
    pipeline.add_component("query_embedder", QueryEmbedder(store, config))
    pipeline.add_component("retriever", ChunkRetriever(store, MIN_CHUNKS))
    pipeline.add_component("forms", ExactFormRanker(store, config.search.top_k))
    pipeline.add_component("ranker", NoteRanker())
    pipeline.add_component("loader", DocumentLoader(store, config.search.top_k))
    names = config.search.transforms if transforms is None else transforms
    added = add_planning(pipeline, store, config, names, transforms is not None)
    for sender, receiver in [*_CONNECTIONS, *_planning_connections(added)]:
        pipeline.connect(sender, receiver)
    return pipeline


def _planning_connections(added: set[str]) -> list[tuple[str, str]]:
    """Return what the analyzer tells a router, an expander, or without them the others."""
    first = ROUTER if ROUTER in added else "query_embedder"
    found = [(f"{ANALYZER}.mode", f"{first}.mode")]
    if ROUTER in added:
        found.append((f"{ANALYZER}.meant", f"{ROUTER}.text"))
        found += [(f"{ANALYZER}.{name}", f"{ROUTER}.{name}") for name in _KEPT]
    if EXPANDER not in added:
        return [*found, (f"{ANALYZER}.variants", "query_embedder.variants")]
    if ROUTER not in added:
        found.append((f"{ANALYZER}.mode", f"{EXPANDER}.mode"))
    found.append((f"{ANALYZER}.variants", f"{EXPANDER}.given"))
    return [*found, (f"{ANALYZER}.meant", f"{EXPANDER}.text")]


_KEPT = ("keep_mode", "keep_vaults")
