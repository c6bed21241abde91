"""What a context window is made of and how its tokens are shared out, what comes out of the
pipeline, and what its parts must do."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal, Protocol, Self, runtime_checkable
from uuid import uuid4

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from rag.query.models import QueryBundle, now
from rag.text import token_estimate


class SourceType(StrEnum):
    """Where an item comes from."""

    RETRIEVAL = "retrieval"
    MEMORY = "memory"
    SYSTEM = "system"
    USER = "user"
    TOOL = "tool"
    CONVERSATION = "conversation"


class ContextItem(BaseModel):
    """A piece of context. It does not change: `model_copy(update=…)` makes another.

    :param score: how relevant it is, in [0, 1].
    :param priority: from 1 to 10; items of a higher one go first, whatever their scores.
    :param token_count: its length in tokens; 0 means that the pipeline counts them.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(default_factory=lambda: str(uuid4()))
    content: str
    source: SourceType
    score: float = Field(default=0.0, ge=0.0, le=1.0)
    priority: int = Field(default=5, ge=1, le=10)
    token_count: int = Field(default=0, ge=0)
    metadata: dict[str, Any] = Field(default_factory=dict)
    created_at: AwareDatetime = Field(default_factory=now)


Items = list[ContextItem]


def by_priority(items: Iterable[ContextItem]) -> Items:
    """Return items in the order in which they get room: by priority, then score, then as given."""
    return sorted(items, key=lambda item: (-item.priority, -item.score))


class ContextWindow(BaseModel):
    """The items that a model is shown, and how much room they take.

    :param used_tokens: how much is taken; counted from `items` where it is not given.
    """

    items: Items = Field(default_factory=list)
    max_tokens: int = Field(default=8192, gt=0)
    used_tokens: int = Field(default=0, ge=0)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _count(self) -> Self:
        if "used_tokens" not in self.model_fields_set:
            self.used_tokens = sum(item.token_count for item in self.items)
        return self

    @property
    def remaining_tokens(self) -> int:
        """How much room is left."""
        return max(0, self.max_tokens - self.used_tokens)

    @property
    def utilization(self) -> float:
        """The share of the room that is used, in [0, 1]."""
        return min(1.0, self.used_tokens / self.max_tokens)

    def add_item(self, item: ContextItem) -> bool:
        """Add an item if it fits, and return whether it did."""
        if self.used_tokens + item.token_count > self.max_tokens:
            return False
        self.items.append(item)
        self.used_tokens += item.token_count
        return True

    def add_items_by_priority(self, items: Items) -> Items:
        """Add items by priority and score, and return those that did not fit.

        A later, smaller item may still fit after one that did not.
        """
        return [item for item in by_priority(items) if not self.add_item(item)]

    def __len__(self) -> int:
        return len(self.items)


# -- budgets -------------------------------------------------------------------------------

OverflowStrategy = Literal["truncate", "drop"]


class BudgetAllocation(BaseModel):
    """What one source may take.

    :param overflow_strategy: where there is more: `truncate` keeps its best items, `drop` none.
    """

    source: SourceType
    max_tokens: int = Field(gt=0)
    priority: int = Field(default=5, ge=1, le=10)
    overflow_strategy: OverflowStrategy = "truncate"


class TokenBudget(BaseModel):
    """How a context window is shared out.

    A source with an allocation keeps its items in order of priority and score as far as they fit,
    a smaller one after one that did not; the others compete for the whole window.

    :param total_tokens: all that the model reads.
    :param reserve_tokens: what stays free, for the answer.
    :raises ValueError: when more is allocated and reserved than there is, or to a source twice.
    """

    total_tokens: int = Field(gt=0)
    allocations: list[BudgetAllocation] = Field(default_factory=list)
    reserve_tokens: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.shared_pool < 0:
            taken = self.total_tokens - self.shared_pool
            raise ValueError(f"{taken} tokens are allocated and reserved of {self.total_tokens}")
        if len({own.source for own in self.allocations}) < len(self.allocations):
            raise ValueError("a source has two allocations")
        return self

    @property
    def shared_pool(self) -> int:
        """The tokens that are neither allocated nor reserved."""
        allocated = sum(allocation.max_tokens for allocation in self.allocations)
        return self.total_tokens - self.reserve_tokens - allocated

    def _of(self, source: SourceType) -> BudgetAllocation | None:
        return next((own for own in self.allocations if own.source == source), None)

    def get_allocation(self, source: SourceType) -> int:
        """Return the cap of a source in tokens; without an allocation the shared pool, of which
        it may take more while the others leave room."""
        own = self._of(source)
        return own.max_tokens if own else self.shared_pool

    def get_overflow_strategy(self, source: SourceType) -> OverflowStrategy:
        """Return what becomes of a source that has more; `truncate` without an allocation."""
        own = self._of(source)
        return own.overflow_strategy if own else "truncate"

    def caps(self, items: Items) -> dict[SourceType, int]:
        """Return what each source with an allocation may take of items: nothing where it has more
        than that and is to be dropped then."""
        caps = {own.source: own.max_tokens for own in self.allocations}
        for own in self.allocations:
            needed = sum(item.token_count for item in items if item.source == own.source)
            if own.overflow_strategy == "drop" and needed > own.max_tokens:
                caps[own.source] = -1
        return caps


# -- what comes out ------------------------------------------------------------------------


class StepDiagnostic(TypedDict):
    """What a step did: `items_after` it, in how many ms."""

    name: str
    items_after: int
    time_ms: float


class PipelineDiagnostics(TypedDict, total=False):
    """What is known of a run of the pipeline; sources are counted by their names.

    `skipped_steps` failed and may; `failed_step` ended the run. `shared_pool_usage` are the tokens
    of sources without an allocation, `budget_overflow_by_source` the items that a source's
    allocation left out.
    """

    steps: list[StepDiagnostic]
    memory_items: int
    query_enriched: bool
    skipped_steps: list[str]
    failed_step: str
    total_items_considered: int
    items_included: int
    items_overflow: int
    token_utilization: float
    token_usage_by_source: dict[str, int]
    shared_pool_usage: int
    budget_overflow_by_source: dict[str, int]


class ContextResult(BaseModel):
    """What the pipeline made.

    :param formatted_output: the window in the form that `format_type` names.
    :param overflow_items: what did not fit, by priority and score.
    """

    window: ContextWindow
    formatted_output: Any = ""
    format_type: str = "generic"
    overflow_items: Items = Field(default_factory=list)
    diagnostics: PipelineDiagnostics = Field(default_factory=PipelineDiagnostics)
    build_time_ms: float = Field(default=0.0, ge=0.0)


# -- what the parts of a pipeline have to do; no base class is needed ----------------------


@runtime_checkable
class Tokenizer(Protocol):
    """Counts tokens."""

    def count_tokens(self, text: str) -> int: ...


class TextTokenizer:
    """Estimate tokens by script, English and Japanese alike; see `rag.text.token_estimate`."""

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens a text has."""
        return token_estimate.count_tokens(text)


@runtime_checkable
class Retriever(Protocol):
    """Finds at most `top_k` items for a query, best first."""

    def retrieve(self, query: QueryBundle, top_k: int = 10) -> Items: ...


@runtime_checkable
class AsyncRetriever(Protocol):
    """A `Retriever` that may wait for something meanwhile."""

    async def aretrieve(self, query: QueryBundle, top_k: int = 10) -> Items: ...


@runtime_checkable
class PostProcessor(Protocol):
    """Changes the items that were found."""

    def process(self, items: Items, query: QueryBundle) -> Items: ...


@runtime_checkable
class AsyncPostProcessor(Protocol):
    """A `PostProcessor` that may wait for something meanwhile."""

    async def aprocess(self, items: Items, query: QueryBundle) -> Items: ...


@runtime_checkable
class Reranker(Protocol):
    """Puts items into a better order and keeps the best `top_k`."""

    def rerank(self, query: QueryBundle, items: Items, top_k: int = 10) -> Items: ...


@runtime_checkable
class AsyncReranker(Protocol):
    """A `Reranker` that may wait for something meanwhile."""

    async def arerank(self, query: QueryBundle, items: Items, top_k: int = 10) -> Items: ...


@runtime_checkable
class MemoryProvider(Protocol):
    """Remembers."""

    def get_context_items(self) -> Items: ...


@runtime_checkable
class ContextQueryEnricher(Protocol):
    """Puts what is remembered into a query."""

    def enrich(self, query: str, context_items: Items) -> str: ...


@runtime_checkable
class Formatter(Protocol):
    """Puts a window into the form that a model is sent; `format_type` is the form's name."""

    @property
    def format_type(self) -> str: ...

    def format(self, window: ContextWindow) -> Any: ...


class PipelineCallback(Protocol):
    """What can be watched; an object may leave out what it does not need."""

    def on_pipeline_start(self, query: QueryBundle) -> None: ...

    def on_step_start(self, step_name: str, items: Items) -> None: ...

    def on_step_end(self, step_name: str, items: Items, time_ms: float) -> None: ...

    def on_step_error(self, step_name: str, error: Exception) -> None: ...

    def on_pipeline_end(self, result: ContextResult) -> None: ...
