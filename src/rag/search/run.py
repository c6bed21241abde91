"""The search pipeline: its wiring, the ways in which a query is searched through it until something
is found, and the results of that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from haystack import Pipeline

from rag.config import OllamaConfig, RAGConfig, complete
from rag.exceptions import ConfigError, ConnectionError, IndexUnavailableError, QueryError
from rag.query.planner.words import may_filter
from rag.query.syntax import MAX_LENGTH, condition_spans
from rag.search.components.note_ranker import ChunkRetriever, NoteLoader
from rag.search.components.passage_reader import PassageReader
from rag.search.components.query_analyzer import QueryAnalyzer, check_top_k, readable
from rag.search.components.query_embedder import QueryEmbedder
from rag.search.filters import check_order, ordered_results
from rag.search.matching_line import place_results
from rag.search.query import Hit, Retrieval
from rag.search.relevance import are_borne, excess_of, weigh
from rag.search.results import NearWord, QueryFilters, SearchMode, SearchResponse, SearchResult
from rag.stores.base.document_store import BaseDocumentStore, own_store
from rag.support.pipeline_parts import own_errors
from rag.text.messages import without_halves
from rag.text.tokenizer import normalize
from rag.vault.frontmatter import properties_of

if TYPE_CHECKING:
    from haystack import Document

    from rag.search.planned_query import Intent

# What fails is raised; Haystack's log would add on stderr which of the inputs its snapshot of the
# pipeline cannot hold.
logging.getLogger("haystack").addHandler(logging.NullHandler())

ANALYZER, LOADER, RERANKER = "query_analyzer", "loader", "reranker"


def create_search_pipeline(
    store: BaseDocumentStore,
    config: RAGConfig | OllamaConfig | None = None,
    rerank: bool | None = None,
    transforms: list[str] | None = None,
) -> Pipeline:
    """Make the search pipeline, through which one `Query` goes, and then one `Retrieval`:

        query_analyzer -> [router -> expander] -> query_embedder -> retriever
            -> loader -> [reranker]

    The last gives the `documents`. It serialises: `Pipeline.loads(pipeline.dumps(),
    allowed_modules=["rag"])`, and searches with `run({"query_analyzer": {"text": "…"}})`.

    :param config: without it the settings in force; of an `OllamaConfig` alone, the others are.
    :param rerank: let the configured model order the best results again; without it the reader
        among the built-in models looks at those of a question, where `search.reader` lets it; with
        False nobody does.
    :param transforms: names of `rag.query.registry`; without it `search.transforms`.
    :raises UsageError: for a store of another package, a transform that does not exist;
        `ConfigError`: for such a transform or classifier in the settings.
    """
    store, config = own_store(store), complete(config)
    analyzer = QueryAnalyzer(store, config.search.top_k, config.search.mode)
    pipeline = search_with(analyzer, config, transforms)
    reranker: Any = PassageReader() if rerank is None and config.search.reader else None
    if rerank:
        from rag.search.components.llm_ranker import ModelReranker  # few searches are

        reranker = ModelReranker(config)
    if reranker:
        analyzer.depth = reranker.depth
        pipeline.add_component(RERANKER, reranker)
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
    query.append(("query_embedder", QueryEmbedder(store, config)))
    query.append(("retriever", ChunkRetriever(store)))
    for name, part in (*query, (LOADER, NoteLoader(store))):
        pipeline.add_component(name, part)
    for (sender, _), (receiver, _) in pairwise(query):
        pipeline.connect(f"{sender}.query", f"{receiver}.query")
    pipeline.connect("retriever.retrieval", f"{LOADER}.retrieval")
    return pipeline


def _planning(
    store: BaseDocumentStore, config: RAGConfig, transforms: list[str] | None
) -> Iterator[tuple[str, Any]]:
    """Yield a router where there are routes, and an expander where variants may be wanted."""
    from rag.search.components.query_expander import (
        QueryExpander,
        configured_transforms,
        wanted_transforms,
    )

    if transforms is None:
        names = configured_transforms(config.search.transforms, "search.transforms")
    else:
        names = wanted_transforms(transforms)
    may_expand = bool(names)
    if config.routes.classifier:
        from rag.search.components.query_router import QueryRouter

        router = QueryRouter(store, config.routes, config, keep_transforms=transforms is not None)
        yield "router", router
        rules = config.routes.rules.values() if transforms is None else ()
        may_expand |= any(wanted_transforms(rule.get("transforms", [])) for rule in rules)
    if may_expand:
        yield "expander", QueryExpander(store, names, config)


_NOTICES = {
    "listed": "nothing fits what was understood: the newest notes without those filters",
    "searched": "nothing fits what was understood: searched without those filters",
    "as_typed": "no note of that time holds these words: searched as typed",
    "of_then": "no note of that time holds these words: its notes, the newest first",
    "otherwise": "not searched by meaning alone: {}",
}


class Attempt(NamedTuple):
    """One way to search a query."""

    inputs: dict[str, Any]  # what the analyzer of a pipeline is run with
    otherwise: str = ""  # the mode where there are no embeddings to search semantically
    notice: str = ""  # what there is to say if this way is taken
    relaxed: bool = False  # filters that were understood are dropped
    whole: bool = False  # take it only where a note holds all words of the query


class Outcome(NamedTuple):
    """What the first attempt that found something found, or the last one."""

    outputs: dict[str, Any]  # of the pipeline
    retrieval: Retrieval
    attempt: Attempt
    notices: list[str]  # why it was not searched in the mode of the attempt
    missing: dict[str, NearWord | None]  # words that no note holds, of the last that was no list


def intent_of(
    store: BaseDocumentStore,
    config: RAGConfig,
    query: str,
    filters: QueryFilters | None = None,
    wanted: bool | None = None,
    of_notes: bool = False,
) -> tuple[Intent | None, list[str]]:
    """Return the intent of a query that filters, `None` of any other, and notices for the user; see
    `find_intent`. What a note is called is no filter, unless a plan is asked for.

    :param wanted: what the user said; without it `planner.plan` decides. True asks the models too.
    :param of_notes: whether it is known to ask for notes: it is planned whatever its words.
    """
    if not is_planned(store, config, query, wanted, of_notes):
        return None, []
    from rag.search.planned_query import find_intent  # plain queries do without its imports

    plain = bool(wanted) or of_notes or config.planner.plan == "always"
    return find_intent(store, config, query, filters, full=bool(wanted), plain=plain)


def is_planned(
    store: BaseDocumentStore,
    config: RAGConfig,
    query: str,
    wanted: bool | None = None,
    of_notes: bool = False,
) -> bool:
    """Return whether the planner reads a query for a search; see `intent_of`. What it finds no
    filter in is searched as typed."""
    setting = config.planner.plan
    if not of_notes and (not query.strip() or len(query) > MAX_LENGTH or wanted is False):
        return False
    if wanted or setting != "auto":
        return bool(wanted) or of_notes or setting == "always"
    with store.pinned():
        manifest = store.manifest()
        named = chain.from_iterable(config.planner.fields.values())
        fields = [*(manifest.catalogue.fields() if manifest else ()), *named]
        may_be = of_notes or may_filter(query, map(normalize, fields))
        return may_be and not is_name(store, query)


def is_name(store: BaseDocumentStore, query: str) -> bool:
    """Return whether a note has a query as its title, alias or file name."""
    with store.pinned():
        manifest = store.manifest()
        return bool(manifest and manifest.catalogue.named(without_halves(query)))


def attempts(
    query: str,
    filters: QueryFilters | None,
    mode: str,
    keep_mode: bool,
    intent: Intent | None,
    lists_time: bool = False,
) -> Iterator[Attempt]:
    """Yield how a query is to be searched, and how when that finds nothing. What the user typed as
    filters holds every time; what was only understood does not.

    :param lists_time: list the notes of a time of which none holds the words, unless a note holds
        these and the words of that time: "beatles yesterday" may name a song.
    """
    inputs = {"text": query, "filters": filters, "mode": mode, "keep_mode": keep_mode}
    if intent is None:
        yield Attempt(inputs)
        return
    by_meaning = intent.by_meaning and not keep_mode
    first = inputs | {
        "text": intent.text,
        "filters": intent.filters,
        "mode": SearchMode.DENSE if by_meaning else mode,
        "keep_mode": keep_mode or by_meaning,
        "lists": intent.lists,
        "variants": intent.variants,
        "rerank": intent.plan.hyde.rerank_query,
    }
    otherwise = mode if by_meaning else ""
    yield Attempt(first, otherwise)
    again = first | {"filters": intent.flags, "lists": not intent.has_words}
    as_typed = again | {"text": intent.typed}
    if lists_time and intent.has_words and intent.names_time:
        yield Attempt(as_typed, otherwise, _NOTICES["as_typed"], relaxed=True, whole=True)
        conditions = " ".join(intent.text[start:end] for start, end in condition_spans(intent.text))
        of_then = {"text": conditions, "mode": mode, "lists": True, "variants": None}
        yield Attempt(first | of_then, notice=_NOTICES["of_then"])
    if intent.narrows and intent.has_words:
        yield Attempt(as_typed, otherwise, _NOTICES["searched"], relaxed=True)
    elif intent.narrows:  # words that only lead to filters are none to search for
        yield Attempt(again, otherwise, _NOTICES["listed"], relaxed=True)


def run_attempts(attempts: Iterable[Attempt], run: Callable[[Attempt], dict[str, Any]]) -> Outcome:
    """Run attempts, one after the other, until one finds something; where meaning alone was only
    understood and cannot be searched, in the usual mode.

    :param run: runs a pipeline, and returns the outputs of its loader or reranker, and others.
    """
    missing: dict[str, NearWord | None] = {}
    for attempt in attempts:
        notices: list[str] = []
        if attempt.otherwise:
            try:
                with own_errors(QueryError, "the search failed"):
                    outputs = run(attempt)
            except (ConfigError, ConnectionError, IndexUnavailableError) as error:
                notices = [_NOTICES["otherwise"].format(error)]
                usual = attempt.inputs | {"mode": attempt.otherwise, "keep_mode": False}
                outputs = run(attempt._replace(inputs=usual))
        else:
            outputs = run(attempt)
        retrieval: Retrieval = (outputs.get(RERANKER) or outputs[LOADER])["retrieval"]
        query, hits = retrieval.query, retrieval.hits
        outcome = Outcome(outputs, retrieval, attempt, notices, missing)
        if attempt.whole:
            # A note that scores as one does that holds each word once.
            is_whole = any(hit.score >= query.full for hit in hits)
            if query.missing or query.corrections or not is_whole:
                continue
        missing = missing if attempt.inputs.get("lists") else query.missing
        outcome = outcome._replace(missing=missing)
        if hits:
            break
    return outcome


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
        if name not in pipeline.graph:
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
    scores = {"lexical": max(0.0, hit.score - hit.reading - meaning - gains)}
    if meaning:
        scores |= {"meaning": meaning, "cosine": hit.parts[0].cosine}
    if gains:
        scores["variants"] = gains
    if hit.reading:
        scores["reading"] = hit.reading
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
