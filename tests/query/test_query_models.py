"""The data models of queries: fields, defaults and what they refuse."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

import rag.query
from rag.query import ConversationTurn, QueryBundle
from tables import rows


def test_a_query_bundle_has_only_its_text_by_default():
    query = QueryBundle(query_str="rollback")
    given = (query.query_str, query.embedding, query.metadata, query.chat_history)
    assert given == ("rollback", None, {}, [])


def test_a_turn_has_no_count_a_moment_and_no_metadata_by_default():
    before = datetime.now(UTC)
    turn = ConversationTurn(role="user", content="hello")
    assert (turn.token_count, turn.metadata) == (0, {})
    assert turn.timestamp.tzinfo is not None
    assert before <= turn.timestamp <= before + timedelta(minutes=1)


@rows(
    "wrong",
    {"role": "robot", "content": "x"},
    {"role": "user", "content": "x", "token_count": -1},
    {"role": "user", "content": "x", "timestamp": datetime(2026, 1, 1)},
    {"role": "user"},
)
def test_a_turn_refuses_what_it_cannot_be(wrong):
    with pytest.raises(ValidationError):
        ConversationTurn(**wrong)


def test_every_name_of_the_package_loads():
    assert [name for name in rag.query.__all__ if getattr(rag.query, name) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        rag.query.Nothing  # noqa: B018
