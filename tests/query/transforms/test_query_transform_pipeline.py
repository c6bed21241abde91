"""Transformers in a row: order, duplicates, waiting, serialisation."""

import asyncio
from typing import Any

import pytest
from haystack import Pipeline, component

from rag.query import (
    ContextualQueryTransformer,
    GeneratedText,
    HyDETransformer,
    MultiQueryTransformer,
    QueryBundle,
    QueryTransformPipeline,
    StepBackTransformer,
)
from tables import rows

QUERY = QueryBundle(query_str="q")


def exclaimed(query: str) -> str:
    return f"{query}!"


def twice(query: str, count: int) -> list[str]:
    return [f"{query}{number}" for number in range(count)]


def texts(queries: list[QueryBundle]) -> list[str]:
    return [query.query_str for query in queries]


class Fixed:
    """Makes the same queries of every query."""

    def __init__(self, *made: str) -> None:
        self.made, self.seen = made, list[str]()

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        self.seen.append(query.query_str)
        origin = {"of": query.query_str}
        return [QueryBundle(query_str=text, metadata=origin) for text in self.made]


class Waiting(Fixed):
    """The same, asynchronously; `together` counts those that wait at once."""

    waiting = together = 0

    async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
        self.waiting += 1
        self.together = max(self.together, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        return super().transform(query)

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        raise AssertionError("it can wait")


@component
class Bare:
    """A transformer of somebody's own: a component without `to_dict`."""

    def __init__(self, ending: str = "?") -> None:
        self.ending = ending

    @component.output_types(queries=list[QueryBundle])
    def run(self, query: QueryBundle) -> dict[str, Any]:
        return {"queries": self.transform(query)}

    def transform(self, query: QueryBundle) -> list[QueryBundle]:
        return [query.model_copy(update={"query_str": query.query_str + self.ending})]


def run_both(transformers: list[Any], query: QueryBundle = QUERY) -> list[QueryBundle]:
    """Transform in both ways, which must give the same."""
    pipeline = QueryTransformPipeline(transformers)
    made = pipeline.transform(query)
    assert asyncio.run(pipeline.atransform(query)) == made
    return made


def test_no_transformer_is_a_value_error():
    with pytest.raises(ValueError, match="at least one transformer"):
        QueryTransformPipeline([])


def test_each_is_applied_to_every_query_of_the_one_before():
    made = run_both([MultiQueryTransformer(twice, 2), HyDETransformer(exclaimed)])
    assert texts(made) == ["q!", "q0!", "q1!"]


def test_duplicates_within_one_transformer_go_too():
    assert texts(run_both([Fixed("a", "a", "b", "a")])) == ["a", "b"]


def test_a_fallback_is_told_of_even_where_its_query_was_a_duplicate():
    back = StepBackTransformer(lambda query: GeneratedText(query, "no model"))
    [made] = run_both([back])
    assert made.metadata == {"fallback": "no model"}


def test_a_pipeline_is_a_transformer():
    inner = QueryTransformPipeline([MultiQueryTransformer(twice, 1)])
    assert texts(run_both([inner, HyDETransformer(exclaimed)])) == ["q!", "q0!"]


class TestWaiting:
    def test_what_can_wait_is_waited_for_and_the_rest_is_not(self):
        pipeline = QueryTransformPipeline([Fixed("a", "b"), Waiting("x"), HyDETransformer(str)])
        assert texts(asyncio.run(pipeline.atransform(QUERY))) == ["x"]

    def test_the_queries_of_one_stage_wait_together_and_keep_their_order(self):
        class Later(Waiting):
            async def atransform(self, query: QueryBundle) -> list[QueryBundle]:
                if query.query_str == "a":
                    await asyncio.sleep(0.01)
                await super().atransform(query)
                return [query]

        waiting = Later()
        pipeline = QueryTransformPipeline([Fixed("a", "b", "c"), waiting])
        assert texts(asyncio.run(pipeline.atransform(QUERY))) == ["a", "b", "c"]
        assert waiting.together > 1


class TestComponent:
    def pipeline(self) -> Pipeline:
        chain = [MultiQueryTransformer(twice, 1), HyDETransformer(exclaimed), Bare("?!")]
        pipeline = Pipeline()
        pipeline.add_component("queries", QueryTransformPipeline(chain))
        return pipeline

    def test_it_runs_in_an_asynchronous_pipeline(self):
        made = asyncio.run(self.pipeline().run_async({"queries": {"query": QUERY}}))
        assert texts(made["queries"]["queries"]) == ["q!?!", "q0!?!"]

    def test_its_yaml_holds_all_of_it(self):
        pipeline = self.pipeline()
        again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag", __name__])
        assert again.dumps() == pipeline.dumps()
        made = again.run({"queries": {"query": "q"}})
        assert texts(made["queries"]["queries"]) == ["q!?!", "q0!?!"]


@rows("make", lambda x: QueryTransformPipeline([x]), ContextualQueryTransformer)
def test_what_is_no_transformer_is_a_type_error(make):
    with pytest.raises(TypeError, match="object is no query transformer"):
        make(object())


def test_its_repr_names_every_transformer():
    pipeline = QueryTransformPipeline([HyDETransformer(str), MultiQueryTransformer(str)])
    assert repr(pipeline) == "QueryTransformPipeline([HyDETransformer, MultiQueryTransformer])"
