"""System 1 in the context pipeline: `query_transform_step` and `classified_retriever_step`."""

from typing import Any

import pytest

from rag.context import (
    ContextItem,
    PipelineStep,
    RetrieverError,
    SourceType,
    classified_retriever_step,
    query_transform_step,
)
from rag.exceptions import RAGError
from rag.query import (
    CallbackClassifier,
    DecompositionTransformer,
    KeywordClassifier,
    MultiQueryTransformer,
    QueryBundle,
)
from tables import rows

QUERY = QueryBundle(query_str="q")


def item(name: str, **given: Any) -> ContextItem:
    return ContextItem(id=name, content=name, source=SourceType.RETRIEVAL, **given)


class Notes:
    """A retriever: which items a query finds, and what it was asked."""

    def __init__(self, **found: str) -> None:
        self.found, self.asked = found, list[tuple[str, int]]()

    def retrieve(self, query: QueryBundle, top_k: int = 10) -> list[ContextItem]:
        self.asked.append((query.query_str, top_k))
        return [item(name) for name in self.found.get(query.query_str, "").split()][:top_k]


def names(items: list[ContextItem]) -> list[str]:
    return [one.id for one in items]


def variations(query: str, count: int) -> list[str]:
    return [f"{query}{number}" for number in range(count)]


class TestQueryTransformStep:
    def step(self, notes: Notes, **given: Any) -> PipelineStep:
        return query_transform_step("expand", MultiQueryTransformer(variations, 2), notes, **given)

    def test_every_query_is_retrieved_with_top_k(self):
        notes = Notes()
        self.step(notes, top_k=3).execute([], QUERY)
        assert notes.asked == [("q", 3), ("q0", 3), ("q1", 3)]

    def test_the_lists_are_fused_by_reciprocal_ranks(self):
        found = self.step(Notes(q="a b", q0="b c", q1="b")).execute([], QUERY)
        sums = {"b": 1 / 62 + 2 / 61, "a": 1 / 61, "c": 1 / 62}
        assert names(found) == ["b", "a", "c"]
        assert [one.score for one in found] == pytest.approx([s / sums["b"] for s in sums.values()])

    def test_what_is_there_stays_in_front_and_is_not_added_again(self):
        before = [item("b", score=0.25)]
        found = self.step(Notes(q="a b")).execute(before, QUERY)
        assert (names(found), found[0].score) == (["b", "a"], 0.25)

    def test_a_transformer_that_makes_nothing_leaves_the_query(self):
        notes = Notes(q="a")
        step = query_transform_step("parts", DecompositionTransformer(lambda query: []), notes)
        assert names(step.execute([], QUERY)) == ["a"]


RETRIEVERS = {"code": Notes(q="c"), "prose": Notes(q="p1 p2")}


class TestClassifiedRetrieverStep:
    def step(self, label: str, **given: Any) -> PipelineStep:
        classifier = CallbackClassifier(lambda query: label)
        return classified_retriever_step("route", classifier, RETRIEVERS, **given)

    @rows("label, found", ("code", ["c"]), ("prose", ["p1", "p2"]))
    def test_the_label_chooses_the_retriever(self, label, found):
        step = self.step(label)
        assert (step.name, step.is_async, step.on_error) == ("route", False, "raise")
        assert names(step.execute([item("x")], QUERY)) == ["x", *found]

    def test_the_default_stands_in_for_labels_without_a_retriever(self):
        assert names(self.step("maths", default="code").execute([], QUERY)) == ["c"]

    @rows("default", None, "physics")
    def test_no_retriever_is_a_retriever_error(self, default):
        step = self.step("maths", default=default)
        with pytest.raises(RetrieverError, match="'maths'") as caught:
            step.execute([], QUERY)
        assert isinstance(caught.value, RAGError)


@rows("top_k", 0, -1)
def test_a_top_k_below_one_is_a_value_error(top_k):
    with pytest.raises(ValueError, match="top_k"):
        query_transform_step("x", MultiQueryTransformer(variations), Notes(), top_k=top_k)
    with pytest.raises(ValueError, match="top_k"):
        classified_retriever_step("x", KeywordClassifier({}, "a"), {}, top_k=top_k)
