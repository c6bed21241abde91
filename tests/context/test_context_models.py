"""Items, windows and what a run of the pipeline gives."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from context_parts import contents, item
from rag.context import (
    ContextItem,
    ContextResult,
    ContextWindow,
    ConversationTurn,
    PipelineDiagnostics,
    QueryBundle,
    SourceType,
)


def test_an_item_has_the_documented_defaults():
    made = ContextItem(content="x", source=SourceType.RETRIEVAL)
    assert (made.score, made.priority, made.token_count, made.metadata) == (0.0, 5, 0, {})
    assert made.created_at.tzinfo is not None


def test_two_items_have_two_ids():
    assert item().id != item().id
    assert len(item().id) == 36


def test_an_item_does_not_change():
    with pytest.raises(ValidationError):
        item().score = 1.0  # type: ignore[misc]


def test_a_copy_of_an_item_may_differ():
    assert item(score=0.2).model_copy(update={"score": 0.4}).score == 0.4


@pytest.mark.parametrize(
    "fields",
    [
        {"score": -0.1},
        {"score": 1.1},
        {"score": float("nan")},
        {"priority": 0},
        {"priority": 11},
        {"token_count": -1},
        {"source": "web"},
        {"created_at": datetime(2026, 1, 1)},
        {"content": None},
    ],
    ids=str,
)
def test_an_item_refuses(fields: dict[str, object]):
    with pytest.raises(ValidationError):
        ContextItem.model_validate({"content": "x", "source": "retrieval", **fields})


def test_the_bounds_themselves_are_allowed():
    assert item(score=0.0, priority=1, token_count=0)
    assert item(score=1.0, priority=10)


def test_a_source_is_its_name():
    assert [*SourceType] == ["retrieval", "memory", "system", "user", "tool", "conversation"]
    assert ContextItem(content="x", source="memory").source is SourceType.MEMORY  # type: ignore


def test_an_item_survives_json():
    made = item("日本語", metadata={"a": [1]})
    assert ContextItem.model_validate_json(made.model_dump_json()) == made


def test_a_query_has_the_documented_defaults():
    query = QueryBundle(query_str="x")
    assert (query.embedding, query.metadata, query.chat_history) == (None, {}, [])


def test_a_turn_has_the_documented_defaults():
    turn = ConversationTurn(role="user", content="x")
    assert (turn.token_count, turn.metadata) == (0, {})
    assert turn.timestamp.tzinfo is not None


@pytest.mark.parametrize(
    "fields",
    [{"role": "robot"}, {"token_count": -1}, {"timestamp": datetime(2026, 1, 1)}],
    ids=str,
)
def test_a_turn_refuses(fields: dict[str, object]):
    with pytest.raises(ValidationError):
        ConversationTurn.model_validate({"role": "user", "content": "x", **fields})


def test_a_turn_takes_an_aware_time():
    assert ConversationTurn(role="tool", content="", timestamp=datetime(2026, 1, 1, tzinfo=UTC))


class TestWindow:
    def test_it_is_empty_and_has_8192_tokens_by_default(self):
        window = ContextWindow()
        assert (window.items, window.max_tokens, window.used_tokens) == ([], 8192, 0)
        assert (window.metadata, window.remaining_tokens, window.utilization) == ({}, 8192, 0.0)
        assert len(window) == 0

    @pytest.mark.parametrize("size", [0, -1])
    def test_it_must_have_room(self, size: int):
        with pytest.raises(ValueError, match="max_tokens"):
            ContextWindow(max_tokens=size)

    def test_an_item_that_fits_is_added(self):
        window = ContextWindow(max_tokens=10)
        assert window.add_item(item()) is True
        assert (len(window), window.used_tokens, window.remaining_tokens) == (1, 10, 0)
        assert window.utilization == 1.0

    def test_an_item_that_does_not_fit_is_not(self):
        window = ContextWindow(max_tokens=9)
        assert window.add_item(item()) is False
        assert (len(window), window.used_tokens) == (0, 0)

    def test_it_fills_by_priority_and_then_score(self):
        window = ContextWindow(max_tokens=100)
        over = window.add_items_by_priority(
            [
                item("low", priority=1, score=1.0),
                item("worse", score=0.1),
                item("better", score=0.9),
                item("top", priority=10),
            ]
        )
        assert contents(window.items) == ["top", "better", "worse", "low"]
        assert over == []

    def test_equal_items_keep_their_order(self):
        window = ContextWindow(max_tokens=100)
        window.add_items_by_priority([item("a"), item("b"), item("c")])
        assert contents(window.items) == ["a", "b", "c"]

    def test_it_returns_what_does_not_fit(self):
        window = ContextWindow(max_tokens=15)
        over = window.add_items_by_priority([item("second", score=0.1), item("first", score=0.2)])
        assert (contents(window.items), contents(over)) == (["first"], ["second"])

    def test_a_later_smaller_item_may_still_fit(self):
        window = ContextWindow(max_tokens=15)
        large = item("large", priority=9, token_count=20)
        over = window.add_items_by_priority([large, item("small")])
        assert (contents(window.items), contents(over)) == (["small"], ["large"])

    def test_items_it_is_made_with_take_room(self):
        window = ContextWindow(items=[item(), item()], max_tokens=25)
        assert window.used_tokens == 20
        assert window.add_item(item()) is False

    def test_what_is_said_to_be_used_is_believed(self):
        assert ContextWindow(items=[item()], used_tokens=99, max_tokens=100).remaining_tokens == 1

    def test_a_window_that_is_too_full_is_full(self):
        window = ContextWindow(max_tokens=10, used_tokens=30)
        assert (window.remaining_tokens, window.utilization) == (0, 1.0)

    def test_the_example_of_the_documentation(self):
        window = ContextWindow(max_tokens=4096)
        window.add_items_by_priority(
            [
                item("System prompt", "system", priority=10, token_count=20),
                item("A retrieval result", token_count=100),
            ]
        )
        assert f"{window.utilization:.1%}" == "2.9%"


def test_a_result_has_the_documented_fields():
    assert set(ContextResult.model_fields) == {
        "window",
        "formatted_output",
        "format_type",
        "overflow_items",
        "diagnostics",
        "build_time_ms",
    }


def test_diagnostics_have_the_documented_fields_and_need_none_of_them():
    assert PipelineDiagnostics.__optional_keys__ == {
        "steps",
        "memory_items",
        "total_items_considered",
        "items_included",
        "items_overflow",
        "token_utilization",
        "token_usage_by_source",
        "shared_pool_usage",
        "skipped_steps",
        "failed_step",
        "query_enriched",
        "budget_overflow_by_source",
    }
