"""A query on its way through transformers and classifiers, and the conversation it belongs to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field

Role = Literal["user", "assistant", "system", "tool"]


def now() -> datetime:
    """Return the present moment, with its zone."""
    return datetime.now(UTC)


class ConversationTurn(BaseModel):
    """One message of a conversation.

    :param token_count: its length in tokens; 0 means not counted.
    """

    role: Role
    content: str
    token_count: int = Field(default=0, ge=0)
    timestamp: AwareDatetime = Field(default_factory=now)
    metadata: dict[str, Any] = Field(default_factory=dict)


class QueryBundle(BaseModel):
    """A query and what is known of it.

    :param embedding: the vector of `query_str`, where one was made.
    :param metadata: what made the query; see `rag.query.transforms.transformers`.
    :param chat_history: what was said before it, the oldest first.
    """

    query_str: str
    embedding: list[float] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    chat_history: list[ConversationTurn] = Field(default_factory=list)


def as_bundle(query: QueryBundle | str) -> QueryBundle:
    """Return a query as a `QueryBundle`.

    :raises ValueError: when it is neither.
    """
    return query if isinstance(query, QueryBundle) else QueryBundle(query_str=query)
