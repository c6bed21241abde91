"""A recorded plan is made again from what the models said, and compared with the one of then."""

import json
from collections.abc import Mapping
from dataclasses import astuple, replace
from datetime import date
from typing import Any

import pytest
from haystack.components.generators.chat import MockChatGenerator

from rag.app.plan import replay
from rag.config import PlannerConfig, RAGConfig
from rag.index.lookup import open_manifest
from rag.query.llm import LiveAsker, Stage
from rag.query.metadata import MetadataTransformer
from rag.query.planner.audit_log import AuditRecord, encoded
from rag.query.planner.plan import MetadataExtraction

TODAY = date(2026, 11, 21)
QUERY = "notes tagged k8s from last month in my work vault about rollbacks"
NOTES = {
    "work": {
        "a.md": "---\ntags: [kubernetes]\ncreated: 2026-10-05\n---\n# Rollbacks\n\nRolling back.\n",
        "b.md": "---\ntags: [helm, kubernetes]\n---\n# Releases of Konstanz\n\nA release.\n",
    }
}
ANSWERS = {
    "well": '{"query": "undoing a release", "confidence": 0.9, "matches": [], "units": ["undo"]}',
    "with a tool": '{"action": "rapidfuzz_similarity", "arguments": {"query": "rolbacks"}}',
    "in prose": "I would look for rollbacks.",
    "not at all": "",
    "with invented tags": '{"query": "x", "confidence": 1, "matches": [{"words": "k8s", "kind": '
    '"tag", "name": "made-up"}]}',
    "half a character": '{"query": "undo \\ud800", "confidence": 1}',
}


@pytest.fixture(scope="module")
def config(build_index) -> RAGConfig:
    return build_index(NOTES)


def recorded(
    config: RAGConfig,
    query: str = QUERY,
    models: Mapping[Stage, Any] | None = None,
    by: str = "rules",
    flags: MetadataExtraction | None = None,
    full: bool = True,
    **settings: Any,
) -> AuditRecord:
    """Plan a query, and return its record as it is read back."""
    planner = PlannerConfig(router=by, **settings)
    asker = LiveAsker(models or {})
    transformer = MetadataTransformer(planner, asker)
    with open_manifest(config) as manifest:
        catalogue = manifest.catalogue
        plan = transformer.transform(query, catalogue, flags=flags, today=TODAY, full=full)
        digest = catalogue.digest()
    record = AuditRecord.of(
        plan,
        asker.trace,
        planner,
        flags=flags,
        today=TODAY,
        full=full,
        latency_ms=1.0,
        catalogue=digest,
    )
    return AuditRecord.model_validate(json.loads(encoded(record)))


def test_whatever_a_model_said_the_plan_is_the_same_again(config, subtests):
    stages: list[Stage] = ["route", "metadata", "hyde"]
    for said, answer in ANSWERS.items():
        with subtests.test(said):
            models = {stage: MockChatGenerator(answer, model="m") for stage in stages}
            again = replay(config, recorded(config, models=models, by="model"))
            assert (again.same, again.differences, again.notices) == (True, [], [])


def test_without_a_model_too(config, subtests):
    for query in (QUERY, "#kubernetes", "先週の会議", "plain words", "", "\ud800"):
        for full in (True, False):
            with subtests.test(ascii(query), full=full):
                assert replay(config, recorded(config, query, full=full)).differences == []


@pytest.mark.parametrize("raw", [True, False])
def test_replies_are_word_for_word_in_a_record_only_when_asked_for(config, raw):
    secret = {"action": "tool", "tool": "rapidfuzz_similarity", "arguments": {"query": "Falcon"}}
    models: dict[Stage, Any] = {"metadata": MockChatGenerator(json.dumps(secret), model="m")}
    record = recorded(config, models=models, raw_replies=raw)
    assert ("Falcon" in encoded(record).decode()) is raw
    assert replay(config, record).same


def test_it_counts_from_the_day_and_with_the_flags_and_settings_of_then(config):
    flags = MetadataExtraction(tags=["helm"])
    record = recorded(config, flags=flags, aliases={"orchestration": "kubernetes"})
    assert replay(replace(config, planner=PlannerConfig(tag_cap=1, tag_keep=1)), record).same
    assert record.result.metadata.time_window.first == date(2026, 10, 1)


def test_each_difference_is_shown_with_what_it_was_and_is(config):
    record = recorded(config)
    metadata = record.result.metadata.model_copy(update={"vaults": ["home"]})
    tampered = record.result.model_copy(update={"metadata": metadata, "text": "other"})
    again = replay(config, record.model_copy(update={"result": tampered}))
    assert not again.same
    assert [astuple(difference) for difference in again.differences] == [
        ("text", "other", record.result.text),
        ("metadata.vaults", ["home"], ["work"]),
    ]


def test_it_says_when_the_index_is_another(config, build_index):
    record = recorded(config)
    other = build_index({"work": {"a.md": "---\ntags: [cooking]\n---\nRamen.\n"}})
    again = replay(other, record)
    assert "metadata.tags" in [difference.field for difference in again.differences]
    assert "index changed" in again.notices[0]


def test_it_says_when_the_record_was_cut_or_is_of_another_version(config):
    record = recorded(config)
    settings = {**record.settings, "magic": 1}
    del settings["tag_cap"]
    again = replay(config, record.model_copy(update={"settings": settings, "cut": True}))
    assert again.same
    assert "(magic, tag_cap)" in again.notices[0] and "not whole" in again.notices[1]


def test_no_name_of_the_index_leaks_through_the_arguments_of_tools(config):
    choices = '{"action": "rapidfuzz_similarity", "arguments": {"query": "rollbakcs"}}'
    record = recorded(config, models={"metadata": MockChatGenerator(choices, model="m")})
    assert record.tools
    assert "Konstanz" not in encoded(record).decode()
