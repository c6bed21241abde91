"""Whole plans: what a model may add, what it may not, and what is told of it."""

import json
from datetime import date
from typing import Any

import pytest
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage

from rag.config import PlannerConfig
from rag.exceptions import RAGError
from rag.query import (
    FullTransformationResult,
    LiveAsker,
    MetadataExtraction,
    MetadataTransformer,
    Named,
    ReplayAsker,
    StaticCatalogue,
    metadata,
)
from rag.query.metadata import is_short
from rag.query.planner.plan import Extraction
from tables import rows

TODAY = date(2026, 11, 21)
CATALOGUE = StaticCatalogue(
    vaults=["work", "home"],
    titles=["Deploy checklist"],
    notes=[["kubernetes", "helm"], ["kubernetes", "docker"], ["rust"], ["database"]],
    fields={"status": ["draft"], "due": []},
)
FINAL = {
    "action": "final",
    "transformed_query": "undo a failed release",
    "confidence": 0.9,
    "event_keyword": "release",
    "reasoning": "It asks how to undo one.",
    "rerank_query": "undo a failed release quickly",
}
HYDE = {"hyde_paragraph": "Run helm rollback. Wait.", "rerank_query": "roll back helm release"}
OPEN = "notes tagged blockchain about ledgers"


def asker(metadata: Any = None, hyde: Any = None, route: Any = None) -> LiveAsker:
    """Ask models that reply so; `None` is no model, an exception is raised."""

    def generator(said: Any) -> Any:
        def reply(messages: list[ChatMessage]) -> str:
            if isinstance(said, Exception):
                raise said
            return said if isinstance(said, str) else json.dumps(said)

        return None if said is None else MockChatGenerator(response_fn=reply, model="mock")

    replies = {"metadata": metadata, "hyde": hyde, "route": route}
    return LiveAsker({stage: generator(said) for stage, said in replies.items()})  # type: ignore


def plan(
    query: str,
    models: LiveAsker | ReplayAsker | None = None,
    flags: dict[str, Any] | None = None,
    full: bool = True,
    **config: Any,
) -> FullTransformationResult:
    transformer = MetadataTransformer(PlannerConfig(**config), models)
    merged = MetadataExtraction(**flags) if flags else None
    return transformer.transform(query, CATALOGUE, flags=merged, today=TODAY, full=full)


def answer(**more: Any) -> dict[str, Any]:
    return {**FINAL, **more}


def match(words: str, name: str, kind: str = "tag") -> dict[str, Any]:
    return answer(matches=[{"words": words, "kind": kind, "name": name}])


class TestByRules:
    def test_a_whole_plan(self):
        made = plan("Notes tagged k8s from last month in my work vault about rollbacks", full=False)
        read = made.metadata
        assert (read.vaults, read.tags, made.text) == (["work"], ["kubernetes"], "rollbacks")
        assert (read.time_window.first, read.time_window.last) == (
            date(2026, 10, 1),
            date(2026, 10, 31),
        )
        assert made.intent.primary_route == "hybrid_both"
        assert made.expansions == ["docker", "helm"]
        assert made.hyde.rerank_query == "rollbacks kubernetes docker helm"
        assert made.hyde.hyde_paragraph == ""  # nobody asked for texts to search with besides
        made = plan(made.query, extractor="rules")
        assert made.hyde.hyde_paragraph.startswith("A note about rollbacks. Tags: kubernetes.")
        assert (made.confidence, made.fallbacks, made.models) == (1.0, [], {})

    def test_nothing_but_filters_lists_notes(self):
        made = plan("#kubernetes", full=False)
        assert (made.text, made.intent.primary_route) == ("", "metadata_only")

    def test_an_index_that_cannot_be_read_is_an_error(self, monkeypatch):
        def fail(*_: Any, **__: Any) -> Extraction:
            raise RAGError("locked")

        monkeypatch.setattr(metadata, "extract", fail)
        with pytest.raises(RAGError):
            plan("tagged kubernetes")

    @rows(
        "query, keyword, reasoning",
        (
            "notes tagged k8s from last month about rolling back a release slowly",
            "rolling back release",
            "“k8s” names the tag kubernetes; “from last month” is 2026-10-01 to 2026-10-31",
        ),
        (
            "先月の#k8s のロールバック、タグ未知のノート",
            "ロールバック タグ 未知",
            "「k8s」はタグ kubernetes、「先月の」は 2026-10-01 から 2026-10-31 まで、"
            "「未知」という名前はない",
        ),
        (
            "status: draft since yesterday, not tagged rust",
            "",
            "“rust” names the tag rust, which is not wanted; status is “draft”;"
            " “since yesterday” begins on 2026-11-20",
        ),
        ("rollbacks", "rollbacks", "no words filter"),
    )
    def test_the_rules_say_what_it_is_about_and_why(self, query, keyword, reasoning):
        read = plan(query, full=False).metadata
        assert (read.event_keyword, read.logical_reasoning) == (keyword, reasoning)


class TestFlags:
    def test_they_come_before_the_guardrails(self):
        flags = {"vaults": ["home"], "tags": [f"t{n}" for n in range(9)]}
        made = plan("tagged kubernetes in my work vault", flags=flags, full=False)
        assert made.metadata.vaults == ["home"]
        assert made.metadata.tags == flags["tags"]
        assert made.dropped == ["kubernetes"]

    @rows("query", "", "?!")
    def test_flags_alone_can_make_it_a_list(self, query):
        made = plan(query, flags={"tags": ["helm"]}, full=False)
        assert (made.text, made.intent.primary_route) == ("", "metadata_only")


class TestOpenSlots:
    def test_a_model_may_say_what_they_mean(self):
        made = plan(OPEN, asker(match("blockchain", "Database")))
        assert (made.metadata.tags, made.text) == (["database"], "ledgers")
        assert made.in_scope == [Named(kind="tag", words="blockchain", name="database")]
        assert (made.out_of_scope, made.models) == ([], {"metadata": "mock"})
        assert (made.confidence, made.metadata.event_keyword) == (0.9, "release")

    @rows(
        "reply",
        match("blockchain", "no-such-tag"),
        match("blockchain", "databas"),
        match("ledgers", "database"),
        match("blockchain", "work", "vault"),
        match("blockchain", "rust", "vault"),
        match("blockchain about ledgers", "database"),
        {**match("blockchain", "database"), "confidence": 0.69},
        answer(tags=["database"], vaults=["work"]),
        answer(time_window={"first": "2026-10-01"}),
    )
    def test_nothing_else_filters(self, reply):
        made = plan(OPEN, asker(reply))
        assert not made.metadata.filters_anything
        assert (made.text, made.out_of_scope) == (OPEN, [Named(kind="tag", words="blockchain")])
        assert made.intent.primary_route == "hybrid_both"

    @rows(
        "query, words, text",
        ("notes from the holidays", "the holidays", ""),
        ("年末年始のメモ", "年末年始", ""),
        ("notes from around Christmas", "Christmas", ""),
        (
            'notes tag:"the holidays" from the holidays about rust',
            "the holidays",
            'tag:"the holidays" rust',
        ),
        ('notes "happy christmas" from christmas', "christmas", '"happy christmas"'),
        ("先月末のメモ", "先月末", ""),
    )
    def test_an_open_time(self, query, words, text):
        reply = answer(time_window={"first": "2026-05-01", "last": "2026-05-03"})
        made = plan(query, asker(reply))
        window = made.metadata.time_window
        assert (str(window.first), str(window.last)) == ("2026-05-01", "2026-05-03")
        assert (window.text, made.text) == (words, text)
        told = f"time: when “{words}” was is not known"
        assert told not in made.fallbacks
        assert told in plan(query, asker(FINAL)).fallbacks


class TestEffort:
    @rows(
        "query, full, extractor, asked",
        ("rollbacks #helm", False, "auto", []),
        (OPEN, False, "auto", []),
        (OPEN, True, "auto", ["metadata", "hyde"]),
        ("rollbacks #helm", True, "auto", ["metadata", "hyde"]),
        ("rollbacks #helm", False, "model", ["metadata"]),
        ("#helm", True, "auto", ["metadata"]),
        ("rollbacks #helm", True, "model", ["metadata", "hyde"]),
        (OPEN, True, "rules", []),
        ("?!", True, "model", []),
    )
    def test_who_is_asked(self, query, full, extractor, asked):
        models = asker(FINAL, HYDE, "vector_only")
        plan(query, models, full=full, extractor=extractor)
        assert [response.stage for response in models.trace.responses] == asked

    def test_without_models_a_full_plan_says_so_and_another_does_not(self):
        assert plan(OPEN, full=False).fallbacks == []
        made = plan(OPEN, router="model")
        assert made.fallbacks == [f"{s}: there is no model" for s in ("metadata", "route", "hyde")]


class TestWords:
    def test_a_models_own_words_are_searched_for_beside_the_query(self):
        units = ["Roll back?", "Undo a failed release!", "rolling back", "u a", "u b"]
        assert plan("roll back", asker(answer(units=units))).units[-1] == "u b"
        units = ["rolling back", *(f"u {n}" for n in "abcd")]
        made = plan("roll back", asker(answer(units=units)))
        assert made.text == "roll back"
        assert made.units == ["undo a failed release", "rolling back", "u a", "u b"]

    def test_they_cannot_filter(self):
        words = 'tag:work "vault:home x" -draft kube* title:"Old list" undo'
        made = plan("roll back", asker(answer(transformed_query=words, rerank_query=words)))
        assert made.units == ["x kube Old list undo"]
        assert made.hyde.rerank_query == "x kube Old list undo"

    @rows(
        "reply",
        *("", "{}", "Rollbacks?", '{"hyde_paragraph": ""}', '{"hyde_paragraph": ["x"]}'),
        *("I'm sorry, I can't help with that.", '{"hyde_paragraph": "rollbacks"}'),
    )
    def test_a_useless_one_is_replaced(self, reply):
        made = plan("rollbacks", asker(FINAL, reply))
        assert made.hyde.hyde_paragraph == "A note about rollbacks."
        assert (made.hyde.by, "hyde" in made.models) == ("", False)
        assert made.fallbacks == ["hyde: mock wrote no passage"]

    def test_a_model_that_fails_is_told_of(self):
        made = plan("rollbacks", asker(OSError("down"), OSError("down"), OSError("down")))
        assert made.fallbacks == ["metadata: mock failed: down", "hyde: mock failed: down"]
        assert made.hyde.rerank_query == "notes about rollbacks"
        made = plan("undo the releases #helm", asker(OSError("down")))
        assert made.hyde.rerank_query == "undo the releases helm kubernetes"


def test_half_a_character_of_a_model_is_no_reason_to_fail():
    live = asker("\ud800", "Run it\ud800.", '{"primary_route": "\ud800"}')
    made = plan(OPEN, live, router="model")
    assert made.hyde.hyde_paragraph == "Run it?."
    live.trace.model_dump_json()


def test_a_plan_replays_from_its_trace():
    tool = {"action": "tool", "tool": "rapidfuzz_similarity", "arguments": {"query": "x"}}
    replies = iter([tool, match("blockchain", "rust")])
    live = asker("x", HYDE, '{"primary_route": "vector_only"}')
    live._generators["metadata"] = MockChatGenerator(
        response_fn=lambda _: json.dumps(next(replies)), model="mock"
    )
    made = plan(OPEN, live, router="model")
    assert made.metadata.tags == ["rust"] and len(live.trace.responses) == 4
    replayed = ReplayAsker(live.trace)
    assert plan(OPEN, replayed, router="model") == made
    assert replayed.trace == live.trace


@rows("query", "\ud800 tagged helm", "\x00\x1b[31m", "x" * 100_000, "🎉" * 50, "「" * 99, "#" * 999)
def test_any_query_at_all_gives_a_plan(query):
    made = plan(query, asker(FINAL, HYDE))
    assert made.hyde.hyde_paragraph and not is_short(made.hyde.rerank_query)
    assert len(made.hyde.rerank_query) <= 2000
    made.model_dump_json()
