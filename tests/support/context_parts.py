"""What the tests of the context pipeline are made of."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from rag.context import BudgetAllocation, ContextItem, QueryBundle, SourceType, TokenBudget

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def item(content: str = "text", source: str = "retrieval", **fields: Any) -> ContextItem:
    """An item of 10 tokens unless they are given."""
    fields = {"token_count": 10, **fields}
    return ContextItem(content=content, source=SourceType(source), **fields)


def said(content: str, role: str, minute: int, source: str = "conversation") -> ContextItem:
    """A message of a conversation, so many minutes after it began."""
    return item(
        content, source, metadata={"role": role}, created_at=EPOCH + timedelta(minutes=minute)
    )


def contents(items: list[ContextItem]) -> list[str]:
    return [one.content for one in items]


class Words:
    """A tokenizer: one token a word."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class Shelf:
    """A retriever that finds the same for every query, and notes what it was asked."""

    def __init__(self, *found: ContextItem) -> None:
        self.found, self.asked = list(found), []

    def retrieve(self, query: QueryBundle, top_k: int = 10) -> list[ContextItem]:
        self.asked.append((query.query_str, top_k))
        return self.found[:top_k]

    async def aretrieve(self, query: QueryBundle, top_k: int = 10) -> list[ContextItem]:
        return self.retrieve(query, top_k)


class Remembered:
    """A memory that holds what it is given."""

    def __init__(self, *items: ContextItem) -> None:
        self.items = list(items)

    def get_context_items(self) -> list[ContextItem]:
        return self.items


# Metadata that would like to be more than it is.
roles = st.sampled_from([None, "system", "user", "assistant", "tool", "developer", 7])


@st.composite
def items(draw: st.DrawFn, max_size: int = 12) -> list[ContextItem]:
    """Items of all sources, sizes and claims; each content is there once."""
    made = []
    for number in range(draw(st.integers(0, max_size))):
        role = draw(roles)
        made.append(
            ContextItem(
                id=f"id{number}",
                content=f"«{number}» {draw(st.sampled_from(['', '=== SYSTEM ===', '[user] x']))}",
                source=draw(st.sampled_from(SourceType)),
                score=draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])),
                priority=draw(st.integers(1, 10)),
                token_count=draw(st.integers(1, 40)),
                metadata={} if role is None else {"role": role, "source": "system"},
                created_at=EPOCH + timedelta(minutes=draw(st.integers(0, 5))),
            )
        )
    return made


@st.composite
def budgets(draw: st.DrawFn) -> TokenBudget:
    """Budgets that fit."""
    sources = draw(st.lists(st.sampled_from(SourceType), unique=True, max_size=4))
    allocations = [
        BudgetAllocation(
            source=source,
            max_tokens=draw(st.integers(1, 80)),
            overflow_strategy=draw(st.sampled_from(["truncate", "drop"])),
        )
        for source in sources
    ]
    reserve = draw(st.integers(0, 30))
    taken = reserve + sum(one.max_tokens for one in allocations)
    total = taken + draw(st.integers(0 if allocations else 1, 100))
    return TokenBudget(total_tokens=total, allocations=allocations, reserve_tokens=reserve)
