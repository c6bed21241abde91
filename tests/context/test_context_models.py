"""Items, windows and what a run of the pipeline gives."""

from datetime import datetime

import pytest
from pydantic import ValidationError

from context_parts import item
from rag.context import ContextItem, ContextWindow, SourceType
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
    *({"score": -0.1}, {"score": 1.1}, {"score": float("nan")}, {"priority": 0}),
    *({"priority": 11}, {"token_count": -1}, {"source": "web"}),
    *({"created_at": datetime(2026, 1, 1)}, {"content": None}),
)
def test_an_item_refuses(fields):
    with pytest.raises(ValidationError):
        ContextItem.model_validate({"content": "x", "source": "retrieval", **fields})


class TestWindow:
    def test_it_is_empty_and_has_8192_tokens_by_default(self):
        window = ContextWindow()
        assert (window.items, window.max_tokens, window.used_tokens) == ([], 8192, 0)
        assert (window.metadata, window.remaining_tokens, window.utilization) == ({}, 8192, 0.0)
        assert len(window) == 0
