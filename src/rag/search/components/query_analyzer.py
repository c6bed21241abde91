"""From a query's text and filters to the `Query` that all other components of a search take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import component

from rag.exceptions import IndexUnavailableError, QueryError
from rag.index.snapshots import NO_INDEX, NO_INDEX_HINT
from rag.search.components import SearchComponent
from rag.search.filters import all_of
from rag.search.query import Query, Variants
from rag.search.results import QueryFilters, SearchMode
from rag.search.understanding.query_understanding import understand
from rag.stores.base.document_store import BaseDocumentStore


@component
class QueryAnalyzer(SearchComponent):
    """Read a query with the index at hand.

    :param document_store: the index that is searched.
    :param top_k: how many results.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`.
    :param depth: how many results are loaded at least, for a reranker to choose from.
    """

    kept = ("document_store", "top_k", "mode", "depth")

    def __init__(
        self,
        document_store: BaseDocumentStore,
        top_k: int = 5,
        mode: str = SearchMode.AUTO,
        depth: int = 0,
    ) -> None:
        self.document_store = document_store
        self.top_k, self.mode, self.depth = top_k, check_mode(mode), depth

    @component.output_types(query=Query)
    def run(
        self,
        text: str,
        filters: QueryFilters | dict[str, Any] | None = None,
        top_k: int | None = None,
        mode: str | None = None,
        chunks: bool = False,
        keep_mode: bool = False,
        variants: Variants | None = None,
        rerank: str = "",
        lists: bool = False,
        order: str = "",
    ) -> dict[str, Query]:
        """Return the `query`.

        A query of filters alone lists the notes that they select, the newest first; where it
        `lists` it may be empty.

        :param text: plain words, or the syntax of `rag.query.syntax`.
        :param filters: of the library, or as Haystack writes them.
        :param rerank: what a reranker orders by; without it the query.
        :raises QueryError: when the query is empty or no text, `top_k` is below 1, there is no such
            mode, or filters are neither.
        :raises UsageError: for a vault that the index does not hold.
        :raises IndexUnavailableError: when there is no index.
        """
        query = self.read(text, filters, top_k, mode, lists)
        if not query.text:
            return {"query": replace(query, mode=str(SearchMode.LEXICAL), listed=True, order=order)}
        query = replace(query, chunks=chunks, keep_mode=keep_mode, depth=self.depth, order=order)
        return {"query": replace(query, variants=variants or Variants(), rerank=rerank)}

    def read(
        self,
        text: str,
        filters: QueryFilters | dict[str, Any] | None,
        top_k: int | None,
        mode: str | None,
        lists: bool,
    ) -> Query:
        """Return the query without what a search wants besides."""
        if not isinstance(filters, QueryFilters | dict | None):
            kind = type(filters).__name__
            raise QueryError(f"filters must be QueryFilters or a dict, not of type {kind}")
        top_k, mode = self.top_k if top_k is None else top_k, check_mode(mode or self.mode)
        check_top_k(top_k)
        given = filters if isinstance(filters, dict) else None
        ours = filters if isinstance(filters, QueryFilters) else None
        query = understand(readable(self.document_store), text, ours, lists)
        named = [] if mode == SearchMode.DENSE else query.named
        where = all_of([query.filters, given]) if given else query.filters
        return replace(query, filters=where, named=named, top_k=top_k, mode=mode)


def check_mode(mode: str) -> str:
    """Return the name of a way to search.

    :raises QueryError: when there is no such way.
    """
    try:
        return str(SearchMode(mode))
    except ValueError:
        names = ", ".join(SearchMode)
        raise QueryError(f"unknown mode {mode!r}", hint=f"Choose of {names}.") from None


def check_top_k(top_k: int) -> None:
    """Refuse to look for nothing.

    :raises QueryError: when `top_k` is below 1, or no whole number.
    """
    if not isinstance(top_k, int) or top_k < 1:
        raise QueryError(f"top_k must be at least 1, not {top_k!r}")


def readable(store: BaseDocumentStore) -> BaseDocumentStore:
    """Return a store that can be searched.

    :raises IndexUnavailableError: when there is no index.
    """
    if not store.is_readable:
        raise IndexUnavailableError(NO_INDEX, store.path, hint=NO_INDEX_HINT)
    return store
