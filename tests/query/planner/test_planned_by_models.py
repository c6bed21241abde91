"""Plans of the table, with a model that answers in every possible way: filters, route and text
are the same each time, but for open slots that a good answer fills. Each way takes the whole table
in `make test-full`, and every day some rows of it that no other way takes.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage

from plan_table import CATALOGUE, ROWS, TODAY
from property_examples import IS_FULL
from rag.config import PlannerConfig
from rag.query import FullTransformationResult, LiveAsker, MetadataTransformer
from rag.query.metadata import is_short
from rag.query.planner.plan import Named

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
FILLS = {"tag": "gtd", "vault": "Book club", "title": "Café notes"}  # no row asks for these
JUNE = {"first": "2026-06-01", "last": "2026-06-30"}
BADLY = {
    "action": "final",
    "transformed_query": "roll it back",
    "query_type": 7,
    "intent": {"x": None},
    "confidence": 0.95,
    "units": "tag:work -draft",
    "tags": ["rust"],
    "vaults": ["work", "nowhere"],
    "time_window": {"first": "2026-13-45", "last": "yesterday"},
    "event_keyword": 12,
    "reasoning": None,
}
NO_QUERY = {**BADLY, "transformed_query": ["no", 3]}


def well(slots: list[Named]) -> dict[str, Any]:
    """Fill every open slot with a name of the index."""
    matches = [
        {"words": slot.words, "kind": slot.kind, "name": FILLS[slot.kind]}
        for slot in slots
        if slot.kind in FILLS
    ]
    return {**WELL, "matches": matches, "time_window": JUNE}


def badly(slots: list[Named]) -> dict[str, Any]:
    """Fill every open slot wrongly: with a name that is not there, with several, of another kind,
    and by words that are not its own."""
    matches: list[dict[str, Any]] = [
        {"words": "rollback", "kind": "tag", "name": "rollback"},
        {"words": "work", "kind": "vault", "name": "personal"},
        {"words": 3, "kind": "planet", "name": None},
    ]
    for slot in slots:
        other = "vault" if slot.kind != "vault" else "tag"
        matches += [
            {"words": slot.words, "kind": slot.kind, "name": "no-such-name"},
            {"words": slot.words, "kind": slot.kind, "name": list(FILLS.values())},
            {"words": slot.words, "kind": slot.kind, "name": ", ".join(FILLS.values())},
            {"words": slot.words, "kind": other, "name": FILLS[other]},
            {"words": f"{slot.words} x", "kind": slot.kind, "name": FILLS.get(slot.kind, "")},
        ]
    return {**BADLY, "matches": matches}


INVENTED = {**WELL, "matches": [{"words": "it", "kind": "tag", "name": "no-such-tag"}]}
HUNDRED = {
    **WELL,
    "tags": [f"tag-{n}" for n in range(100)],
    "matches": [{"words": "notes", "kind": "tag", "name": tag} for tag in CATALOGUE.tags()] * 2,
}
TOOL = {"action": "tool", "tool": "rapidfuzz_similarity", "arguments": {"query": "rollbck"}}
BEHAVIOURS: dict[str, Any] = {
    "well": well,
    "badly": badly,
    "without a query": NO_QUERY,
    "prose": "Sure! Notes about that are tagged kubernetes, in the work vault, from 2024.",
    "invented": INVENTED,
    "a hundred tags": HUNDRED,
    "tools for ever": TOOL,
    "fenced, with a thought": f"<think>hm {{</think>\n```json\n{json.dumps(WELL)}\n```\nDone.",
}
WAYS = [*BEHAVIOURS, "fails"]
_APART = 2 * len(WAYS)  # rows of the table, of those that a way takes every day
NO_ANSWER = ("prose", "fails", "tools for ever", "without a query")


class Model:
    """A chat generator that answers in one of these ways.

    :ivar slots: what the query leaves open.
    """

    model = "a model"

    def __init__(self, behaviour: str) -> None:
        self._reply = BEHAVIOURS.get(behaviour)
        self.slots: list[Named] = []

    def run(self, messages: list[ChatMessage]) -> dict[str, list[ChatMessage]]:
        if self._reply is None:
            raise OSError("down")
        return {"replies": [ChatMessage.from_assistant(written(self._reply, self.slots))]}


def written(reply: Any, slots: list[Named]) -> str:
    said = reply(slots) if callable(reply) else reply
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def planner(generators: dict[str, Any]) -> MetadataTransformer:
    config = PlannerConfig(max_tool_iterations=1)
    return MetadataTransformer(config, LiveAsker(generators))


@pytest.fixture(scope="module")
def ruled() -> Callable[[str], FullTransformationResult]:
    """The plan of a query without a model."""
    rules = planner({})
    return cache(lambda query: rules.transform(query, CATALOGUE, today=TODAY))


def controls(made: FullTransformationResult) -> dict[str, Any]:
    """What a plan says but for what a model may put as it likes."""
    soft = {"hyde", "units", "confidence", "fallbacks", "models"}
    controls = made.model_dump(mode="json", exclude=soft)
    del controls["metadata"]["event_keyword"], controls["metadata"]["logical_reasoning"]
    controls["intent"] = controls["intent"]["primary_route"]
    return controls


NAMES = {*CATALOGUE.tags(), *CATALOGUE.vaults(), *CATALOGUE.titles(), *CATALOGUE.fields()}


def assert_sound(made: FullTransformationResult, behaviour: str) -> None:
    assert {*made.metadata.tags, *made.metadata.vaults, *made.expansions} <= NAMES
    assert {named.name for named in made.in_scope} <= NAMES
    assert len(made.metadata.tags) <= 8
    assert made.hyde.hyde_paragraph
    assert not is_short(made.hyde.rerank_query)
    assert ("metadata" in made.models) == (behaviour not in NO_ANSWER)


def filled(made: FullTransformationResult, ruled: FullTransformationResult) -> bool:
    """Tell whether a good answer filled what the rules left open, and nothing else."""
    before, now = controls(ruled)["metadata"], controls(made)["metadata"]
    if any(fallback.startswith("time: ") for fallback in ruled.fallbacks):
        before["time_window"] |= {**JUNE, "name": "DATES"}
        before["time_window"]["text"] = now["time_window"]["text"]
    for slot in ruled.out_of_scope:
        if slot.kind in FILLS:
            lists = [now["tags"], now["excluded_tags"], now[f"{slot.kind}s"]]
            assert any(FILLS[slot.kind] in names for names in lists)
    own = set(FILLS.values())
    for one in (before, now):
        one["tag_match"] = "all"  # two tags may be there now
        one |= {k: sorted(set(v) - own) for k, v in one.items() if isinstance(v, list)}
    return bool(before == now)


@pytest.mark.parametrize("behaviour", WAYS)
def test_controls_are_the_same_whatever_the_model_does(ruled, behaviour):
    model = Model(behaviour)
    transformer = planner(dict.fromkeys(("metadata", "hyde"), model))
    for row in ROWS if IS_FULL else ROWS[WAYS.index(behaviour) :: _APART]:
        rules = ruled(row.query)
        model.slots = rules.out_of_scope
        made = transformer.transform(row.query, CATALOGUE, today=TODAY, full=True)
        assert_sound(made, behaviour)
        is_open = rules.out_of_scope or any(f.startswith("time: ") for f in rules.fallbacks)
        if behaviour == "well" and is_open:
            assert filled(made, rules)
        else:
            assert controls(made) == controls(rules)
