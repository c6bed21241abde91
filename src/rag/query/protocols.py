"""What a transformer or classifier has to do; no base class is needed."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rag.query.models import QueryBundle


@runtime_checkable
class QueryTransformer(Protocol):
    """Makes queries of a query."""

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the queries to search with."""
        ...


@runtime_checkable
class AsyncQueryTransformer(Protocol):
    """Makes queries of a query, and may wait for something meanwhile."""

    async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
        """Return the queries to search with."""
        ...


@runtime_checkable
class QueryClassifier(Protocol):
    """Tells what kind of query one is."""

    def classify(self, query: QueryBundle) -> str:
        """Return the query's label."""
        ...
