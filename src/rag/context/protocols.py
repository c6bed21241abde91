"""What the parts of a context pipeline have to do; no base class is needed."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from rag.context.models import ContextItem, ContextWindow
from rag.query.models import QueryBundle


@runtime_checkable
class Tokenizer(Protocol):
    """Counts tokens."""

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds items for a query."""

    def retrieve(self, query: QueryBundle, top_k: int = 10) -> list[ContextItem]:
        """Return at most `top_k` items, best first."""
        ...


@runtime_checkable
class AsyncRetriever(Protocol):
    """Finds items for a query, and may wait for something meanwhile."""

    async def aretrieve(self, query: QueryBundle, top_k: int = 10) -> list[ContextItem]:
        """Return at most `top_k` items, best first."""
        ...


@runtime_checkable
class PostProcessor(Protocol):
    """Changes the items that were found."""

    def process(self, items: list[ContextItem], query: QueryBundle) -> list[ContextItem]:
        """Return the items to go on with."""
        ...


@runtime_checkable
class AsyncPostProcessor(Protocol):
    """Changes the items that were found, and may wait for something meanwhile."""

    async def aprocess(self, items: list[ContextItem], query: QueryBundle) -> list[ContextItem]:
        """Return the items to go on with."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Puts items into a better order."""

    def rerank(
        self, query: QueryBundle, items: list[ContextItem], top_k: int = 10
    ) -> list[ContextItem]:
        """Return at most `top_k` items, best first."""
        ...


@runtime_checkable
class AsyncReranker(Protocol):
    """Puts items into a better order, and may wait for something meanwhile."""

    async def arerank(
        self, query: QueryBundle, items: list[ContextItem], top_k: int = 10
    ) -> list[ContextItem]:
        """Return at most `top_k` items, best first."""
        ...


@runtime_checkable
class MemoryProvider(Protocol):
    """Remembers."""

    def get_context_items(self) -> list[ContextItem]:
        """Return what is remembered."""
        ...


@runtime_checkable
class ContextQueryEnricher(Protocol):
    """Adds to a query what is remembered."""

    def enrich(self, query: str, context_items: list[ContextItem]) -> str:
        """Return the query to go on with."""
        ...


@runtime_checkable
class Formatter(Protocol):
    """Puts a window into the form that a model is sent."""

    @property
    def format_type(self) -> str:
        """The name of that form."""
        ...

    def format(self, window: ContextWindow) -> Any:
        """Return the window in that form."""
        ...
