"""The ways in which a query is searched, one after the other, until something is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rag.config import RAGConfig
from rag.exceptions import ConfigError, ConnectionError, IndexUnavailableError, QueryError
from rag.index.searchable_text import lexical_parts
from rag.query.planner.words import may_filter
from rag.query.syntax import MAX_LENGTH, condition_spans
from rag.search.query_variants import Variants
from rag.search.results import QueryFilters, SearchMode
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.pipeline_parts import own_errors
from rag.text.bm25 import content_terms
from rag.text.matches import STEMMED, find_matches
from rag.text.messages import without_halves
from rag.text.tokenizer import normalize

if TYPE_CHECKING:
    from rag.search.planned_query import Intent
    from rag.search.query import Hit

T = TypeVar("T")

_NOTICES = {
    "listed": "nothing fits what was understood: the newest notes without those filters",
    "searched": "nothing fits what was understood: searched without those filters",
    "as_typed": "no note of that time holds these words: searched as typed",
    "of_then": "no note of that time holds these words: its notes, the newest first",
    "otherwise": "not searched by meaning alone: {}",
}


class Attempt(NamedTuple):
    """One way to search a query.

    :param query: the words, and conditions in the query syntax.
    :param lists: list the notes that the filters select, the newest first, and rank none.
    :param variants: what to search for besides.
    :param rerank: what `--rerank` orders by; empty: the query.
    :param otherwise: the mode to search in when there are no embeddings to search semantically.
    :param notice: what there is to say if this way is taken.
    :param relaxed: whether filters that were understood are dropped.
    :param whole: take this way only where a note holds all words of the query; see `holds_all`.
    """

    query: str
    filters: QueryFilters | None = None
    mode: str = SearchMode.AUTO
    keep_mode: bool = False
    lists: bool = False
    variants: Variants = Variants()
    rerank: str = ""
    otherwise: str = ""
    notice: str = ""
    relaxed: bool = False
    whole: bool = False

    def inputs(self) -> dict[str, Any]:
        """Return what the analyzer of a pipeline is run with for it."""
        return {
            "text": self.query,
            "filters": self.filters,
            "mode": self.mode,
            "keep_mode": self.keep_mode,
            "variants": self.variants,
            "rerank": self.rerank,
            "lists": self.lists,
        }


def wants_plan(
    config: RAGConfig, query: str, wanted: bool | None = None, fields: Iterable[str] = ()
) -> bool:
    """Return whether the planner is to read a query; what it finds no filter in is searched as
    typed.

    :param wanted: what the user said, if anything; without it `planner.plan` decides.
    :param fields: names of front matter fields of the index.
    """
    if not query.strip() or len(query) > MAX_LENGTH or wanted is False:
        return False
    if wanted or config.planner.plan == "always":
        return True
    named = [word for words in config.planner.fields.values() for word in words]
    return config.planner.plan != "never" and may_filter(query, map(normalize, (*fields, *named)))


def intent_of(
    store: BaseDocumentStore,
    config: RAGConfig,
    query: str,
    filters: QueryFilters | None = None,
    wanted: bool | None = None,
    of_notes: bool = False,
) -> tuple[Intent | None, list[str]]:
    """Return the intent of a query that filters, `None` of any other, and notices for the user;
    see `rag.search.planned_query.find_intent`. What a note is called is no filter, unless a plan
    is asked for.

    :param wanted: as in `wants_plan`; true asks the models for all that they may say.
    :param of_notes: whether the query is known to ask for notes: it is planned then, whatever
        words it has.
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
    """Return whether the planner reads a query for a search; see `intent_of`."""
    if bool(wanted) or config.planner.plan != "auto":
        return of_notes or wants_plan(config, query, wanted)
    with store.pinned():
        manifest = store.manifest()
        fields = manifest.catalogue.fields() if manifest else ()
        if not (of_notes or wants_plan(config, query, wanted, fields)):
            return False
        return not (manifest and manifest.named(without_halves(query)))


def is_name(store: BaseDocumentStore, query: str) -> bool:
    """Return whether a note has a query as its title, alias or file name."""
    with store.pinned():
        manifest = store.manifest()
        return bool(manifest and manifest.named(without_halves(query)))


def attempts(
    query: str,
    filters: QueryFilters | None,
    mode: str,
    keep_mode: bool,
    intent: Intent | None,
    lists_time: bool = False,
) -> Iterator[Attempt]:
    """Yield how a query is to be searched, and how when that finds nothing.

    What the user typed as filters holds every time; what was only understood does not. Notices
    are in the language of the query.

    :param lists_time: list the notes of a time of which none holds the words, unless a note holds
        these and the words of that time: "beatles yesterday" may name a song.
    """
    if intent is None:
        yield Attempt(query, filters, mode, keep_mode)
        return
    by_meaning = intent.by_meaning and not keep_mode
    first = Attempt(
        query=intent.text,
        filters=intent.filters,
        mode=SearchMode.DENSE if by_meaning else mode,
        keep_mode=keep_mode or by_meaning,
        lists=intent.lists,
        variants=intent.variants,
        rerank=intent.plan.hyde.rerank_query,
        otherwise=mode if by_meaning else "",
    )
    yield first
    again = first._replace(filters=intent.flags, lists=not intent.has_words, relaxed=True)
    if lists_time and intent.has_words and intent.names_time:
        notice = _NOTICES["as_typed"]
        yield again._replace(query=intent.typed, notice=notice, whole=True)
        conditions = " ".join(intent.text[start:end] for start, end in condition_spans(intent.text))
        yield first._replace(
            query=conditions,
            mode=mode,
            lists=True,
            variants=Variants(),
            otherwise="",
            notice=_NOTICES["of_then"],
        )
    if intent.narrows:
        if again.lists:  # words that only lead to filters are none to search for
            yield again._replace(notice=_NOTICES["listed"])
        else:
            yield again._replace(query=intent.typed, notice=_NOTICES["searched"])


def holds_all(store: BaseDocumentStore, hits: Iterable[Hit], query: str) -> bool:
    """Return whether any of the notes that were found holds all words of a query, question words
    aside, in any form that the index joins.

    :param query: its words, without conditions.
    """
    wanted = content_terms(query)

    def is_whole(hit: Hit) -> bool:
        documents = store.get_documents([part.id for part in hit.parts])
        held = [part for d in documents for part in lexical_parts(d.meta, d.content)]
        text = normalize("\n".join(held))
        found = {match.term for match in find_matches(text, query) if match.form >= STEMMED}
        # Of a run of ideographs, pairs are matched; those that stand alone are looked for.
        return all(term in found or (is_alone(term) and term in text) for term in wanted)

    def is_alone(term: str) -> bool:
        return len(term) == 1 and not term.isascii()

    return any(map(is_whole, hits))


def in_a_mode(attempt: Attempt, run: Callable[[Attempt], T]) -> tuple[T, list[str]]:
    """Return what a run gives: in the mode of an attempt, or in the usual one where meaning alone
    was only understood and cannot be searched; and what there is to say of that."""
    if not attempt.otherwise:
        return run(attempt), []
    try:
        with own_errors(QueryError, "the search failed"):
            return run(attempt), []
    except (ConfigError, ConnectionError, IndexUnavailableError) as error:
        notice = _NOTICES["otherwise"].format(error)
    return run(attempt._replace(mode=attempt.otherwise, keep_mode=False)), [notice]
