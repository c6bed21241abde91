"""Steps by themselves: what they do to a list of items."""

import asyncio
from functools import partial

import pytest

from context_parts import Shelf, contents, item
from rag.context import (
    ContextItem,
    PipelineStep,
    QueryBundle,
    RetrieverError,
    async_postprocessor_step,
    async_reranker_step,
    async_retriever_step,
    classified_retriever_step,
    filter_step,
    postprocessor_step,
    query_transform_step,
    reranker_step,
    retriever_step,
)
from rag.query import CallbackClassifier, MultiQueryTransformer
from tables import rows

QUERY = QueryBundle(query_str="q")


def run(step: PipelineStep, *items: ContextItem) -> list[str]:
    return contents(asyncio.run(step.aexecute(list(items), QUERY)))


class Backwards:
    """A post-processor and reranker, of both kinds."""

    def process(self, items, query):
        return items[::-1]

    async def aprocess(self, items, query):
        return items[::-1]

    def rerank(self, query, items, top_k=10):
        return items[::-1]

    async def arerank(self, query, items, top_k=10):
        return items[::-1]


class TestAStep:
    @rows("made", None, (), "text", {}, iter([]))
    def test_what_is_no_list_is_a_type_error(self, made):
        step = PipelineStep("s", lambda items, query: made)  # type: ignore
        with pytest.raises(TypeError, match=r"step 's' gave .*, not a list"):
            step.execute([], QUERY)
        with pytest.raises(TypeError, match="not a list"):
            asyncio.run(step.aexecute([], QUERY))

    def test_an_asynchronous_step_does_not_execute(self):
        async def fn(items, query):
            return items

        step = PipelineStep("s", fn, is_async=True)
        with pytest.raises(TypeError, match="asynchronous: use abuild"):
            step.execute([], QUERY)
        assert run(step, item("a")) == ["a"]


class TestRetrieving:
    @rows("make", retriever_step, async_retriever_step)
    def test_what_is_found_is_added(self, make):
        assert run(make("r", Shelf(item("b"))), item("a")) == ["a", "b"]

    @rows(
        "make",
        partial(retriever_step, "s", Shelf()),
        partial(async_retriever_step, "s", Shelf()),
        partial(reranker_step, "s", Backwards()),
        partial(async_reranker_step, "s", Backwards()),
        partial(query_transform_step, "s", None, Shelf()),
        partial(classified_retriever_step, "s", None, {}),
    )
    def test_fewer_than_one_cannot_be_asked_for(self, make):
        with pytest.raises(ValueError, match="top_k must be at least 1, not 0"):
            make(top_k=0)


class TestPostProcessing:
    @rows("make", postprocessor_step, async_postprocessor_step)
    def test_it_is_given_all_items(self, make):
        assert run(make("p", Backwards()), item("a", "system"), item("b")) == ["b", "a"]

    def test_a_filter_keeps_what_the_predicate_holds_for(self):
        step = filter_step("f", lambda one: one.score > 0.5)
        assert run(step, item("a", score=0.9), item("b", score=0.1)) == ["a"]

    @rows("make", reranker_step, async_reranker_step)
    def test_a_reranker_orders_and_keeps_top_k(self, make):
        assert run(make("r", Backwards(), top_k=2), item("a"), item("b"), item("c")) == ["c", "b"]

    @rows("source", "system", "memory", "conversation", "user")
    @rows("make", reranker_step, async_reranker_step)
    def test_a_reranker_is_not_asked_about_what_must_not_be_forgotten(self, make, source):
        step = make("r", Backwards(), top_k=1)
        assert run(step, item("a"), item("kept", source), item("b")) == ["kept", "b"]


class TestQueryTransforms:
    def step(self, shelf: Shelf, **fields: int) -> PipelineStep:
        transformer = MultiQueryTransformer(lambda query, n: ["one", "two"])
        return query_transform_step("t", transformer, shelf, **fields)

    def test_each_variant_is_retrieved_for(self):
        shelf = Shelf()
        run(self.step(shelf, top_k=4))
        assert shelf.asked == [("q", 4), ("one", 4), ("two", 4)]

    def test_results_are_fused_by_rank(self):
        a, b, c = item("a"), item("b"), item("c")

        class ByQuery:
            def retrieve(self, query, top_k=10):
                return {"q": [a, b], "one": [b, c], "two": [b]}[query.query_str]

        fused = self.step(ByQuery()).execute([], QUERY)  # type: ignore[arg-type]
        assert contents(fused) == ["b", "a", "c"]
        expected = 1 / 62 + 1 / 61 + 1 / 61
        assert [one.score for one in fused] == pytest.approx(
            [1.0, 1 / 61 / expected, 1 / 62 / expected]
        )

    def test_what_is_there_stays_in_front_and_is_not_added_again(self):
        kept = item("b", score=0.25)
        fused = self.step(Shelf(item("a"), kept)).execute([kept], QUERY)
        assert [(one.content, one.score) for one in fused] == [("b", 0.25), ("a", 1.0)]

    def test_a_transformer_without_queries_leaves_the_one_there_is(self):
        class Nothing:
            def transform(self, query):
                return []

        shelf = Shelf(item("a"))
        assert run(query_transform_step("t", Nothing(), shelf)) == ["a"]
        assert shelf.asked == [("q", 10)]


class TestClassifying:
    def step(self, label: str, **fields) -> PipelineStep:
        shelves = {"code": Shelf(item("code")), "prose": Shelf(item("prose"))}
        classifier = CallbackClassifier(lambda query: label)
        return classified_retriever_step("c", classifier, shelves, **fields)

    def test_the_label_chooses_the_retriever(self):
        assert run(self.step("code"), item("a")) == ["a", "code"]

    def test_the_default_is_for_all_other_labels(self):
        assert run(self.step("music", default="prose")) == ["prose"]

    def test_without_a_default_an_unknown_label_is_a_retriever_error(self):
        with pytest.raises(RetrieverError, match="no retriever for 'music'") as caught:
            self.step("music").execute([], QUERY)
        assert caught.value.hint == "There are 'code', 'prose'."
