"""Token budgets: what they are, and what they let in."""

import pytest

from context_parts import Words, contents, item
from rag.context import (
    BudgetAllocation,
    ContextItem,
    ContextPipeline,
    ContextResult,
    PipelineExecutionError,
    SourceType,
    TokenBudget,
)
from tables import rows

RETRIEVAL, MEMORY, SYSTEM = SourceType.RETRIEVAL, SourceType.MEMORY, SourceType.SYSTEM


def allocation(tokens: int, source: SourceType = RETRIEVAL, strategy: str = "truncate"):
    return BudgetAllocation(source=source, max_tokens=tokens, overflow_strategy=strategy)


def built(budget: TokenBudget, *items: ContextItem, max_tokens: int = 1000) -> ContextResult:
    return ContextPipeline(max_tokens, Words(), budget).build("q", items)


class TestTheBudget:
    @rows(
        "fields",
        *({"max_tokens": 0}, {"priority": 0}, {"priority": 11}),
        *({"overflow_strategy": "compress"}, {"source": "web"}),
    )
    def test_an_allocation_refuses(self, fields):
        with pytest.raises(ValueError, match="validation error"):
            BudgetAllocation.model_validate({"source": "memory", "max_tokens": 1, **fields})

    def test_a_budget_has_the_documented_defaults(self):
        budget = TokenBudget(total_tokens=100)
        assert (budget.allocations, budget.reserve_tokens, budget.shared_pool) == ([], 0, 100)

    def test_more_allocated_than_there_is_raises_value_error(self):
        with pytest.raises(ValueError, match="110 tokens are allocated"):
            TokenBudget(total_tokens=100, allocations=[allocation(60), allocation(50, MEMORY)])

    def test_the_shared_pool_is_what_is_left(self):
        budget = TokenBudget(total_tokens=100, allocations=[allocation(60)], reserve_tokens=15)
        assert budget.shared_pool == 25

    def test_an_allocation_falls_back_to_the_shared_pool(self):
        budget = TokenBudget(total_tokens=100, allocations=[allocation(60)])
        assert budget.get_allocation(RETRIEVAL) == 60
        assert budget.get_allocation(MEMORY) == 40

    def test_a_strategy_is_truncate_unless_it_is_set(self):
        budget = TokenBudget(total_tokens=100, allocations=[allocation(60, strategy="drop")])
        assert budget.get_overflow_strategy(RETRIEVAL) == "drop"
        assert budget.get_overflow_strategy(MEMORY) == "truncate"

    def test_the_reserve_counts_as_taken(self):
        with pytest.raises(ValueError, match="allocated and reserved"):
            TokenBudget(total_tokens=100, allocations=[allocation(60)], reserve_tokens=41)

    def test_a_source_has_one_allocation(self):
        with pytest.raises(ValueError, match="two allocations"):
            TokenBudget(total_tokens=100, allocations=[allocation(10), allocation(20)])


class TestInThePipeline:
    def test_truncate_keeps_the_best_items_while_they_fit(self):
        budget = TokenBudget(total_tokens=100, allocations=[allocation(25)])
        result = built(budget, item("c", score=0.1), item("a", priority=9), item("b", score=0.9))
        assert contents(result.window.items) == ["a", "b"]
        assert contents(result.overflow_items) == ["c"]

    def test_drop_keeps_none_of_a_source_that_exceeds_its_cap(self):
        budget = TokenBudget(total_tokens=100, allocations=[allocation(25, strategy="drop")])
        result = built(budget, item("a"), item("b"), item("c"), item("m", "memory"))
        assert contents(result.window.items) == ["m"]
        assert result.diagnostics["budget_overflow_by_source"] == {"retrieval": 3}

    def test_so_does_its_reserve(self):
        budget = TokenBudget(total_tokens=100, reserve_tokens=40)
        assert len(built(budget, item("m", "memory", token_count=60)).window) == 1
        assert len(built(budget, item("m", "memory", token_count=61)).window) == 0

    def test_a_system_prompt_takes_from_the_window(self):
        budget = TokenBudget(total_tokens=12, allocations=[allocation(1)])
        pipeline = ContextPipeline(12, budget=budget).add_system_prompt("Be very, very brief.")
        result = pipeline.build("q", [item("m", "memory", token_count=9)])
        assert contents(result.window.items) == ["Be very, very brief."]

    def test_a_system_prompt_keeps_to_an_allocation_of_its_own(self):
        own = BudgetAllocation(source=SourceType.SYSTEM, max_tokens=1)
        budget = TokenBudget(total_tokens=100, allocations=[own])
        pipeline = ContextPipeline(100, budget=budget).add_system_prompt("Be brief, be very brief.")
        assert contents(pipeline.build("q").window.items) == []

    @rows("size", 300, 200)
    def test_a_reserve_that_leaves_nothing_is_a_pipeline_execution_error(self, size):
        budget = TokenBudget(total_tokens=1000, reserve_tokens=300)
        with pytest.raises(PipelineExecutionError, match="reserve leaves nothing"):
            built(budget, max_tokens=size)

    def test_an_item_that_has_no_room_takes_from_no_cap(self):
        budget = TokenBudget(total_tokens=100, allocations=[allocation(9)])
        large, small = item("large", score=0.9, token_count=8), item("small", token_count=4)
        memory = item("m", "memory", priority=8, token_count=5)
        result = built(budget, memory, large, small, max_tokens=10)
        assert contents(result.window.items) == ["m", "small"]
