"""The data models of queries: fields, defaults and what they refuse."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

import rag.query
from rag.query import (
    AsyncQueryTransformer,
    CallbackClassifier,
    ConversationTurn,
    HyDETransformer,
    QueryBundle,
    QueryClassifier,
    QueryTransformer,
    QueryTransformPipeline,
)
from rag.query.models import as_bundle


def test_a_query_bundle_has_only_its_text_by_default():
    query = QueryBundle(query_str="rollback")
    given = (query.query_str, query.embedding, query.metadata, query.chat_history)
    assert given == ("rollback", None, {}, [])


def test_a_query_bundle_needs_a_text():
    with pytest.raises(ValidationError):
        QueryBundle()  # type: ignore[call-arg]


def test_no_two_bundles_share_their_defaults():
    one, other = QueryBundle(query_str="a"), QueryBundle(query_str="b")
    one.metadata["seen"] = True
    one.chat_history.append(ConversationTurn(role="user", content="hello"))
    assert (other.metadata, other.chat_history) == ({}, [])


def test_a_turn_has_no_count_a_moment_and_no_metadata_by_default():
    before = datetime.now(UTC)
    turn = ConversationTurn(role="user", content="hello")
    assert (turn.token_count, turn.metadata) == (0, {})
    assert turn.timestamp.tzinfo is not None
    assert before <= turn.timestamp <= before + timedelta(minutes=1)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_a_turn_has_one_of_four_roles(role: str):
    assert ConversationTurn(role=role, content="x").role == role  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "robot", "content": "x"},
        {"role": "user", "content": "x", "token_count": -1},
        {"role": "user", "content": "x", "timestamp": datetime(2026, 1, 1)},
        {"role": "user"},
    ],
)
def test_a_turn_refuses_what_it_cannot_be(wrong: dict):
    with pytest.raises(ValidationError):
        ConversationTurn(**wrong)


def test_the_models_survive_json():
    turn = ConversationTurn(role="tool", content="日本語", token_count=3, metadata={"a": [1]})
    query = QueryBundle(query_str="木", embedding=[0.5], metadata={"k": 1}, chat_history=[turn])
    assert QueryBundle.model_validate_json(query.model_dump_json()) == query


def test_a_text_is_a_query_too():
    query = QueryBundle(query_str="木")
    assert as_bundle("木") == query
    assert as_bundle(query) is query


class TestProtocols:
    """They are told by what an object can do, not by what it descends from."""

    def test_a_transformer_is_what_transforms(self):
        class Mine:
            def transform(self, query: QueryBundle) -> list[QueryBundle]:
                return [query]

        assert isinstance(Mine(), QueryTransformer)
        assert isinstance(HyDETransformer(str), QueryTransformer)
        assert not isinstance(object(), QueryTransformer)

    def test_an_async_transformer_is_what_atransforms(self):
        class Mine:
            async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
                return [query]

        assert isinstance(Mine(), AsyncQueryTransformer)
        assert isinstance(QueryTransformPipeline([HyDETransformer(str)]), AsyncQueryTransformer)
        assert not isinstance(HyDETransformer(str), AsyncQueryTransformer)

    def test_a_classifier_is_what_classifies(self):
        assert isinstance(CallbackClassifier(str), QueryClassifier)
        assert not isinstance(HyDETransformer(str), QueryClassifier)


def test_every_name_of_the_package_loads():
    assert [name for name in rag.query.__all__ if getattr(rag.query, name) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        rag.query.Nothing  # noqa: B018
