"""The audit of plans: every planned query leaves a line, and none fails because of it."""

import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rag.config import PlannerConfig
from rag.exceptions import UsageError
from rag.query.llm import RawResponse, Trace
from rag.query.planner.audit_log import FILE, FOLDER, LARGEST, AuditRecord, AuditTrail
from rag.query.planner.plan import FullTransformationResult

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC).astimezone()


def made(query: str = "rollbacks", time: datetime = NOW, **changes: Any) -> AuditRecord:
    """A record of a query that was planned without a model."""
    record = AuditRecord.of(
        FullTransformationResult(query=query, text=query),
        Trace(),
        PlannerConfig(),
        today=NOW.date(),
        latency_ms=1.5,
        catalogue="digest",
    )
    return record.model_copy(update={"time": time, **changes})


def replied(text: str) -> list[RawResponse]:
    return [RawResponse(stage="metadata", model="llama3.2", text=text)]


@pytest.fixture
def trail(tmp_path) -> AuditTrail:
    return AuditTrail(tmp_path / "data")


def file_of(trail: AuditTrail, time: datetime = NOW) -> Path:
    return trail.path / time.date().isoformat() / FILE


def queries(trail: AuditTrail) -> list[str]:
    return [record.query for record in trail.records()]


class TestWriting:
    def test_a_record_is_one_line_in_the_file_of_its_day(self, trail):
        name = trail.record(made("先週の会議"))
        [line] = file_of(trail).read_text("utf-8").splitlines()
        assert file_of(trail).relative_to(trail.path.parents[1]) == FOLDER / "2026-11-21" / FILE
        assert json.loads(line)["id"] == name
        assert "先週の会議" in line

    def test_only_its_owner_may_read_it(self, trail):
        old = os.umask(0)
        try:
            trail.record(made())
        finally:
            os.umask(old)
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in trail.path.rglob("*")}
        assert set(modes.values()) == {0o700, 0o600}
        assert modes[file_of(trail)] == 0o600
        assert {stat.S_IMODE(p.stat().st_mode) for p in (trail.path, trail.path.parent)} == {0o700}

    def test_ids_are_short_and_sort_by_time(self, trail):
        times = [NOW + timedelta(milliseconds=step) for step in range(50)]
        names = [trail.record(made(time=time)) for time in times]
        assert names == sorted(names)
        assert {len(name) for name in names} == {12}

    def test_a_line_that_was_not_finished_costs_no_other(self, trail):
        trail.record(made("first"))
        with file_of(trail).open("ab") as file:
            file.write(b'{"id": "torn')
        trail.record(made("second"))
        assert queries(trail) == ["second", "first"]
        assert trail.skipped == 1


class TestSize:
    def test_a_reply_of_ten_megabytes_is_cut_and_marked(self, trail):
        trail.record(made(responses=replied("x" * 10_000_000)))
        [record] = trail.records()
        assert (record.cut, record.query, record.responses) == (True, "rollbacks", [])
        assert file_of(trail).stat().st_size <= LARGEST


def in_the_way(at: Callable[[AuditTrail], Path], kind: str) -> Callable[[AuditTrail], None]:
    def put(trail: AuditTrail) -> None:
        path = at(trail)
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            path.write_text("mine")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(kind)

    return put


FAULTS = {
    "the data folder is a file": in_the_way(lambda t: t.path.parents[1], "file"),
    "the day is a file": in_the_way(lambda t: file_of(t).parent, "file"),
    "the file is a pipe": in_the_way(file_of, "pipe"),
    "the file is a device": in_the_way(file_of, "/dev/null"),
}


class TestNeverAReasonToFail:
    @pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
    def test_something_is_in_the_way(self, trail, fault):
        fault(trail)
        assert trail.record(made()) == ""
        assert trail.problem.startswith("the plan was not recorded (")
        assert queries(trail) == []


class TestPruning:
    def days(self, trail: AuditTrail) -> list[str]:
        return sorted(path.name for path in trail.path.iterdir())

    def filled(self, tmp_path: Path, days: int) -> AuditTrail:
        """Records of today, of the last day that is kept, and of the first that is not."""
        old = AuditTrail(tmp_path / "data", days=0)
        for age in (91, 90, 1):
            old.record(made(f"{age} days ago", NOW - timedelta(age)))
        return AuditTrail(tmp_path / "data", days=days)

    def test_days_that_are_too_old_go_with_the_first_record_of_a_day(self, tmp_path):
        trail = self.filled(tmp_path, days=90)
        trail.record(made("today"))
        assert queries(trail) == ["today", "1 days ago", "90 days ago"]
        assert len(self.days(trail)) == 3

    def test_what_is_not_ours_stays(self, tmp_path):
        trail = self.filled(tmp_path, days=90)
        mine = ["2020-01-01/notes.txt", "2020-1-1/query_audit_trail.jsonl", "keep/x", "20200101/x"]
        for name in mine:
            (trail.path / name).parent.mkdir(parents=True, exist_ok=True)
            (trail.path / name).write_text("mine")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / FILE).write_text("mine")
        (trail.path / "2020-02-02").symlink_to(elsewhere)
        trail.record(made("today"))
        assert [name for name in mine if not (trail.path / name).exists()] == []
        assert (elsewhere / FILE).exists()
        assert queries(trail) == ["today", "1 days ago", "90 days ago"]


class TestReading:
    @pytest.fixture
    def trail(self, tmp_path) -> AuditTrail:
        """Two records a day for three days."""
        trail = AuditTrail(tmp_path / "data")
        for age in (2, 1, 0):
            for number in (1, 2):
                trail.record(made(f"{age}.{number}", NOW - timedelta(age)))
        return trail

    def test_since_a_day(self, trail):
        since = trail.records(NOW.date() - timedelta(1))
        assert [record.query for record in since] == ["0.2", "0.1", "1.2", "1.1"]

    def test_the_beginning_of_an_id_names_a_record(self, trail):
        newest = next(trail.records())
        assert trail.find(newest.id) == newest
        assert trail.find(f" {newest.id[:11].upper()} ") == newest

    def test_a_name_of_several_is_one_too_and_lists_them(self, trail):
        with pytest.raises(UsageError, match="6 records begin") as error:
            trail.find(next(trail.records()).id[0])
        assert next(trail.records()).id in error.value.hint

    @pytest.mark.parametrize(
        "line",
        [b"no json", b"[1]", b"{}", b'{"id": 1}', b"\xff\xfe", b"[" * 100_000, b"x" * 3_000_000],
        ids=lambda line: repr(line[:8]),
    )
    def test_a_line_that_is_no_record_is_counted_and_costs_no_other(self, trail, line):
        trail.record(made("before"))
        with file_of(trail).open("ab") as file:
            file.write(line + b"\n\n")
        trail.record(made("after"))
        assert queries(trail)[:2] == ["after", "before"]
        assert trail.skipped == 1
