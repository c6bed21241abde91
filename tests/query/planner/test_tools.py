"""Tools of a model: what they find, what goes wrong, and what of it is kept."""

import json
import threading
from collections.abc import Callable
from typing import Any

from haystack.tools import Tool

from rag.query import StaticCatalogue, similarity_tool
from rag.query.planner.llm_planner import ToolBox
from tables import rows

Install = Callable[..., None]
CATALOGUE = StaticCatalogue(
    vaults=["work"],
    tags=["kubernetes", "helm", *(f"tag-{n}" for n in range(30))],
    titles=["Deploy checklist"],
    aliases={"Release list": "Deploy checklist"},
    fields={"status": []},
)
PARAMETERS = {"type": "object", "properties": {"query": {"type": "string"}}}


def found(**arguments: Any) -> dict[str, Any]:
    return dict(similarity_tool(CATALOGUE, 8).invoke(**arguments))


def box(function: Callable[..., Any] | None = None) -> ToolBox:
    mine = [Tool("mine", "Does it.", PARAMETERS, function)] if function else []
    return ToolBox([similarity_tool(CATALOGUE), *mine])


class TestSimilarity:
    @rows(
        "query, value, kind",
        ("kuberntes", "kubernetes", "tag"),
        ("WORK", "work", "vault"),
        ("deploy chek list", "Deploy checklist", "title"),
        ("releaze list", "Release list", "title"),
        ("state status", "status", "field"),
    )
    def test_without_choices_it_looks_through_the_index(self, query, value, kind):
        made = found(query=query)
        assert made["engine"] == "rapidfuzz"
        best = made["matches"][0]
        assert (best["value"], best["kind"]) == (value, kind)
        assert 0 < best["score"] <= 100

    @rows("limit", None, 8, 99, 0, -3, "many", float("inf"), [1])
    def test_never_more_than_the_candidates_there_may_be(self, limit):
        assert len(found(query="tag", limit=limit)["matches"]) == 8


class TestUse:
    def test_a_model_is_told_what_came_of_it(self):
        outcome = box().use("rapidfuzz_similarity", {"query": "kuberntes", "limit": 1})
        shown, told = outcome.told.split(" -> ", 1)
        assert json.loads(shown) == {"query": "kuberntes", "limit": 1}
        assert json.loads(told)["result"]["matches"][0]["value"] == "kubernetes"

    def test_the_trace_keeps_lengths_and_counts_and_no_text(self):
        arguments = {"query": "SECRET", "choices": ["SECRET", "b"], "limit": 3, "SECRET": 1}
        use = box(lambda **given: {"engine": "e", "matches": [1, 2]}).use
        call = use("mine", {"query": "SECRET", "SECRET": ["x"]}).call
        assert (call.engine, call.matches) == ("e", 2)
        assert call.arguments == {"query": {"characters": 6}, "others": 1}
        call = box().use("rapidfuzz_similarity", arguments).call
        assert call.arguments == {
            "query": {"characters": 6},
            "choices": {"items": 2},
            "limit": 3,
            "others": 1,
        }
        assert "SECRET" not in call.model_dump_json()

    @rows("arguments", None, 3, "SECRET", ["SECRET"], {}, {"SECRET": 1}, {"query": None})
    def test_bad_arguments_are_told(self, arguments):
        outcome = box().use("rapidfuzz_similarity", arguments)
        assert '"error": "' in outcome.told
        assert outcome.call.failure in ("bad arguments", "TypeError")
        assert "SECRET" not in outcome.call.model_dump_json()

    def test_an_unknown_tool_is_told_with_those_there_are(self):
        outcome = box().use("SECRET", {"query": "x"})
        assert "there is no such tool; there are: rapidfuzz_similarity" in outcome.told
        assert (outcome.call.tool, outcome.call.failure) == ("unknown", "unknown tool")
        assert "SECRET" not in outcome.call.model_dump_json()

    def test_one_that_takes_too_long_is_left(self):
        gate = threading.Event()
        try:
            outcome = box(lambda query: gate.wait(5)).use("mine", {"query": "x"}, 0.01)
        finally:
            gate.set()
        assert outcome.call.failure == "timeout" and "longer than 0.01 s" in outcome.told

    def test_a_tool_that_raises_is_told_of(self):
        def fail(query: str) -> None:
            raise OSError(f"no {query}")

        outcome = box(fail).use("mine", {"query": "SECRET"})
        assert "it failed: no SECRET" in outcome.told
        assert (outcome.call.failure, outcome.call.matches) == ("OSError", 0)
        assert "SECRET" not in outcome.call.model_dump_json()

    @rows("result", None, object(), "x" * 10**6, {"matches": 3}, {"a": {1: {2}}}, "\ud800", [1])
    def test_any_result_is_told_in_so_many_characters(self, result):
        outcome = box(lambda query: result).use("mine", {"query": "x"})
        assert len(outcome.told.encode()) < 5000
        assert not outcome.call.failure
