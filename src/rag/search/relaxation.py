"""The ways in which a query is searched, one after the other, until something is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.config import RAGConfig
from rag.exceptions import ConfigError, ConnectionError, IndexUnavailableError, QueryError
from rag.query.planner.words import may_filter
from rag.query.syntax import MAX_LENGTH, condition_spans
from rag.search.results import NearWord, QueryFilters, SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.pipeline_parts import own_errors
from rag.text.messages import without_halves
from rag.text.tokenizer import normalize

if TYPE_CHECKING:
    from rag.search.planned_query import Intent
    from rag.search.query import Retrieval

LOADER, RERANKER = "loader", "reranker"  # components that give the retrieval

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
        if not (of_notes or may_filter(query, map(normalize, fields))):
            return False
        return not (manifest and manifest.catalogue.named(without_halves(query)))


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
