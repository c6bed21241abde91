"""`--plan`, `--no-plan`, `rag plan` and `planner.plan` on the command line."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from rag.query.planner.audit_log import AuditTrail

QUERY = "rolling back tagged ops since 2025-06"
LINE = "#ops · since 1 June 2025 · rolling back"
WAY_BACK = "(--no-plan searches the words as typed)"


@pytest.fixture(autouse=True)
def no_audit(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is that of all tests."""
    monkeypatch.setenv("RAG_PLANNER__AUDIT", "false")


def places(ran) -> list[str]:
    return [result["path"] for result in ran.json["results"]]


@pytest.mark.parametrize("query", ["meetings in October", "10月の会議", "Okafor this week"])
def test_a_search_filters_by_the_time_that_a_plan_shows(rag, query):
    planned, searched = rag("plan", query, "--json").json, rag("search", query, "--json").json
    window = planned["metadata"]["time_window"]
    assert window["first"] and searched["plan"]["metadata"]["time_window"] == window


def test_a_plan_says_what_a_search_filters_by_only_where_it_is_told_to(rag, monkeypatch):
    assert "--plan" not in rag("plan", QUERY).err
    monkeypatch.setenv("RAG_PLANNER__PLAN", "never")
    assert "with --plan it filters so" in rag("plan", QUERY).err


class TestSearch:
    def test_words_that_look_like_filters_filter(self, rag):
        ran = rag("search", QUERY, "--json")
        assert (ran.code, places(ran)) == (0, ["runbooks/Rollback.md"])

    def test_what_was_understood_is_said_off_the_results(self, rag):
        ran = rag("search", QUERY)
        assert ran.err == f"{LINE} {WAY_BACK}\n"
        assert ran.out.splitlines()[0].split()[:3] == ["1", "Rolling", "back"]

    def test_quiet_says_nothing(self, rag):
        assert rag("search", QUERY, "-q").err == ""

    def test_paths_stay_paths(self, rag, library):
        assert rag("search", QUERY, "--paths").out == f"{library / 'runbooks/Rollback.md'}\n"

    def test_no_plan_searches_the_words_as_typed(self, rag):
        ran = rag("search", QUERY, "--no-plan", "--json")
        assert "plan" not in ran.json
        assert ran.err.splitlines() == [
            f'no note holds "{word}"' for word in ("tagged", "ops", "since")
        ]

    def test_a_plain_query_is_not_planned_unless_that_is_asked_for(self, rag):
        assert "plan" not in rag("search", "rolling back", "--json").json
        ran = rag("search", "rolling back", "--json", "--plan")
        assert ran.json["plan"]["narrows"] is False
        assert ran.err == "no filters were recognised in the query\n"

    def test_the_setting_switches_it_off(self, rag, monkeypatch):
        monkeypatch.setenv("RAG_PLANNER__PLAN", "never")
        assert "plan" not in rag("search", QUERY, "--json").json

    def test_json_tells_the_plan(self, rag):
        plan = rag("search", QUERY, "--json").json["plan"]
        assert plan["understood"] == LINE
        assert (plan["route"], plan["route_by"]) == ("hybrid_both", "rules")
        assert (plan["text"], plan["narrows"], plan["relaxed"]) == ("rolling back", True, False)
        assert plan["metadata"]["tags"] == ["ops"]
        assert plan["metadata"]["time_window"]["first"] == "2025-06-01"
        assert plan["audit"] is None and plan["latency_ms"] >= 0

    def test_filters_alone_list_the_newest_first(self, rag):
        ran = rag("search", "notes tagged ops", "--json")
        assert places(ran) == ["runbooks/Rollback.md", "Backups.md"]
        assert ran.json["plan"]["understood"] == "#ops · newest first"

    def test_japanese_is_answered_in_japanese(self, rag):
        ran = rag("search", "タグ「ops」が付いたメモ")
        assert ran.code == 0 and ran.err.startswith("#ops · newest first")

    def test_what_fits_nothing_is_let_go_and_said(self, rag):
        ran = rag("search", "証明書 #ops", "--json")
        assert (ran.code, places(ran)) == (0, ["証明書.md"])
        assert ran.json["plan"]["relaxed"] is True
        assert "searched without those filters" in ran.err

    def test_nothing_at_all_is_nothing(self, rag):
        ran = rag("search", "walrus #ops", "--json")
        assert ran.code == 1 and ran.json["plan"]["relaxed"] is False

    def test_flags_hold(self, rag):
        assert places(rag("search", QUERY, "-t", "ops/backup", "--plan", "--json")) == []
        assert rag("search", "証明書 #ops", "--from", "2025-01").code == 1

    def test_a_tag_of_a_flag_is_not_taken_for_another(self, rag):
        ran = rag("search", "rolling back", "-t", "zzbackup", "--plan", "--json")
        assert places(ran) == [] and "#zzbackup" in ran.err

    def test_a_tag_that_is_not_there_is_told_with_those_near(self, rag):
        ran = rag("search", "backups tagged zzbackup")
        assert "no note has the tag #zzbackup; near: #ops/backup\n" in ran.err


class TestJapanese:
    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("search 2025年6月以降の_#ops_rolling_back_について", "(--no-plan searches the words"),
            ("ask 2025年6月以降の_#ops_のロールバックは何分？ --no-model", "(--no-plan searches"),
            ("search ロールバックの手順 --plan", "no filters were recognised"),
            (
                "search タグ「zzbackup」のバックアップのノート",
                "no note has the tag #zzbackup; near: #",
            ),
            ("ask xyzzy_はどこ？ -t zzbackup --no-model", "no note has the tag #zzbackup"),
            (
                "search 「zzz」保管庫のバックアップ --plan",
                "no vault is named 'zzz'; there are: work",
            ),
            ("search バックアップ_#ops_1999年のノート --plan", "searched without those filters"),
        ],
    )
    def test_messages_are_english_whatever_is_asked(self, rag, words, told):
        ran = rag(*(word.replace("_", " ") for word in words.split()))
        assert told in ran.err


class TestExplained:
    def test_explain_shows_the_plan(self, rag):
        ran = rag("search", QUERY, "--explain")
        assert "search     by words, and by meaning" in ran.out

    def test_a_router_that_does_not_exist_is_an_error(self, rag, monkeypatch):
        monkeypatch.setenv("RAG_PLANNER__ROUTER", "nobody")
        ran = rag("search", QUERY)
        assert ran.code == 2 and "planner.router" in ran.err


class TestAsk:
    def test_it_answers_from_the_notes_that_are_meant(self, rag):
        ran = rag("ask", "How long are backups kept? tagged ops/backup", "--json")
        assert [source["path"] for source in ran.json["sources"]] == ["Backups.md"]
        assert ran.json["plan"]["metadata"]["tags"] == ["ops/backup"]

    def test_no_plan_asks_as_typed(self, rag):
        ran = rag("ask", "How long are backups kept? tagged ops/backup", "--json", "--no-plan")
        assert "plan" not in ran.json

    def test_what_was_understood_stands_above_the_answer(self, rag):
        ran = rag("ask", "How long does rolling back take? #ops")
        assert ran.code == 0 and ran.err.startswith("#ops · ") and "two minutes" in ran.out


class TestPlan:
    def test_it_shows_everything_and_searches_nothing(self, rag):
        ran = rag("plan", QUERY, "-v", "work")
        assert ran.code == 0 and ran.out.splitlines()[0] == f"work vault · {LINE}"
        rows = dict(line.split(None, 1) for line in ran.out.splitlines()[1:])
        assert rows["vault"] == "work" and rows["tag"] == "#ops" and rows["words"] == "rolling back"
        assert rows["time"] == "since 1 June 2025: created 2025-06-01 to …"
        assert rows["model"] == "none: read by rules"

    def test_it_is_told_in_plain_words_and_json_keeps_the_terms(self, rag):
        terms = ("hybrid_both", "hyde", "fallback", "rerank", "DATES", "confidence")
        out, given = rag("plan", QUERY).out, rag("plan", QUERY, "--json").out
        assert [term for term in terms if term in out] == []
        assert "where a model orders the results, first what is nearest to “" in out
        assert "hybrid_both" in given and "hyde" in given and "fallbacks" in given

    def test_a_plan_that_only_lists_says_so(self, rag):
        out = rag("plan", "notes tagged ops").out
        assert "the notes that fit are listed, newest first" in out
        assert "a model orders" not in out

    def test_json_is_that_of_a_search(self, rag):
        shown = rag("plan", QUERY, "--json").json
        searched = rag("search", QUERY, "--plan", "--json").json["plan"]
        assert shown["query"] == QUERY and set(searched) <= set(shown)
        assert {**searched, "latency_ms": 0} == {**{k: shown[k] for k in searched}, "latency_ms": 0}

    def test_it_reads_stdin(self, rag, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUERY}\n"))
        assert rag("plan", "-").out.splitlines()[0] == LINE

    def test_it_is_recorded(self, rag, library, monkeypatch, tmp_path):
        monkeypatch.setenv("RAG_PLANNER__AUDIT", "true")
        data = tmp_path / "data"
        data.mkdir()
        (data / "index").symlink_to(library.parent / "data" / "index")
        monkeypatch.setenv("RAG_DATA_DIR", str(data))
        shown = rag("plan", QUERY, "--json").json
        assert AuditTrail(data).find(shown["audit"]).query == QUERY

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (["plan", " "], 1),
            (["plan", "x" * 4001], 1),
            (["plan", "words", "-v", "nowhere"], 2),
            (["plan", "words", "--from", "whenever"], 2),
            (["plan", "words", "--model", "m", "--no-model"], 2),
            (["plan"], 2),
        ],
    )
    def test_mistakes_have_the_codes_of_a_search(self, rag, arguments, code):
        ran = rag(*arguments)
        known = rag("search", *arguments[1:]) if "--model" not in arguments else ran
        assert ran.code == known.code and ran.code in (code, known.code) and ran.err

    def test_without_an_index_it_says_so(self, rag, monkeypatch, tmp_path):
        monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "none"))
        assert rag("plan", "words").code == 3

    def test_it_asks_the_model_and_no_model_does_not(self, rag, server):
        final = {"action": "final", "transformed_query": "undo it", "confidence": 0.9}
        server.say(final, "A note.")
        shown = rag("plan", QUERY, "--json").json
        assert shown["models"] and shown["metadata"]["tags"] == ["ops"]
        asked = len(server.requests("/api/chat"))
        assert rag("plan", QUERY, "--json", "--no-model").json["models"] == {}
        assert len(server.requests("/api/chat")) == asked > 0


@pytest.mark.inside
def test_an_index_of_an_older_version_says_so(rag, write_notes, monkeypatch, tmp_path):
    monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "data"))
    with monkeypatch.context() as older:
        older.setattr("rag.index.fingerprint.SCHEMA_VERSION", 2)
        assert rag("index", "-q", write_notes("work", {"a.md": "A note. #ops"})).code == 0
    for command in (["search", "note #ops"], ["plan", "note #ops"]):
        ran = rag(*command)
        assert ran.code == 3 and "`rag index` brings the index up to date." in ran.err
    assert rag("index", "-q").code == 0
    assert rag("search", "note #ops").code == 0


def test_a_plain_search_does_not_wait_for_the_planner(library):
    script = (
        "import sys; from rag.cli.app import run;"
        " assert run(['search', 'rolling', 'back', '-q']) == 0;"
        " names = 'plan query_planner llm_planner intent_router guardrails audit_log trace"
        " rules.extractor rules.time_range_reader rules.name_resolver';"
        " wanted = {f'rag.query.planner.{n}' for n in names.split()};"
        " wanted |= {'rag.search.planned_query', 'rag.search.planner_llm'};"
        " wanted.add('rag.index.filter_catalog');"
        " print(*sorted(wanted & set(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == ""
