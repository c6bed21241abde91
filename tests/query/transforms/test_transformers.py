"""The transformers, row by row of their reference: signatures, queries, metadata, components."""

import copy
import functools
from typing import Any

import pytest
from haystack import Pipeline
from haystack.core.errors import SerializationError

from rag.query import (
    ContextualQueryTransformer,
    ConversationRewriter,
    ConversationTurn,
    DecompositionTransformer,
    GeneratedText,
    GeneratedTexts,
    HyDETransformer,
    MultiQueryTransformer,
    QueryBundle,
    StepBackTransformer,
)
from tables import rows

# -- callbacks; a pipeline's YAML names them -------------------------------------------


def document(query: str) -> str:
    return f"a note on {query}"


def variations(query: str, count: int) -> list[str]:
    return [f"{query} {number}" for number in range(count)]


def parts(query: str) -> list[str]:
    return query.split(" and ")


def general(query: str) -> str:
    return f"about {query}"


def rewritten(query: str, turns: list[ConversationTurn]) -> str:
    return f"{query} ({turns[-1].content})"


def texts(queries: list[QueryBundle]) -> list[str]:
    return [query.query_str for query in queries]


TURNS = [
    ConversationTurn(role="user", content="What are holds?"),
    ConversationTurn(role="assistant", content="Reservations."),
]
QUERY = QueryBundle(
    query_str="holds and backups", embedding=[0.1, 0.2], metadata={"from": "test"}, chat_history=[]
)
TALK = QUERY.model_copy(update={"chat_history": TURNS})
ALL = {
    "hyde": HyDETransformer(document),
    "multi_query": MultiQueryTransformer(variations),
    "decomposition": DecompositionTransformer(parts),
    "step_back": StepBackTransformer(general),
    "conversation_rewrite": ConversationRewriter(rewritten),
}
each = pytest.mark.parametrize("transformer", ALL.values(), ids=ALL)

# -- signatures ------------------------------------------------------------------------


@each
def test_what_is_no_function_is_refused_at_once(transformer):
    with pytest.raises(TypeError, match="_fn must be callable, not str"):
        type(transformer)("document")


# -- what each gives -------------------------------------------------------------------

GIVES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "hyde": (["a note on holds and backups"], {"original_query": "holds and backups"}),
    "multi_query": (
        ["holds and backups", *(f"holds and backups {n}" for n in range(3))],
        {"original_query": "holds and backups", "variation_index": 2},
    ),
    "decomposition": (
        ["holds", "backups"],
        {"parent_query": "holds and backups", "sub_question_index": 1},
    ),
    "step_back": (
        ["holds and backups", "about holds and backups"],
        {"original_query": "holds and backups"},
    ),
    "conversation_rewrite": (
        ["holds and backups (Reservations.)"],
        {"original_query": "holds and backups"},
    ),
}


@pytest.mark.parametrize("name", ALL)
def test_queries_in_order_with_what_they_were_made_from(name):
    queries, metadata = GIVES[name]
    made = ALL[name].transform(TALK)
    assert texts(made) == queries
    assert made[-1].metadata == {"from": "test", "transform": name, **metadata}
    if name in ("multi_query", "step_back"):
        assert made[0] == TALK


class TestMultiQuery:
    @rows("count", 1, 2, 7)
    def test_the_callback_is_told_how_many(self, count):
        asked: list[tuple[str, int]] = []

        def note(query: str, number: int) -> list[str]:
            asked.append((query, number))
            return variations(query, number)

        made = MultiQueryTransformer(note, num_queries=count).transform(QUERY)
        assert asked == [("holds and backups", count)]
        assert len(made) == count + 1

    def test_of_too_many_the_first_are_taken(self):
        made = MultiQueryTransformer(lambda query, count: ["a", "b", "c"], 2).transform(QUERY)
        assert texts(made)[1:] == ["a", "b"]

    @rows("count", 0, -1)
    def test_fewer_than_one_is_a_value_error(self, count):
        with pytest.raises(ValueError, match="num_queries must be at least 1"):
            MultiQueryTransformer(variations, num_queries=count)

    def test_one_text_is_not_taken_for_its_letters(self):
        with pytest.raises(TypeError, match="list of texts"):
            MultiQueryTransformer(lambda query, count: "abc").transform(QUERY)


# -- conversation ----------------------------------------------------------------------


class TestConversationRewriter:
    def test_without_a_history_the_query_is_returned_unchanged(self):
        def never(query: str, turns: list[ConversationTurn]) -> str:
            raise AssertionError("nobody is to be asked")

        assert ConversationRewriter(never).transform(QUERY) == [QUERY]

    def test_the_callback_is_given_the_query_and_the_history(self):
        seen: list[Any] = []
        ConversationRewriter(lambda *given: seen.append(given) or "x").transform(TALK)
        assert seen == [("holds and backups", TURNS)]

    def test_embedding_and_history_are_preserved(self):
        [made] = ALL["conversation_rewrite"].transform(TALK)
        assert (made.embedding, made.chat_history) == ([0.1, 0.2], TURNS)


class TestContextualQueryTransformer:
    SAID = "user: What are holds? | assistant: Reservations."

    def test_the_conversation_stands_before_the_query(self):
        [made] = ContextualQueryTransformer(HyDETransformer(str)).transform(TALK)
        before = "Given the conversation context: "
        assert made.query_str == f"{before}{self.SAID} | Query: holds and backups"

    def test_without_a_history_the_inner_transformer_is_given_the_query_itself(self):
        inner = ALL["multi_query"]
        assert ContextualQueryTransformer(inner).transform(QUERY) == inner.transform(QUERY)


# -- what all of them do ---------------------------------------------------------------


@each
def test_the_history_stays_with_every_query(transformer):
    assert all(made.chat_history == TURNS for made in transformer.transform(TALK))


class TestFallbacks:
    """A callback that had to do without its model is seen in the metadata."""

    WHY = "llama3.2 does not answer"

    @rows("kind", HyDETransformer, StepBackTransformer)
    def test_of_a_text(self, kind):
        made = kind(lambda query: GeneratedText("x", self.WHY)).transform(QUERY)[-1]
        assert made.metadata["fallback"] == self.WHY
        assert type(made.query_str) is str

    def test_of_texts(self):
        made = DecompositionTransformer(lambda query: GeneratedTexts(["x", "y"], self.WHY))
        assert [one.metadata["fallback"] for one in made.transform(QUERY)] == [self.WHY] * 2

    def test_where_there_is_no_text_the_original_tells(self):
        made = MultiQueryTransformer(lambda query, count: GeneratedTexts([], self.WHY))
        [original] = made.transform(QUERY)
        assert original.query_str == QUERY.query_str
        assert original.metadata == {"from": "test", "fallback": self.WHY}


@each
@rows("made", None, 3, [None], ["x", 3])
def test_a_callback_that_gives_no_text_is_a_type_error(transformer, made):
    with pytest.raises(TypeError, match="the callback must return a"):
        type(transformer)(lambda *given: made).transform(TALK)


# -- as components ---------------------------------------------------------------------


@each
def test_a_component_takes_a_query_or_a_text_and_gives_queries(transformer):
    assert transformer.run(QUERY) == {"queries": transformer.transform(QUERY)}
    plain = QueryBundle(query_str="holds and backups")
    assert transformer.run("holds and backups") == {"queries": transformer.transform(plain)}


@each
def test_it_stands_in_a_pipeline_and_in_its_yaml(transformer):
    pipeline = Pipeline()
    pipeline.add_component("transform", copy.copy(transformer))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag", __name__])
    assert again.to_dict() == pipeline.to_dict()
    made = again.run({"transform": {"query": TALK}})
    assert made["transform"]["queries"] == transformer.transform(TALK)


def test_all_that_was_set_is_in_the_yaml():
    five = MultiQueryTransformer(variations, num_queries=5)
    pipeline = Pipeline()
    pipeline.add_component("said", ContextualQueryTransformer(five, context_prefix="Said: "))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag", __name__])
    made = again.run({"said": {"query": TALK}})["said"]["queries"]
    assert len(made) == 6
    assert made[0].query_str.startswith("Said: user: ")


@rows(
    "callback, why",
    (lambda query: query, "lambda"),
    (functools.partial(document), "partial cannot be serialised"),
)
def test_callbacks_without_a_name_work_but_are_refused_in_yaml(callback, why):
    transformer = HyDETransformer(callback)
    assert transformer.transform(QUERY)
    with pytest.raises(SerializationError, match=why):
        transformer.to_dict()
