"""The guardrails of a plan, one by one, and that flags always win."""

import logging
from datetime import date
from typing import Any

from rag.query import (
    FullTransformationResult,
    HyDEGeneration,
    MetadataExtraction,
    Named,
    StaticCatalogue,
    TimeWindow,
)
from rag.query.metadata import (
    allow,
    cap_tags,
    in_time_window,
    merge_flags,
    with_paragraph,
    with_rerank_query,
)
from rag.query.planner.names import Resolver
from rag.query.planner.plan import window_of
from tables import rows

TODAY = date(2026, 11, 21)
CATALOGUE = StaticCatalogue(
    vaults=["work", "仕事"],
    tags=["kubernetes", "helm", "project/alpha", "会議"],
    titles=["Deploy checklist"],
    aliases={"Release list": "Deploy checklist"},
    fields={"status": ["draft", "done"], "due": []},
)
OCTOBER = TimeWindow.model_validate(
    {"name": "DATES", "first": "2026-10-01", "last": "2026-10-31", "text": "in October"}
)


def plan(query: str = "rollbacks", text: str | None = None, **read: Any) -> Any:
    text = query if text is None else text
    return FullTransformationResult(query=query, text=text, metadata=MetadataExtraction(**read))


class TestFlagsComeFirst:
    def merged(self, flags: dict[str, Any], **read: Any) -> FullTransformationResult:
        return merge_flags(plan(**read), MetadataExtraction(**flags))

    def test_values_of_flags_count_more(self):
        made = self.merged(
            {"values": {"status": "done"}, "fields": ["due"]},
            values={"status": "draft", "type": "x"},
            fields=["status"],
        ).metadata
        assert made.values == {"status": "done", "type": "x"}
        assert made.fields == ["due", "status"]


class TestAllowlist:
    def checked(self, flags: MetadataExtraction | None = None, **read: Any) -> Any:
        return allow(plan(**read), Resolver(CATALOGUE), flags or MetadataExtraction())

    def test_names_are_those_of_the_index(self):
        made = self.checked(
            vaults=["Work"], tags=["KUBERNETES"], titles=["release list"], fields=["Status"]
        )
        read = made.metadata
        assert (read.vaults, read.tags) == (["work"], ["kubernetes"])
        assert (read.titles, read.fields) == (["Deploy checklist"], ["status"])
        assert [(n.kind, n.name) for n in made.in_scope] == [
            ("vault", "work"),
            ("tag", "kubernetes"),
            ("title", "Deploy checklist"),
            ("field", "status"),
        ]

    def test_what_the_index_does_not_hold_is_out_of_scope(self):
        made = self.checked(
            vaults=["garden"],
            tags=["blockchain", "helm"],
            excluded_tags=["zebra"],
            titles=["Nothing"],
            fields=["mood"],
        )
        read = made.metadata
        assert (read.vaults, read.tags, read.excluded_tags) == ([], ["helm"], [])
        assert (read.titles, read.fields) == ([], [])
        assert [(n.kind, n.words, n.name) for n in made.out_of_scope] == [
            *(("vault", "garden", ""), ("tag", "blockchain", ""), ("tag", "zebra", "")),
            *(("title", "Nothing", ""), ("field", "mood", "")),
        ]

    def test_a_value_must_stand_in_the_field(self):
        made = self.checked(values={"STATUS": "Draft", "due": "never", "mood": "good"})
        assert made.metadata.values == {"status": "draft"}
        assert [n.words for n in made.out_of_scope] == ["due: never", "mood: good"]

    def test_what_is_in_scope_already_keeps_its_words_and_is_told_once(self):
        found = Named(kind="tag", words="k8s", name="kubernetes")
        made = plan(tags=["kubernetes"]).model_copy(update={"in_scope": [found]})
        assert allow(made, Resolver(CATALOGUE), MetadataExtraction()).in_scope == [found]

    def test_flags_stay_even_where_the_index_has_no_such_name(self):
        flags = MetadataExtraction(tags=["nothing", "kuberntes"], values={"mood": "good"})
        made = self.checked(flags, tags=["nothing", "kuberntes"], values={"mood": "good"})
        assert made.metadata.tags == ["nothing", "kuberntes"]
        assert made.metadata.values == {"mood": "good"}
        assert [n.words for n in made.out_of_scope] == ["nothing", "kuberntes", "mood: good"]


class TestDefaultTimeWindow:
    @rows(
        "given",
        *(None, "", "null", "SOON", 0, 3.5, [], {}, {"name": None}, {"first": ""}),
        {"first": "2026-10-31", "last": "2026-10-01"},
        {"first": "2026-02-30"},
        {"first": "last week", "last": "2026-10-01"},
        {"first": 1790000000, "last": "2026-10-01"},
        {"first": ["2026-10-01"]},
        {"first": "2026-10-01", "field": "mood"},
        {"name": "DATES"},
        TimeWindow(),
        "ALL_TIME",
    )
    def test_what_is_no_window_is_none(self, given):
        assert window_of(given, TODAY) is None

    def test_days_as_a_model_writes_them(self):
        made = window_of(
            {"first": "2026-10-01T00:00:00Z", "last": None, "field": "modified"}, TODAY
        )
        assert made == TimeWindow.model_validate(
            {"name": "DATES", "first": "2026-10-01", "field": "modified"}
        )

    def test_a_plan_without_time_gets_the_default(self):
        made = in_time_window(plan(), "TODAY", TODAY)
        assert made.metadata.time_window.first == TODAY


class TestTagExplosionCap:
    def test_of_more_the_first_are_kept_and_the_others_told(self, caplog):
        caplog.set_level(logging.INFO)
        made = cap_tags(plan(tags=list("abcdefghi")), 8, 5)
        assert (made.metadata.tags, made.dropped) == (list("abcde"), list("fghi"))
        assert "9 tags are more than 8; dropped: ['f', 'g', 'h', 'i']" in caplog.text

    def test_tags_of_flags_are_never_dropped(self):
        flags = ["i", "H"]
        made = cap_tags(plan(tags=list("abcdefghi")), 4, 3, flags)
        assert (made.metadata.tags, made.dropped) == (list("ahi"), list("bcdefg"))


class TestEmptyHyDE:
    @rows("empty", "", "  \n", "…")
    def test_query_and_metadata_make_a_paragraph(self, empty):
        made = plan(
            "notes tagged k8s about rollbacks",
            'rollbacks -draft tag:x "blue green"?',
            tags=["kubernetes"],
            vaults=["work"],
            titles=["Deploy checklist"],
            time_window=OCTOBER,
        ).model_copy(update={"hyde": HyDEGeneration(hyde_paragraph=empty, by="m")})
        made = with_paragraph(made)
        assert made.hyde.by == ""
        assert made.hyde.hyde_paragraph == (
            "A note about rollbacks blue green. Tags: kubernetes. Vault: work. "
            "Title: Deploy checklist. Time: 2026-10-01 – 2026-10-31."
        )


class TestRerankOverride:
    def over(self, rerank: str, made: Any = None, failed: bool = False) -> str:
        made = made or plan("rollbacks", tags=["helm", "project/alpha"], event_keyword="outage")
        made = made.model_copy(update={"hyde": HyDEGeneration(rerank_query=rerank)})
        expand = lambda tags: [f"near {tags[0]}"] if tags else []  # noqa: E731
        return with_rerank_query(made, failed, expand).hyde.rerank_query

    @rows("long", "undo a release", "デプロイ 障害 対応手順", "障害対応とデプロイと手順書")
    def test_three_words_are_enough(self, long):
        assert self.over(long) == long

    @rows("short", "", "roll back", "a - …", "障害対応", "障害の対応について")
    def test_a_short_one_is_made_of_all_that_is_known(self, short):
        assert self.over(short) == "rollbacks outage helm project alpha near helm"

    @rows(
        "query, rerank",
        ("helm", "notes about helm"),
        ("", "notes in all vaults"),
        ("?!", "notes in all vaults"),
        ("障害", "障害 ノート 記録 メモ"),
        ("tag:x", "notes about tag:x"),
    )
    def test_with_nothing_else_known_it_is_filled_up(self, query, rerank):
        assert self.over("", plan(query)) == rerank
