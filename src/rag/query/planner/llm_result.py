"""What a model makes of a query: what it means, in other words, in parts, and which names."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Self

from pydantic import BaseModel, Field

from rag.query.planner.plan import Named, TimeWindow


class _Label(StrEnum):
    """What a model may call something."""

    @classmethod
    def of(cls, said: Any) -> Self:
        """Return the label that a model wrote, in any spelling; `unknown` for what is none."""
        text = str(said)[:40].lower().replace("-", " ").replace("_", " ")
        wanted = "_".join(text.split())
        return next((label for label in cls if label.value == wanted), cls("unknown"))


class QueryType(_Label):
    """What kind of answer a query wants."""

    LOOKUP = "lookup"
    LISTING = "listing"
    HOW_TO = "how_to"
    OVERVIEW = "overview"
    COMPARISON = "comparison"
    TIMELINE = "timeline"
    SIMILAR = "similar"
    UNKNOWN = "unknown"


class QueryPurpose(_Label):
    """What the notes are wanted for: to open them, to answer from them, to look around in a
    subject, or to look back at a time."""

    FIND = "find"
    ANSWER = "answer"
    EXPLORE = "explore"
    REVIEW = "review"
    UNKNOWN = "unknown"


class QueryTransformationUnit(BaseModel):
    """One thing that a query asks for.

    :param confidence: from 0 to 1.
    """

    query: str
    query_type: QueryType = QueryType.UNKNOWN
    intent: QueryPurpose = QueryPurpose.UNKNOWN
    confidence: float = Field(default=0.0, ge=0, le=1)


class QueryTransformationResult(BaseModel):
    """What a model made of a query; the query itself where it made nothing, or was not sure.

    :param confidence: the model's, from 0 to 1; 0 without an answer.
    :param units: the things that the query asks for, if it asks for several.
    :param event_keyword: its subject in few words.
    :param matches: which of its words mean which names of the index.
    :param time_window: the days that it speaks of.
    :param metadata: `raw_responses` (what was understood of each reply, with redacted inputs of
        tools; word for word with `raw_replies`), `final` (the answer as it was understood),
        `tool_calls` (with redacted inputs), `iterations` (how often tools were used), `model`, and
        `fallback` (why the query stayed as it is; empty where it did not).
    """

    original_query: str
    transformed_query: str
    confidence: float = Field(default=0.0, ge=0, le=1)
    units: list[QueryTransformationUnit] = Field(default_factory=list)
    query_type: QueryType = QueryType.UNKNOWN
    intent: QueryPurpose = QueryPurpose.UNKNOWN
    reasoning: str = ""
    event_keyword: str = ""
    rerank_query: str = ""
    matches: list[Named] = Field(default_factory=list)
    time_window: TimeWindow | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def fallback(self) -> str:
        """Why the query stayed as it is; empty where a model transformed it."""
        return str(self.metadata.get("fallback", ""))
