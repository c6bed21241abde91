"""A query on its way through transformers and classifiers, its conversation, and what these
components have to do; no base class is needed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import AwareDatetime, BaseModel, Field

Role = Literal["user", "assistant", "system", "tool"]


def now() -> datetime:
    """Return the present moment, with its zone."""
    return datetime.now(UTC)


class ConversationTurn(BaseModel):
    """One message of a conversation; a `token_count` of 0 means not counted."""

    role: Role
    content: str
    token_count: int = Field(default=0, ge=0)
    timestamp: AwareDatetime = Field(default_factory=now)
    metadata: dict[str, Any] = Field(default_factory=dict)


class QueryBundle(BaseModel):
    """A query, the vector of its text, what made it, and the turns before it, the oldest first."""

    query_str: str
    embedding: list[float] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    chat_history: list[ConversationTurn] = Field(default_factory=list)


def as_bundle(query: QueryBundle | str) -> QueryBundle:
    """Return a query as a `QueryBundle`.

    :raises ValueError: when it is neither.
    """
    return query if isinstance(query, QueryBundle) else QueryBundle(query_str=query)


@runtime_checkable
class QueryTransformer(Protocol):
    """Returns the queries to search with in the place of one."""

    def transform(self, query: QueryBundle) -> list[QueryBundle]: ...


@runtime_checkable
class AsyncQueryTransformer(Protocol):
    """The same, awaited."""

    async def atransform(self, query: QueryBundle) -> list[QueryBundle]: ...


@runtime_checkable
class QueryClassifier(Protocol):
    """Returns the label of a query."""

    def classify(self, query: QueryBundle) -> str: ...
