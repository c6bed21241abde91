"""What a model wants, out of whatever it writes."""

import json
from datetime import date
from typing import Any

from rag.query import QueryPurpose, QueryType
from rag.query.llm import object_in
from rag.query.planner.llm_planner import ToolUse, confidence_of, result_of, tool_use
from tables import rows

TODAY = date(2026, 11, 21)
TOOLS = ["rapidfuzz_similarity", "weather"]
ANSWER = {"transformed_query": "undo a release", "confidence": 0.8}


def read(reply: Any) -> dict[str, Any]:
    return object_in(reply if isinstance(reply, str) else json.dumps(reply))


class TestActions:
    @rows(
        "reply",
        {"action": "tool", "tool": "weather", "arguments": {"query": "x"}},
        {"tool": "weather", "arguments": {"query": "x"}},
        {"action": "weather", "arguments": {"query": "x"}},
        {"name": "weather", "parameters": '{"query": "x"}'},
        [{"action": "tool", "tool": "weather", "arguments": {"query": "x"}}],
    )
    def test_a_tool_is_asked_for_in_many_ways(self, reply):
        assert tool_use(read(reply), TOOLS) == ToolUse("weather", {"query": "x"})

    @rows(
        "reply",
        {"action": "final", **ANSWER},
        ANSWER,
        {"action": "final", "answer": ANSWER},
        {"final": ANSWER},
        {"action": "done", **ANSWER},
        f"<think>{{}}</think> Here it is:\n```json\n{json.dumps(ANSWER)}\n``` Bye.",
        json.dumps(ANSWER)[:-1],
        f'{{"type": "object", "properties": {{"query": {{}}}}}}\n{json.dumps(ANSWER)}',
    )
    def test_an_answer_is_given_in_many_ways(self, reply):
        assert tool_use(read(reply), TOOLS) is None
        result = result_of("q", read(reply), TODAY)
        assert result and result.transformed_query == "undo a release"


class TestConfidence:
    @rows(
        "said, meant",
        *((0.85, 0.85), (85, 0.85), ("0.85", 0.85), ("85", 0.85), ("85%", 0.85)),
        *(("85 ％", 0.85), (1, 1.0), (0, 0.0), (100, 1.0), ("1%", 0.01), ("100%", 1.0)),
        *((".5", 0.5), ("0.5 ", 0.5)),
    )
    def test_it_is_understood_as_number_or_percentage(self, said, meant):
        assert confidence_of(said) == meant

    @rows(
        "said",
        *(None, True, False, "", "very", "1e9", "-1", -0.5, 101, 1 << 2000, [], {}),
        *(float("nan"), float("inf"), "nan"),
    )
    def test_anything_else_is_none_at_all(self, said):
        assert confidence_of(said) == 0.0


class TestResults:
    def test_all_of_an_answer(self):
        payload = {
            "transformed_query": " - “undo a release”\n",
            "confidence": "80%",
            "query_type": "How-To",
            "intent": "ANSWER",
            "units": [{"query": "a b", "query_type": "lookup", "confidence": 90}, "c d", "a b"],
            "event_keyword": "release",
            "rerank_query": "undo a failed release",
            "reasoning": "It asks\n how.",
            "matches": [{"words": "k8s stuff", "kind": "tag", "name": "kubernetes"}],
            "time_window": {"first": "2026-10-01", "last": "2026-10-31"},
        }
        made = result_of("query", payload, TODAY)
        assert (made.original_query, made.transformed_query) == ("query", "undo a release")
        assert (made.confidence, made.query_type) == (0.8, QueryType.HOW_TO)
        assert made.intent == QueryPurpose.ANSWER
        assert [(unit.query, unit.confidence) for unit in made.units] == [("a b", 0), ("c d", 0)]
        assert (made.event_keyword, made.reasoning) == ("release", "It asks how.")
        assert made.rerank_query == "undo a failed release"
        [match] = made.matches
        assert (match.kind, match.words, match.name) == ("tag", "k8s stuff", "kubernetes")
        assert made.time_window and made.time_window.last == date(2026, 10, 31)

    def test_nonsense_is_left_out(self):
        payload = {
            "transformed_query": "x",
            "query_type": ["lookup"],
            "intent": None,
            "units": [None, 3, {"query": 4}, {"query": "I'm sorry, I can't help"}, ""],
            "matches": [3, {"words": "x", "kind": "planet", "name": "y"}, {"kind": "tag"}],
            "time_window": {"first": "soon"},
            "event_keyword": {"a": 1},
            "reasoning": 5,
        }
        made = result_of("query", payload, TODAY)
        assert made is not None and made.transformed_query == "x"
        assert (made.query_type, made.intent) == (QueryType.UNKNOWN, QueryPurpose.UNKNOWN)
        assert (made.units, made.matches, made.time_window) == ([], [], None)
        assert (made.event_keyword, made.reasoning) == ("", "")
