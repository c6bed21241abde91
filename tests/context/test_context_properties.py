"""What holds of every run: nothing over budget, nothing lost, priorities never inverted."""

import asyncio
from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from context_parts import Remembered, Words, budgets, items
from rag.context import (
    ContextItem,
    ContextPipeline,
    ContextResult,
    ContextWindow,
    PipelineExecutionError,
    TokenBudget,
    reciprocal_rank_fusion,
)

rooms = st.integers(1, 200)


def built(given: list[ContextItem], size: int, budget: TokenBudget | None) -> ContextResult | None:
    """Build both ways, which come to the same; None where the reserve leaves no room."""
    made = ContextPipeline(size, Words(), budget).with_memory(Remembered(*given))
    try:
        result = made.build("q")
    except PipelineExecutionError:
        assert budget and budget.reserve_tokens >= size
        return None
    assert asyncio.run(made.abuild("q")).window == result.window
    return result


def tokens(given: list[ContextItem]) -> int:
    return sum(one.token_count for one in given)


@given(items(), rooms, st.none() | budgets())
def test_nothing_is_ever_over_budget(given, size, budget):
    result = built(given, size, budget)
    if result is None:
        return
    kept = result.window.items
    reserve = budget.reserve_tokens if budget else 0
    assert tokens(kept) == result.window.used_tokens <= size - reserve
    if budget is None:
        return
    assert tokens(kept) <= budget.total_tokens - reserve
    for one in budget.allocations:
        assert tokens([i for i in kept if i.source == one.source]) <= one.max_tokens
    capped = {one.source for one in budget.allocations}
    shared = tokens([i for i in kept if i.source not in capped])
    assert shared == result.diagnostics["shared_pool_usage"]


@given(items(), rooms, budgets())
def test_only_a_full_window_refuses_an_item_of_a_source_without_an_allocation(given, size, budget):
    result = built(given, size, budget)
    if result is None:
        return
    room = min(size, budget.total_tokens) - budget.reserve_tokens
    capped = {one.source for one in budget.allocations}
    for left in result.overflow_items:
        if left.source not in capped:
            before = [i for i in result.window.items if i.priority >= left.priority]
            assert tokens(before) + left.token_count > room


@given(items(), rooms, st.none() | budgets())
def test_what_is_considered_is_included_or_overflows(given, size, budget):
    result = built(given, size, budget)
    if result is None:
        return
    told = result.diagnostics
    there = Counter(one.id for one in [*result.window.items, *result.overflow_items])
    assert there == Counter(one.id for one in given)
    assert told["total_items_considered"] == len(given)
    assert told["items_included"] == len(result.window)
    assert told["items_overflow"] == len(result.overflow_items)
    assert told["total_items_considered"] == told["items_included"] + told["items_overflow"]
    assert sum(told["token_usage_by_source"].values()) == result.window.used_tokens
    assert 0 <= told["token_utilization"] <= 1


@given(items(), rooms, st.none() | budgets())
def test_an_item_left_out_is_larger_than_a_lesser_one_of_its_source_that_is_kept(
    given, size, budget
):
    result = built(given, size, budget)
    for left in result.overflow_items if result else []:
        for kept in result.window.items:
            if kept.source == left.source and kept.priority < left.priority:
                assert left.token_count > kept.token_count


@given(items(), rooms)
def test_a_window_is_in_order_of_priority_and_score(given, size):
    window = ContextWindow(max_tokens=size)
    over = window.add_items_by_priority(given)
    for part in (window.items, over):
        order = [(-one.priority, -one.score) for one in part]
        assert order == sorted(order)
    assert all(one.token_count > window.remaining_tokens for one in over)


lists_of_items = st.lists(
    st.lists(
        st.integers(0, 9).map(lambda n: ContextItem(id=str(n), content=str(n), source="retrieval")),
        max_size=6,
    ),
    max_size=4,
)


@given(lists_of_items, st.integers(0, 100))
def test_fused_scores_are_within_0_and_1_and_the_best_is_1(lists, k):
    fused = reciprocal_rank_fusion(lists, k)
    scores = [one.score for one in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert not scores or scores[0] == 1


@given(lists_of_items)
def test_fusing_keeps_each_item_once_and_ties_by_first_appearance(lists):
    fused = reciprocal_rank_fusion(lists)
    first = list(dict.fromkeys(one.id for ranked in lists for one in ranked))
    assert sorted(one.id for one in fused) == sorted(first)
    for one, other in pairwise(fused):
        assert one.score > other.score or first.index(one.id) < first.index(other.id)


def test_items_with_the_same_ranks_tie_whatever_the_order_of_the_lists():
    def ranked(number: int, **ranks: int) -> list[ContextItem]:
        names = {rank: name for name, rank in ranks.items()}
        ids = [names.get(rank, f"{number}-{rank}") for rank in range(1, 10)]
        return [ContextItem(id=one, content=one, source="retrieval") for one in ids]

    # Added up from left to right, the sum of a would be another in its last bit.
    lists = [ranked(1, a=1, b=5, c=9), ranked(2, a=5, b=9, c=1), ranked(3, a=9, b=1, c=5)]
    fused = reciprocal_rank_fusion(lists)
    assert [(one.id, one.score) for one in fused[:3]] == [("a", 1.0), ("b", 1.0), ("c", 1.0)]
