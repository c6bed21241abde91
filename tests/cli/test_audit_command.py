"""`rag audit`: what was planned, shown, listed and made again."""

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from rag.config import PlannerConfig
from rag.query.llm import Trace
from rag.query.planner.audit_log import FILE, AuditRecord, AuditTrail
from rag.query.planner.plan import FullTransformationResult, MetadataExtraction

QUERY = "rolling back tagged ops since 2025-06"


@pytest.fixture
def data(shelf, tmp_path) -> Path:
    """A data folder of the test's own, with the index of all tests."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "index").symlink_to(shelf / "index")
    return tmp_path / "data"


@pytest.fixture
def trail(data) -> AuditTrail:
    return AuditTrail(data)


def record(trail: AuditTrail, query: str, days_ago: int = 0, **changes: object) -> str:
    """Record that a query was planned, and return its id."""
    metadata = MetadataExtraction(tags=["ops"])
    made = AuditRecord.of(
        FullTransformationResult(query=query, text="rolling back", metadata=metadata),
        Trace(),
        PlannerConfig(),
        today=date.today(),
        latency_ms=7.6,
    )
    time = datetime.now().astimezone() - timedelta(days_ago)
    return trail.record(made.model_copy(update={"time": time, **changes}))


class TestList:
    def test_the_newest_queries_come_first_with_what_was_understood(self, rag, trail):
        names = [record(trail, text) for text in ("the first", "the second")]
        ran = rag("audit")
        lines = ran.out.splitlines()
        assert (ran.code, ran.err) == (0, "")
        assert [line.split()[0] for line in lines] == names[::-1]
        assert lines[0].endswith("   8 ms  #ops · rolling back ← the second")

    def test_nothing_yet_says_so_and_how_recording_is_switched(self, rag, data, monkeypatch):
        ran = rag("audit")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("no plan is recorded yet\n")
        monkeypatch.setenv("RAG_PLANNER__AUDIT", "false")
        assert "planner.audit = true" in rag("audit").err
        assert rag("audit", "--json").json["records"] == []

    def test_lines_that_hold_no_record_are_passed_over_and_told(self, rag, trail):
        record(trail, "query")
        with next(trail.path.rglob(FILE)).open("a") as file:
            file.write("what is this?\n{}\n")
        ran = rag("audit")
        assert ran.code == 0
        assert ran.err == "passed over 2 lines that hold no record\n"

    def test_nothing_in_a_query_steers_the_terminal(self, rag, trail):
        name = record(trail, "\x1b]0;title\x07\x1b[31mred\x9b2J \u202eback\r\nnext \ud800")
        for ran in (rag("audit"), rag("audit", name)):
            assert ran.code == 0
            assert not set(ran.out) & {"\x1b", "\x07", "\x9b", "\r", "\u202e"}


class TestReplay:
    def test_a_search_is_replayed_without_its_model(self, rag, trail, server, monkeypatch):
        monkeypatch.setenv("RAG_PLANNER__ROUTER", "model")
        server.say("I cannot say.", {"primary_route": "vector_only"}, {"hyde_paragraph": "A"})
        assert rag("search", QUERY, "--plan").code == 0
        server.fail("/api/chat", times=None)
        assert rag("search", "先週のロールバック", "--plan").code in (0, 1)
        asked = len(server.requests())
        [failed, answered] = trail.records()
        assert [len(found.responses) for found in (answered, failed)] == [3, 3]
        for found in (answered, failed):
            ran = rag("audit", "--replay", found.id)
            assert (ran.code, ran.out) == (0, f"{found.id}: the same plan\n")
        assert len(server.requests()) == asked

    def test_another_plan_is_shown_and_exit_code_1(self, rag, trail):
        name = record(trail, QUERY)
        ran = rag("audit", "--replay", name)
        assert ran.code == 1
        assert 'metadata.time_window: {"name": "ALL_TIME"' in ran.out
        assert "the index changed since" in ran.err
        as_json = rag("audit", "--replay", name, "--json")
        assert (as_json.code, as_json.json["same"], as_json.json["id"]) == (1, False, name)
        assert {item["field"] for item in as_json.json["differences"]} >= {"metadata.time_window"}
