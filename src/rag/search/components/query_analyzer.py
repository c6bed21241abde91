"""From a query's text and filters to what all other components of a search are run with."""

from __future__ import annotations

from typing import Any

from haystack import component, default_from_dict, default_to_dict

from rag.exceptions import IndexUnavailableError, QueryError
from rag.index.index_errors import NO_INDEX, NO_INDEX_HINT
from rag.search.components.note_ranker import Hits
from rag.search.filter_listing import CHUNKS_PER_NOTE, list_notes
from rag.search.filters import all_of
from rag.search.query_variants import WEIGHTS, Variants
from rag.search.results import QueryFilters, SearchMode
from rag.search.understanding.query_understanding import Understood, understand
from rag.stores.base.document_store import BaseDocumentStore
from rag.stores.edge.retrievers import with_store
from rag.text.bm25 import text_terms

# Chunks asked of the store at least: some notes fill the top with chunks of their own.
MIN_CHUNKS = 100
OUTPUTS = {
    "understood": Understood,
    "text": str,
    "meant": str,
    "known": str,
    "also": list[str],
    "mode": str,
    "keep_mode": bool,
    "keep_vaults": bool,
    "weight": float,
    "full": float,
    "filters": dict[str, Any] | None,
    "depth": int,
    "named": list[str],
    "matched": list[str],
    "doubted": bool,
    "strange": bool,
    "variants": Variants | None,
    "chunks": bool,
    "top_k": int,
    "loaded": int,
    "listed": Hits | None,
    "rerank": str,
}


@component
class QueryAnalyzer:
    """Read a query with the index at hand, and tell the other components what to look for.

    :param document_store: the index that is searched.
    :param top_k: how many results.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`.
    :param depth: how many results are loaded at least, for a reranker to choose from.
    """

    def __init__(
        self,
        document_store: BaseDocumentStore,
        top_k: int = 5,
        mode: str = SearchMode.AUTO,
        depth: int = 0,
    ) -> None:
        self.document_store = document_store
        self.top_k, self.mode, self.depth = top_k, check_mode(mode), depth

    @component.output_types(**OUTPUTS)
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
        understood: Understood | None = None,
    ) -> dict[str, Any]:
        """Return what the query means, as the inputs of the other components.

        A query of filters alone lists the notes that they select, the newest first.

        :param text: plain words, or the syntax of `rag.query.syntax`.
        :param filters: of the library, or as Haystack writes them.
        :param chunks: list chunks, several of one note perhaps, instead of notes.
        :param keep_mode: let no route change the mode.
        :param variants: what to search for besides.
        :param rerank: what a reranker orders by; without it the query.
        :param understood: what the query means, where somebody has read it before.
        :raises QueryError: when the query is empty or no text, `top_k` is below 1, there is no such
            mode, or filters are neither.
        :raises UsageError: for a vault that the index does not hold.
        :raises IndexUnavailableError: when there is no index.
        """
        top_k, mode = self.top_k if top_k is None else top_k, check_mode(mode or self.mode)
        if understood is None:
            check_top_k(top_k)
            understood = understand(readable(self.document_store), text, _ours(filters))
        given = filters if isinstance(filters, dict) else None
        inputs = search_inputs(understood, top_k, mode)
        inputs["filters"] = all_of([inputs["filters"], given])
        inputs |= {"chunks": chunks, "keep_mode": keep_mode, "variants": variants, "listed": None}
        inputs["loaded"] = max(top_k, self.depth)
        inputs["rerank"] = understood.text and (rerank or understood.meant)
        return inputs | self.without_words(understood, inputs)

    def without_words(self, understood: Understood, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs that differ for a query without words: it is not ranked."""
        if understood.text:
            return {}
        filters, top_k = inputs["filters"], inputs["top_k"]
        listed = list_notes(self.document_store, understood, filters, top_k)
        words = {"mode": str(SearchMode.LEXICAL), "keep_mode": True, "variants": None}
        return {**words, "named": [], "matched": [], "listed": listed}

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its store."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            top_k=self.top_k,
            mode=self.mode,
            depth=self.depth,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the component from what `to_dict` gave."""
        return default_from_dict(cls, with_store(data))


def search_inputs(understood: Understood, top_k: int, mode: str) -> dict[str, Any]:
    """Return what a query means as inputs of the components that search."""
    depth = max(MIN_CHUNKS, top_k * CHUNKS_PER_NOTE)
    return {
        "understood": understood,
        "text": understood.text,
        "meant": understood.meant,
        "known": understood.known,
        "also": understood.also,
        "mode": str(mode),
        "keep_vaults": bool(understood.vaults),
        "weight": weight_of(understood) or 1.0,
        "full": understood.full,
        "filters": understood.filters,
        "depth": depth,
        "named": [] if mode == SearchMode.DENSE else understood.named,
        "matched": understood.matched[:depth],
        "doubted": understood.is_doubted,
        "strange": understood.is_strange,
        "top_k": top_k,
    }


def weight_of(understood: Understood) -> float:
    """Return what the query's terms weigh together, those sought beside the text aside."""
    return sum(term.weight for term in text_terms(understood.text, WEIGHTS.fields))


def check_mode(mode: str) -> str:
    """Return the name of a way to search.

    :raises QueryError: when there is no such way.
    """
    try:
        return str(SearchMode(mode))
    except ValueError:
        names = ", ".join(SearchMode)
        raise QueryError(f"there is no mode {mode!r}", hint=f"Choose of {names}.") from None


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


def _ours(filters: QueryFilters | dict[str, Any] | None) -> QueryFilters | None:
    if filters is None or isinstance(filters, QueryFilters):
        return filters
    if isinstance(filters, dict):
        return None
    raise QueryError(
        f"filters must be QueryFilters or a dict, not of type {type(filters).__name__}"
    )
