"""Items, windows and what a run of the pipeline gives."""

from __future__ import annotations

from datetime import datetime

import pytest
from pydantic import ValidationError

from context_parts import contents, item
from rag.context import (
    ContextItem,
    ContextWindow,
    SourceType,
)
from tables import rows


def test_an_item_has_the_documented_defaults():
    made = ContextItem(content="x", source=SourceType.RETRIEVAL)
    assert (made.score, made.priority, made.token_count, made.metadata) == (0.0, 5, 0, {})
    assert made.created_at.tzinfo is not None


def test_an_item_does_not_change():
    with pytest.raises(ValidationError):
        item().score = 1.0  # type: ignore[misc]


@rows(
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
)
def test_an_item_refuses(fields: dict[str, object]):
    with pytest.raises(ValidationError):
        ContextItem.model_validate({"content": "x", "source": "retrieval", **fields})


class TestWindow:
    def test_it_is_empty_and_has_8192_tokens_by_default(self):
        window = ContextWindow()
        assert (window.items, window.max_tokens, window.used_tokens) == ([], 8192, 0)
        assert (window.metadata, window.remaining_tokens, window.utilization) == ({}, 8192, 0.0)
        assert len(window) == 0

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

    def test_a_later_smaller_item_may_still_fit(self):
        window = ContextWindow(max_tokens=15)
        large = item("large", priority=9, token_count=20)
        over = window.add_items_by_priority([large, item("small")])
        assert (contents(window.items), contents(over)) == (["small"], ["large"])

    def test_the_example_of_the_documentation(self):
        window = ContextWindow(max_tokens=4096)
        window.add_items_by_priority(
            [
                item("System prompt", "system", priority=10, token_count=20),
                item("A retrieval result", token_count=100),
            ]
        )
        assert f"{window.utilization:.1%}" == "2.9%"
