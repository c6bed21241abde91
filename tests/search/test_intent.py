"""Planned queries: the words that filter do so, and never at the cost of an answer."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import date

import pytest

from index_fixtures import open_pipeline, paths
from rag.config import OllamaConfig, PlannerConfig, RAGConfig
from rag.exceptions import QueryError
from rag.pipelines import QueryFilters, SearchResponse, create_search_pipeline, search
from rag.qa.pipeline import ask, create_qa_pipeline
from rag.query.metadata import MetadataTransformer
from rag.query.planner.audit_log import AuditTrail
from rag.query.planner.plan import MetadataExtraction, Route
from rag.search.planned_query import Intent, find_intent
from rag.search.run import intent_of, is_planned, open_store
from rag.stores import get_document_store
from tables import rows

TODAY = date(2026, 11, 20)
NOTES = {
    "work": {
        "deploy.md": "---\ntags: [kubernetes, ops]\ncreated: 2026-10-05\nstatus: Open\n---\n"
        "# Deploying\n\nRolling back takes two minutes. A rollback is safe.\n",
        "pods.md": "---\ntags: [kubernetes, draft]\ncreated: 2026-09-01\nmodified: 2026-11-10\n"
        "status: done\n---\n# Pods\n\nA rollback of pods.\n",
        "backup.md": "---\ntags: [ops/backup]\ncreated: 2026-10-20\nmodified: 2026-10-20\n---\n"
        "# Backups\n\nKept for ninety days, for a rollback.\n",
    },
    "仕事": {
        "会議.md": "---\ntags: [会議]\ncreated: 2026-11-12\nmodified: 2026-11-12\n---\n"
        "# 定例会議\n\n証明書の更新を三月に行う。\n"
    },
}


@pytest.fixture(scope="module")
def built(build_index) -> RAGConfig:
    return build_index(NOTES)


@pytest.fixture
def config(built, tmp_path) -> RAGConfig:
    """The settings, with an audit of the test's own."""
    return replace(built, planner=PlannerConfig(audit=False))


@pytest.fixture(scope="module")
def pipeline(built):
    with open_pipeline(create_search_pipeline, built) as made:
        yield made


Plan = Callable[..., Intent]
Search = Callable[..., list[str]]


@pytest.fixture
def plan(pipeline, config) -> Plan:
    """Plan a query: `plan("notes tagged ops", tags=["x"])`, the flags by name."""

    def made(query: str, config: RAGConfig = config, full: bool = False, **flags) -> Intent:
        filters = QueryFilters(**flags)
        intent, notices = find_intent(
            open_store(pipeline), config, query, filters, full=full, today=TODAY
        )
        assert intent is not None and notices == []
        return intent

    return made


@pytest.fixture
def run(pipeline) -> Callable[..., SearchResponse]:
    return lambda intent, **given: search(
        pipeline, intent.plan.query, intent.flags, 10, intent=intent, **given
    )


@pytest.fixture
def found(plan, run) -> Search:
    """Return the paths that a planned query finds, sorted."""
    return lambda query, **flags: sorted(paths(run(plan(query, **flags))))


class TestFilters:
    def test_a_vault_and_a_time_in_japanese(self, found):
        assert found("仕事の保管庫の先週の証明書") == ["会議.md"]

    @rows("tag", "#kubernetes", "tagged Kubernetes", "tagged k8s")
    def test_a_tag(self, found, tag):
        assert found(f"rollback {tag}") == ["deploy.md", "pods.md"]

    def test_all_of_a_query_together(self, plan, run):
        query = "notes tagged k8s from last month in my work vault about rollbacks"
        intent = plan(query)
        response = run(intent)
        assert paths(response) == ["deploy.md"]
        assert (response.query, intent.text, response.relaxed) == (query, "rollbacks", False)

    def test_conditions_in_the_query_syntax_hold_beside_the_plan(self, found):
        assert found("rollback #kubernetes -tag:draft") == ["deploy.md"]
        assert found('#kubernetes "rollback of pods"') == ["pods.md"]

    @rows(
        "meant, selected",
        ({"excluded_tags": ["draft"]}, ["backup.md", "deploy.md"]),
        ({"tags": ["draft", "ops/backup"], "tag_match": "any"}, ["backup.md", "pods.md"]),
        ({"tags": ["kubernetes", "ops"], "tag_match": "all"}, ["deploy.md"]),
        ({"titles": ["Backups", "pods"]}, ["backup.md", "pods.md"]),
        ({"values": {"status": "open"}}, ["deploy.md"]),
        ({"values": {"status": "nothing"}, "titles": ["Pods"]}, []),
    )
    def test_each_filter_that_a_plan_may_hold(self, planned, meant, selected):
        assert planned(**meant) == selected


@pytest.fixture
def planned(plan, run, monkeypatch) -> Callable[..., list[str]]:
    """Return what a plan of certain metadata finds, without relaxing."""

    def selected(text: str = "rollback", **meant) -> list[str]:
        monkeypatch.setattr(
            MetadataTransformer,
            "transform",
            lambda self, query, catalogue, **_: plan_of(query, MetadataExtraction(**meant)),
        )
        response = run(plan(text))
        return [] if response.relaxed else sorted(paths(response))

    return selected


def plan_of(query: str, metadata: MetadataExtraction):
    from rag.query.planner.plan import FullTransformationResult

    return FullTransformationResult(query=query, text=query, metadata=metadata)


class TestLists:
    def test_filters_alone_list_the_newest_first(self, plan, run):
        intent = plan("notes tagged kubernetes in my work vault")
        assert intent.plan.intent.primary_route is Route.METADATA_ONLY and intent.lists
        assert paths(run(intent)) == ["deploy.md", "pods.md"]


class TestFlags:
    def test_a_vault_takes_the_place_of_that_of_the_query(self, found):
        assert found("証明書 in my work vault", vaults=["仕事"]) == ["会議.md"]

    def test_dates_take_the_place_of_those_of_the_query(self, plan, found):
        flags = {"date_from": date(2026, 9, 1), "date_to": date(2026, 9, 30)}
        assert found("rollback from last month", **flags) == ["pods.md"]

    def test_tags_to_leave_out_are_added_to_those_of_the_query(self, found):
        assert found("rollback not tagged draft", excluded_tags=["ops/backup"]) == ["deploy.md"]

    def test_they_hold_whatever_the_query_says(self, plan, run):
        flags = {"vaults": ["work"], "date_from": date(2026, 10, 1), "values": {"status": "open"}}
        query = "rollback modified last year with status done in the 仕事 vault"
        assert paths(run(plan(query, **flags))) == ["deploy.md"]
        assert run(plan(query, **{**flags, "vaults": ["仕事"]})).results == []


class TestTimes:
    @rows("query", "what happened last month", "先月何があった", "先月の出来事")
    def test_whoever_asks_what_happened_is_shown_all_of_it(self, plan, run, query):
        intent = plan(query)
        assert intent.lists
        assert paths(run(intent)) == ["backup.md", "deploy.md"]

    def test_the_notes_of_a_time_are_listed_where_none_holds_the_words(self, plan, run):
        response = run(plan("walrus last month"))
        assert paths(response) == ["backup.md", "deploy.md"]
        assert not response.relaxed
        assert "no note of that time holds these words" in response.notices[0]
        assert response.missing == ["walrus"]
        assert "its notes, the newest first" in run(plan("先月の証明書")).notices[0]

    @rows(
        "query, shown",
        ("beatles yesterday", ["song.md"]),
        ("Paul McCartney yesterday", ["song.md"]),
        ("memory usage last month", ["memory.md"]),
        ("昨日 ビートルズ", ["歌.md"]),
        ("beatles last week", ["standup.md"]),
        ("walrus yesterday", ["standup.md"]),
        ("昨日 予算", ["standup.md"]),
    )
    def test_a_note_that_holds_all_words_and_the_time_goes_before_that_list(
        self, build_index, query, shown
    ):
        vault = {
            "song.md": "---\ncreated: 2020-01-01\n---\n# Yesterday\n\nPaul McCartney wrote it."
            "\n\n## Band\n\nThe Beatles.\n",
            "memory.md": "---\ncreated: 2020-01-02\n---\nMemory usage rose last month.\n",
            "歌.md": "---\ncreated: 2020-01-03\n---\n昨日はビートルズの曲。\n",
            "standup.md": "---\ncreated: 2026-11-19\n---\n# Standup\n\nNext week.\n",
            "plan.md": "---\ncreated: 2020-01-04\n---\n予算と計画。\n",
        }
        if "week" in query:
            vault["standup.md"] = vault["standup.md"].replace("-19", "-12")
        config = build_index({"band": vault})
        with open_pipeline(create_search_pipeline, config) as made:
            intent, _ = find_intent(open_store(made), config, query, today=TODAY)
            response = search(made, query, intent=intent)
            assert paths(response)[:1] == shown
            is_typed = shown != ["standup.md"]
            assert response.relaxed == is_typed
            assert response.notices[0].endswith("searched as typed") == is_typed

    def test_a_query_that_a_note_is_called_is_not_planned_unless_it_must_be(self, build_index):
        text = "---\naliases: [Deploys last month]\n---\n# Meetings last week\n"
        named = build_index({"work": {"a.md": text}})
        with get_document_store(named) as store:
            for query in ("meetings last week", "Deploys last month"):
                assert intent_of(store, named, query)[0] is None
                assert intent_of(store, named, query, wanted=True)[0] is not None
            assert intent_of(store, named, "meetings last month")[0] is not None


class TestNothingFits:
    def test_what_was_understood_is_let_go_and_that_is_said(self, plan, run):
        response = run(plan("証明書 #kubernetes"))
        assert paths(response) == ["会議.md"] and response.relaxed
        assert "searched without those filters" in response.notices[0]
        english = run(plan("meeting or pods #会議 since 2999"))
        assert "nothing fits what was understood" in english.notices[0]

    def test_the_query_is_searched_as_typed(self, plan, run):
        response = run(plan("#kubernetes 会議", vaults=["仕事"]))
        assert paths(response) == ["会議.md"] and response.relaxed
        assert run(plan("定例 notes from 2019")).searched.split()[1:] == ["notes", "from", "2019"]

    @rows(
        "query, flags, listed",
        ("#kubernetes from last month", {"tags": ["会議"]}, ["会議.md"]),
        ("tag:会議 notes from 2019", {}, ["会議.md"]),
        ("notes in my work vault", {"tags": ["会議"]}, ["会議.md"]),
        ("notes from 1999", {}, ["会議.md", "backup.md", "deploy.md", "pods.md"]),
    )
    def test_without_words_what_the_user_typed_as_filters_lists(
        self, plan, run, query, flags, listed
    ):
        response = run(plan(query, **flags))
        assert paths(response) == listed and response.relaxed
        assert "the newest notes without those filters" in response.notices[0]

    @rows(
        "query, flags",
        ("証明書 #kubernetes", {"vaults": ["work"]}),
        ("証明書 #kubernetes vault:work", {}),
    )
    def test_what_the_user_typed_as_a_filter_is_never_let_go(self, plan, run, query, flags):
        response = run(plan(query, **flags))
        assert response.results == [] and not response.relaxed and response.notices == []


class TestModes:
    def test_meaning_alone_where_there_is_none_is_searched_as_usual(self, plan, run):
        intent = plan("something like a rollback")
        assert intent.by_meaning
        response = run(intent)
        assert response.mode == "lexical" and len(response.results) == 3
        assert "not searched by meaning alone" in response.notices[0]

    def test_the_mode_of_the_user_wins(self, plan, run):
        response = run(plan("something like a rollback"), mode="lexical", keep_mode=True)
        assert response.mode == "lexical" and response.notices == []


ALIKE = [
    *(
        "rollbacks in March",
        "deploys since 2024-05",
        "incidents after 2026-05-03",
        "meetings today",
    ),
    *("ideas until yesterday", "incidents in the past two weeks", "skiing last winter"),
    *("meetings in October", "Okafor this week", "Mika Sato today", "pricing this year"),
    *("notes from last month about rollbacks", "what happened on 24 February 2026?"),
    *("what happened in 1945", "goals for this year", "sync not working since yesterday"),
    *("kubernetes rollback", "tag cloud design", "how do I roll back #ops", "rollback tagged k8s"),
    *("yesterday's meeting", "standup on Monday", "what did we decide last week", "March Hare"),
    *('"Backups" ninety days', "the note called Pods", "status: done", "status is done rollback"),
    *("rollbacks in my work vault", "rollback but not pods", "whose status is Open"),
    *("10月の会議", "去年の確定申告", "今年の夏の旅行", "ここ半年のロードマップ", "今週の目標"),
    *(
        *("2024年5月以降のデプロイ", "「Backups」を見せて", "田中さんの今週", "今日の会議"),
        "昨日から同期できない",
    ),
    *("仕事ボルトの証明書", "会議以外の証明書", "タグ会議の証明書", "来週の予定", "証明書の更新"),
]


class TestWhetherToPlan:
    @rows(
        "setting, query, wanted, planned",
        ("auto", "rollback tagged k8s", None, True),
        ("auto", "先週のメモ", None, True),
        ("auto", "kubernetes rollback", None, False),
        ("auto", "kubernetes rollback", True, True),
        ("auto", "rollback tagged k8s", False, False),
        ("always", "kubernetes rollback", None, True),
        ("always", "kubernetes rollback", False, False),
        ("never", "rollback tagged k8s", None, False),
        ("never", "rollback tagged k8s", True, True),
        ("always", " ", True, False),
        ("always", "x" * 4001, True, False),
    )
    def test_it_is_said_or_set_or_seen(self, pipeline, setting, query, wanted, planned):
        config = RAGConfig(planner=PlannerConfig(plan=setting))
        assert is_planned(open_store(pipeline), config, query, wanted) is planned

    @rows("query", ALIKE)
    def test_a_search_filters_by_what_the_planner_reads(self, query, pipeline, config):
        store = open_store(pipeline)
        read, _ = find_intent(store, config, query)
        searched, _ = intent_of(store, config, query)
        assert bool(searched) == read.narrows
        assert searched is None or (searched.filters, searched.text) == (read.filters, read.text)


class TestFailures:
    @rows("error", RuntimeError("boom"), KeyError("x"), QueryError("no"))
    def test_whatever_goes_wrong_the_query_is_searched_as_typed(
        self, pipeline, config, monkeypatch, error
    ):
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(MetadataTransformer, "transform", fail)
        intent, [notice] = find_intent(open_store(pipeline), config, "rollback #ops")
        assert intent is None and "could not be planned" in notice

    def test_an_index_of_another_version_is_no_reason_to_fail(
        self, config, tmp_path, refresh, write_notes
    ):
        import sqlite3

        config = replace(config, data_dir=tmp_path / "old")
        refresh(config, v=write_notes("v", {"a.md": "A rollback. #ops"}))
        [manifest] = config.data_dir.glob("index/gen-*/manifest*")
        manifest.chmod(0o600)
        with closing(sqlite3.connect(manifest)) as db:
            db.execute("DROP TABLE facts")
            db.commit()
        with get_document_store(config) as store:
            intent, [notice] = find_intent(store, config, "rollback #ops")
        assert intent is None and "could not be planned" in notice


class TestAudit:
    def test_a_planned_query_is_recorded(self, pipeline, config, tmp_path):
        config = replace(config, data_dir=tmp_path / "data", planner=PlannerConfig())
        intent, notices = find_intent(
            open_store(pipeline), config, "rollback #ops", QueryFilters(vaults=["work"])
        )
        assert intent is not None and notices == []
        record = AuditTrail(tmp_path / "data").find(intent.audit)
        assert (record.query, record.flags.vaults) == ("rollback #ops", ["work"])
        assert record.result == intent.plan

    def test_a_trail_that_cannot_be_written_is_said_when_a_plan_was_asked_for(
        self, pipeline, config, tmp_path
    ):
        (tmp_path / "logs").write_text("a file in the way")
        config = replace(config, data_dir=tmp_path, planner=PlannerConfig())
        for full, count in ((True, 1), (False, 0)):
            intent, notices = find_intent(open_store(pipeline), config, "rollback #ops", full=full)
            assert intent is not None and intent.audit == "" and len(notices) == count


FINAL = {
    "action": "final",
    "transformed_query": "undo a release",
    "confidence": 0.9,
    "units": [{"query": "backups kept", "confidence": 0.9}],
}


@pytest.fixture
def modelled(config, server) -> RAGConfig:
    quick = {"retries": 0, "connect_timeout": 20.0, "transform_timeout": 20.0}
    ollama = OllamaConfig(url=server.url, chat_model="llama3.2", embedding_model="", **quick)
    return replace(config, ollama=ollama)


class TestModels:
    def test_what_a_model_wrote_is_searched_beside_the_query(self, plan, run, modelled, server):
        server.say(FINAL, "A release is undone by a rollback.")
        intent = plan("pods tagged k8s", modelled, full=True)
        assert {v.transform for v in intent.variants} == {"plan"}  # an index without vectors
        response = run(intent)
        assert paths(response)[0] == "pods.md"  # the best of the query itself
        assert {v.transform for v in response.variants} == {"plan"}
        assert response.results[0].found_by == ["original"]

    def test_a_plan_by_itself_asks_no_model_where_the_rules_leave_nothing_open(
        self, plan, modelled, server
    ):
        plan("rollback tagged k8s", modelled)
        assert server.requests() == []

    def test_results_are_reranked_by_the_query_of_the_plan(self, built, plan, modelled, server):
        intent = plan("rollback tagged k8s")
        server.say({"ranking": [2, 1]})
        with open_pipeline(create_search_pipeline, modelled, rerank=True) as pipeline:
            search(pipeline, intent.plan.query, None, intent=intent)
        [request] = server.requests("/api/chat")
        assert intent.plan.hyde.rerank_query in json.dumps(request.json)


class TestMeaning:
    @pytest.fixture
    def searched(self, embed, with_ollama, write_notes, server, tmp_path):
        """Search a planned query of an index with vectors, of the test's own."""
        config = with_ollama(chat_model="llama3.2", transform_timeout=2.0)
        config = replace(config, data_dir=tmp_path / "data", planner=PlannerConfig(audit=False))
        embed(config, work=write_notes("work", NOTES["work"]))

        def run(query: str, full: bool = False, **given) -> tuple[Intent, SearchResponse]:
            with open_pipeline(create_search_pipeline, config) as pipeline:
                intent, _ = find_intent(open_store(pipeline), config, query, full=full)
                return intent, search(pipeline, query, None, 10, intent=intent, **given)

        return run

    def test_a_query_of_likeness_is_searched_by_meaning_alone(self, searched):
        _, response = searched("something like a rollback")
        assert response.mode == "dense" and response.results and response.notices == []

    def test_and_as_usual_where_no_vector_comes(self, searched, server):
        server.fail("/api/embed", "drop", times=99)
        _, response = searched("something like a rollback")
        assert response.mode == "lexical" and response.results
        assert "not searched by meaning alone" in response.notices[0]

    def test_the_note_that_a_model_imagined_is_sought_by_its_meaning(self, searched, server):
        server.say(FINAL, "A release is undone by a rollback of the cluster.")
        intent, response = searched("rollback tagged k8s", full=True)
        [hyde] = [variant for variant in intent.variants if variant.transform == "hyde"]
        assert hyde.sides == ("meaning",) and hyde.text == intent.plan.hyde.hyde_paragraph
        assert {v.label: v.sides for v in response.variants}["hyde"] == ("meaning",)
        assert sorted(paths(response)) == ["deploy.md", "pods.md"]


class TestAsk:
    @pytest.fixture
    def answer(self, built, plan):
        with open_pipeline(create_qa_pipeline, built) as pipeline:
            yield lambda query, **flags: ask(
                pipeline, query, QueryFilters(**flags), intent=plan(query, **flags)
            )

    def test_it_answers_from_the_notes_that_are_meant(self, answer):
        found = answer("How long are they kept for a rollback? tagged ops/backup")
        assert {source.file_path for source in found.sources} == {"backup.md"}

    def test_notes_that_are_asked_for_are_quoted_from_their_beginnings(self, answer):
        found = answer("notes tagged kubernetes")
        assert [quote.text for quote in found.quotes] == [
            "Rolling back takes two minutes.",
            "A rollback of pods.",
        ]
        assert [source.file_path for source in found.sources] == ["deploy.md", "pods.md"]

    def test_what_fits_nothing_is_let_go(self, answer):
        found = answer("証明書の更新はいつ？ #kubernetes")
        assert found.relaxed and [source.file_path for source in found.sources] == ["会議.md"]
        assert "nothing fits" in found.notices[0]

    def test_a_model_is_shown_the_newest_notes_where_nothing_is_left_to_rank_by(
        self, built, plan, modelled, server
    ):
        server.say("Rolling back takes two minutes [1].")
        intent = plan("notes tagged kubernetes")
        with open_pipeline(create_qa_pipeline, modelled) as pipeline:
            found = ask(pipeline, intent.plan.query, None, intent=intent)
        assert found.found
        prompt = json.dumps(server.requests("/api/chat")[-1].json)
        assert "two minutes" in prompt and "of pods" in prompt
        assert "ninety days" not in prompt and "notes tagged kubernetes" in prompt
