"""How many tokens each source of context may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from rag.context.models import ContextItem, SourceType, Tokenizer, by_priority
from rag.text.token_estimate import count_tokens

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

    :param total_tokens: all that the model reads.
    :param allocations: the most that single sources may take; all others compete for the window.
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
        if len({one.source for one in self.allocations}) < len(self.allocations):
            raise ValueError("a source has two allocations")
        return self

    @property
    def shared_pool(self) -> int:
        """The tokens that are neither allocated nor reserved."""
        allocated = sum(allocation.max_tokens for allocation in self.allocations)
        return self.total_tokens - self.reserve_tokens - allocated

    def allocation_of(self, source: SourceType) -> BudgetAllocation | None:
        """Return the allocation of a source, if it has one."""
        return next((one for one in self.allocations if one.source == source), None)

    def get_allocation(self, source: SourceType) -> int:
        """Return the cap of a source in tokens; without an allocation the shared pool, of which
        it may take more while the others leave room."""
        own = self.allocation_of(source)
        return own.max_tokens if own else self.shared_pool

    def get_overflow_strategy(self, source: SourceType) -> OverflowStrategy:
        """Return what becomes of a source that has more; `truncate` without an allocation."""
        own = self.allocation_of(source)
        return own.overflow_strategy if own else "truncate"


def apply_budget(
    budget: TokenBudget, items: list[ContextItem], room: int, prompts: Container[str] = ()
) -> tuple[list[ContextItem], list[ContextItem]]:
    """Divide items into those that the budget lets in, and the others.

    A source with an allocation keeps its items in order of priority and score as far as they
    fit; with the strategy `drop` it keeps all or none. The other sources compete for the whole
    window. All together take no more than the budget's total without its reserve. A smaller item
    may follow one that did not fit.

    :param room: tokens of the window; an item that has no room there takes from no cap.
    :param prompts: ids of items that only an allocation of their own refuses.
    :returns: both by priority and score.
    """
    needed: Counter[SourceType] = Counter()
    for item in items:
        needed[item.source] += item.token_count
    left = {
        one.source: -1
        if one.overflow_strategy == "drop" and needed[one.source] > one.max_tokens
        else one.max_tokens
        for one in budget.allocations
    }
    total, used = budget.total_tokens - budget.reserve_tokens, 0
    kept: list[ContextItem] = []
    over: list[ContextItem] = []
    for item in by_priority(items):
        tokens, cap = item.token_count, left.get(item.source)
        fits = item.id in prompts or used + tokens <= total
        if not fits or (cap is not None and tokens > cap):
            over.append(item)
            continue
        kept.append(item)
        if used + tokens <= room:
            used += tokens
            if cap is not None:
                left[item.source] = cap - tokens
    return kept, over


def _shares(max_tokens: int, reserve: float, **shares: float) -> TokenBudget:
    if max_tokens <= 0:
        raise ValueError(f"max_tokens must be positive, not {max_tokens}")
    priorities = {"system": 10, "memory": 8, "conversation": 7, "tool": 6, "retrieval": 5}
    return TokenBudget(
        total_tokens=max_tokens,
        reserve_tokens=int(max_tokens * reserve),
        allocations=[
            BudgetAllocation(source=SourceType(name), max_tokens=tokens, priority=priorities[name])
            for name, share in shares.items()
            if (tokens := int(max_tokens * share))
        ],
    )


def default_chat_budget(max_tokens: int) -> TokenBudget:
    """Return a budget for conversations: 15 % for the answer, 25 % for what is retrieved.

    :raises ValueError: when `max_tokens` is not positive.
    """
    return _shares(max_tokens, 0.15, system=0.1, memory=0.1, conversation=0.2, retrieval=0.25)


def default_rag_budget(max_tokens: int) -> TokenBudget:
    """Return a budget for questions: 15 % for the answer, 40 % for what is retrieved.

    :raises ValueError: when `max_tokens` is not positive.
    """
    return _shares(max_tokens, 0.15, system=0.1, memory=0.05, conversation=0.1, retrieval=0.4)


class TextTokenizer:
    """Estimate tokens by script, English and Japanese alike; see `rag.text.token_estimate`."""

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens a text has."""
        return count_tokens(text)


def truncate(text: str, max_tokens: int, tokenizer: Tokenizer) -> str:
    """Return the longest beginning of a text that has no more than `max_tokens`."""
    if tokenizer.count_tokens(text) <= max_tokens:
        return text
    fits, over = 0, len(text)
    while over - fits > 1:
        middle = (fits + over) // 2
        if tokenizer.count_tokens(text[:middle]) <= max_tokens:
            fits = middle
        else:
            over = middle
    return text[:fits]
