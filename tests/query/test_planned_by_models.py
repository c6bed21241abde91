"""Plans of the table, over a real socket, with a model that answers in every possible way:
filters, route and text are the same each time. Each way takes other rows, all of them together
the whole table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from plan_table import CATALOGUE, ROWS, TODAY

from ollama_server import OllamaServer, Reply
from rag.clients.generator import OllamaGenerator
from rag.config import OllamaConfig, PlannerConfig
from rag.query import FullTransformationResult, LiveAsker, MetadataTransformer
from rag.query.synthesis import is_short

WELL = {
    "action": "final",
    "transformed_query": "undo a release that went wrong",
    "query_type": "how_to",
    "intent": "answer",
    "confidence": 0.9,
    "units": [{"query": "revert a deployment", "confidence": 0.8}],
    "event_keyword": "release",
    "reasoning": "It asks how to undo a release.",
}
BADLY = {
    "action": "final",
    "transformed_query": ["no", 3],
    "query_type": 7,
    "intent": {"x": None},
    "confidence": "high",
    "units": "tag:work -draft",
    "tags": ["rust"],
    "vaults": ["work", "nowhere"],
    "matches": [
        {"words": "rollback", "kind": "tag", "name": "rollback"},
        {"words": "work", "kind": "vault", "name": "personal"},
        {"words": 3, "kind": "planet", "name": None},
    ],
    "time_window": {"first": "2026-13-45", "last": "yesterday"},
    "event_keyword": 12,
    "reasoning": None,
}
INVENTED = {**WELL, "matches": [{"words": "it", "kind": "tag", "name": "no-such-tag"}]}
HUNDRED = {
    **WELL,
    "tags": [f"tag-{n}" for n in range(100)],
    "matches": [{"words": "notes", "kind": "tag", "name": tag} for tag in CATALOGUE.tags()] * 2,
}
TOOL = {"action": "tool", "tool": "rapidfuzz_similarity", "arguments": {"query": "rollbck"}}
BEHAVIOURS: dict[str, Any] = {
    "well": WELL,
    "badly": BADLY,
    "prose": "Sure! Notes about that are tagged kubernetes, in the work vault, from 2024.",
    "invented": INVENTED,
    "a hundred tags": HUNDRED,
    "tools for ever": TOOL,
    "fenced, with a thought": f"<think>hm {{</think>\n```json\n{json.dumps(WELL)}\n```\nDone.",
}
WAYS = [*BEHAVIOURS, "fails"]


@pytest.fixture(scope="module")
def asked() -> Iterator[Callable[[Any], dict[str, Any]]]:
    """Set what a server says: `asked(reply)` gives the generators by stage."""
    with OllamaServer(["llama3.2"]) as server:
        config = OllamaConfig(url=server.url, chat_model="llama3.2", retries=0)
        generator = OllamaGenerator(config)

        def say(reply: Any) -> dict[str, Any]:
            server.heal()
            text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
            server.api.answer = lambda body: Reply(text, chunks=[text])
            if reply is None:
                server.fail("/api/chat", status=500, times=None)
            return dict.fromkeys(("route", "metadata", "hyde"), generator)

        yield say
        generator.close()


def plan(query: str, generators: dict[str, Any], **config: Any) -> FullTransformationResult:
    transformer = MetadataTransformer(PlannerConfig(**config), LiveAsker(generators))
    return transformer.transform(query, CATALOGUE, today=TODAY, full=bool(generators))


def controls(made: FullTransformationResult) -> dict[str, Any]:
    """What a plan says but for what a model may put as it likes."""
    soft = {"hyde", "units", "confidence", "fallbacks", "models"}
    controls = made.model_dump(mode="json", exclude=soft)
    del controls["metadata"]["event_keyword"], controls["metadata"]["logical_reasoning"]
    controls["intent"] = controls["intent"]["primary_route"]
    return controls


@pytest.mark.parametrize("behaviour", WAYS)
def test_controls_are_the_same_whatever_the_model_does(
    asked: Callable[[Any], dict[str, Any]], behaviour: str
):
    generators = asked(BEHAVIOURS.get(behaviour))
    names = {*CATALOGUE.tags(), *CATALOGUE.vaults(), *CATALOGUE.titles(), *CATALOGUE.fields()}
    for row in ROWS[WAYS.index(behaviour) :: len(WAYS)]:
        made = plan(row.query, generators, max_tool_iterations=1)
        assert controls(made) == controls(plan(row.query, {}))
        assert {*made.metadata.tags, *made.metadata.vaults, *made.expansions} <= names
        assert {named.name for named in made.in_scope} <= names
        assert len(made.metadata.tags) <= 8
        assert made.hyde.hyde_paragraph
        assert not is_short(made.hyde.rerank_query)
        assert ("metadata" in made.models) == (
            behaviour not in ("prose", "fails", "tools for ever")
        )
        assert made.fallbacks or behaviour in ("well", "fenced, with a thought")
