"""The audit of plans: every planned query leaves a line, and none fails because of it."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.config import PlannerConfig
from rag.exceptions import UsageError
from rag.query.planner.audit_log import (
    FILE,
    FOLDER,
    LARGEST,
    AuditRecord,
    AuditTrail,
    decoded,
    encoded,
)
from rag.query.planner.plan import (
    FullTransformationResult,
    MetadataExtraction,
    Named,
    QueryIntent,
    TimeWindow,
)
from rag.query.planner.trace import RawResponse, ToolCall, Trace

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC).astimezone()


def made(query: str = "rollbacks", time: datetime = NOW, **changes: Any) -> AuditRecord:
    """A record of a query that was planned without a model."""
    record = AuditRecord.of(
        query,
        FullTransformationResult(query=query, text=query),
        Trace(),
        flags=None,
        today=NOW.date(),
        full=False,
        latency_ms=1.5,
        settings=PlannerConfig(),
        catalogue="digest",
    )
    return record.model_copy(update={"time": time, **changes})


def replied(text: str) -> list[RawResponse]:
    return [RawResponse(stage="metadata", model="llama3.2", text=text)]


@pytest.fixture
def trail(tmp_path: Path) -> AuditTrail:
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

    def test_it_holds_the_query_the_plan_and_all_that_made_it(self):
        intent = QueryIntent(primary_route="metadata_only", by="rules")
        plan = FullTransformationResult(
            query="tagged k8s", intent=intent, models={"hyde": "m"}, fallbacks=["hyde: no model"]
        )
        tools = [ToolCall(tool="rapidfuzz_similarity", engine="rapidfuzz", matches=2)]
        flags = MetadataExtraction(vaults=["work"])
        record = AuditRecord.of(
            "tagged k8s",
            plan,
            Trace(responses=replied("no"), tools=tools),
            flags=flags,
            today=date(2026, 11, 21),
            full=True,
            latency_ms=12.3456,
            settings=PlannerConfig(tag_cap=3),
            catalogue="digest",
        )
        assert (record.route, record.latency_ms) == ("metadata_only", 12.346)
        assert (record.models, record.fallbacks) == ({"hyde": "m"}, ["hyde: no model"])
        assert (record.flags, record.full, record.settings["tag_cap"]) == (flags, True, 3)
        assert record.trace == Trace(responses=replied("no"), tools=tools)
        assert not record.cut

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

    def test_records_of_one_moment_have_ids_of_their_own(self, trail):
        assert len({trail.record(made()) for _ in range(50)}) == 50

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
        assert record.cut
        assert 100_000 < len(record.responses[0].text) < LARGEST
        assert file_of(trail).stat().st_size <= LARGEST

    def test_so_are_many_replies_and_long_lists(self):
        many = made(responses=replied("x" * 1000) * 5000)
        named = [Named(kind="tag", words="語" * 90)] * 20_000
        long = made(result=FullTransformationResult(query="q", out_of_scope=named))
        for record in (many, long):
            line = encoded(record)
            assert len(line) <= LARGEST
            assert decoded(line).cut

    def test_what_fits_is_whole(self):
        record = made(responses=replied("x" * 200_000))
        assert decoded(encoded(record)) == record

    def test_of_very_many_aliases_some_are_kept_and_little_time_is_taken(self, trail):
        aliases = {f"a{number}": "t" for number in range(74_000)}
        record = made(settings={"aliases": aliases})
        before = process_time()
        assert trail.record(record)
        assert process_time() - before < 0.8  # it took twice that, and nothing was kept
        [found] = trail.records()
        assert found.cut and 1_000 < len(found.settings["aliases"]) < 74_000
        assert found.settings["aliases"].items() <= aliases.items()

    def test_what_cannot_be_cut_short_is_not_recorded(self, trail):
        huge = {f"{'word' * 5_000}{number}": "kubernetes" for number in range(100)}
        assert trail.record(made(settings={"aliases": huge})) == ""
        assert "too large" in trail.problem


names = st.text(max_size=20)
results = st.builds(
    FullTransformationResult,
    query=st.text(st.characters(), max_size=40),
    text=names,
    metadata=st.builds(
        MetadataExtraction,
        tags=st.lists(names, max_size=3),
        values=st.dictionaries(names, names, max_size=2),
        time_window=st.builds(TimeWindow, first=st.none() | st.dates(), text=names),
    ),
    in_scope=st.lists(st.builds(Named, kind=st.just("tag"), words=names), max_size=2),
    confidence=st.floats(0, 1),
    fallbacks=st.lists(names, max_size=2),
)
records = st.builds(
    made,
    query=st.sampled_from(["a\ud800b", "\udfff", "\x1b[31m\x00\x9b\u2028\r\n", '{"id": "', ""])
    | names,
    time=st.datetimes(timezones=st.just(UTC)),
    flags=st.none() | st.builds(MetadataExtraction, vaults=st.lists(names, max_size=2)),
    today=st.dates(),
    full=st.booleans(),
    latency_ms=st.floats(0, allow_nan=False),
    result=results,
    models=st.dictionaries(names, names, max_size=2),
    responses=st.lists(
        st.builds(RawResponse, stage=st.sampled_from(["route", "hyde"]), text=names), max_size=3
    ),
    tools=st.lists(
        st.builds(
            ToolCall,
            tool=names,
            arguments=st.dictionaries(names, st.none() | st.integers() | names, max_size=2),
        ),
        max_size=2,
    ),
    settings=st.just({"tag_cap": 8}),
)


class TestRoundTrip:
    @given(record=records)
    @settings(max_examples=examples(60), deadline=None)
    def test_any_record_is_read_as_it_was_written(self, record):
        line = encoded(record)
        assert line.count(b"\n") == 1
        assert decoded(line) == record

    def test_what_json_does_not_know_is_no_failure(self, trail):
        odd = [ToolCall(tool="t", arguments={"set": {1}, "nan": math.nan, "thing": object()})]
        assert trail.record(made(latency_ms=math.nan, tools=odd))
        [record] = trail.records()
        assert math.isnan(record.latency_ms)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file of this process become larger."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


def in_the_way(at: Callable[[AuditTrail], Path], kind: str) -> Callable[[AuditTrail], None]:
    def put(trail: AuditTrail) -> None:
        path = at(trail)
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            path.write_text("mine")
        elif kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(kind)

    return put


FAULTS = {
    "the data folder is a file": in_the_way(lambda t: t.path.parents[1], "file"),
    "logs is a file": in_the_way(lambda t: t.path.parent, "file"),
    "the day is a file": in_the_way(lambda t: file_of(t).parent, "file"),
    "the file is a folder": in_the_way(file_of, "folder"),
    "the file is a pipe": in_the_way(file_of, "pipe"),
    "the file is a device": in_the_way(file_of, "/dev/null"),
    "the file is the full disk": in_the_way(file_of, "/dev/full"),
    "the file leads in a circle": in_the_way(file_of, FILE),
}


class TestNeverAReasonToFail:
    @pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
    def test_something_is_in_the_way(self, trail, fault):
        fault(trail)
        assert trail.record(made()) == ""
        assert trail.problem.startswith("the plan was not recorded (")
        assert queries(trail) == []

    def test_the_disk_is_full_in_the_middle_of_a_line(self, trail):
        trail.record(made("first"))
        size = file_of(trail).stat().st_size
        with file_size_limit(size + 100):
            assert trail.record(made("second")) == ""
        assert "full" in trail.problem
        assert trail.record(made("third"))
        assert trail.problem == ""
        assert queries(trail) == ["third", "first"]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    @pytest.mark.parametrize("read_only", ["folder", "file"])
    def test_no_permission(self, trail, read_only):
        trail.record(made("first"))
        path = file_of(trail) if read_only == "file" else trail.path
        path.chmod(0o400 if read_only == "file" else 0o500)
        time = NOW if read_only == "file" else NOW + timedelta(1)
        assert trail.record(made(time=time)) == ""
        assert "Permission denied" in trail.problem
        path.chmod(0o700)

    def test_another_process_holds_the_file(self, trail):
        trail.record(made("first"))
        code = (
            "import fcntl, sys; file = open(sys.argv[1], 'ab'); fcntl.flock(file, 2);"
            "print(flush=True); input()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, file_of(trail)], stdin=-1, stdout=-1, text=True
        ) as holder:
            assert holder.stdout
            holder.stdout.readline()
            assert trail.record(made("second")) == ""
            holder.communicate("\n")
        assert "another process" in trail.problem
        assert trail.record(made("third"))

    def test_the_time_is_one_that_no_folder_has(self, trail):
        assert trail.record(made(time=datetime.max.replace(tzinfo=UTC))) in ("", *ids(trail))


def ids(trail: AuditTrail) -> list[str]:
    return [record.id for record in trail.records()]


def test_processes_that_write_at_the_same_time_lose_no_line(trail):
    code = """
import sys
from rag.query.planner.audit_log import AuditTrail, decoded
from pathlib import Path
record = decoded(sys.stdin.buffer.read())
trail = AuditTrail(Path(sys.argv[1]))
for number in range(20):
    named = record.model_copy(update={"query": f"{sys.argv[2]} {number}" + "x" * 5000})
    assert trail.record(named), trail.problem
"""
    line, data = encoded(made()), trail.path.parents[1]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, data, str(number)],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for number in range(3)
    ]
    for run in runs:
        assert run.stdin
        run.stdin.write(line)
        run.stdin.close()
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    written = {query.rstrip("x") for query in queries(trail)}
    assert written == {f"{run} {number}" for run in range(3) for number in range(20)}
    assert trail.skipped == 0


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

    def test_0_keeps_all(self, tmp_path):
        trail = self.filled(tmp_path, days=0)
        trail.record(made("today"))
        assert len(self.days(trail)) == 4

    def test_once_a_day_is_enough(self, tmp_path):
        trail = self.filled(tmp_path, days=90)
        trail.record(made("today"))
        AuditTrail(tmp_path / "data", days=0).record(made("late", NOW - timedelta(200)))
        trail.record(made("today too"))
        assert "late" in queries(trail)

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
    def trail(self, tmp_path: Path) -> AuditTrail:
        """Two records a day for three days."""
        trail = AuditTrail(tmp_path / "data")
        for age in (2, 1, 0):
            for number in (1, 2):
                trail.record(made(f"{age}.{number}", NOW - timedelta(age)))
        return trail

    def test_the_newest_come_first(self, trail):
        assert queries(trail) == ["0.2", "0.1", "1.2", "1.1", "2.2", "2.1"]

    def test_since_a_day(self, trail):
        since = trail.records(NOW.date() - timedelta(1))
        assert [record.query for record in since] == ["0.2", "0.1", "1.2", "1.1"]

    def test_no_more_is_read_than_is_wanted(self, trail):
        (trail.path / (NOW.date() - timedelta(1)).isoformat() / FILE).write_text("no record\n")
        [*islice(trail.records(), 2)]
        assert trail.skipped == 0

    def test_the_beginning_of_an_id_names_a_record(self, trail):
        newest = next(trail.records())
        assert trail.find(newest.id) == newest
        assert trail.find(f" {newest.id[:11].upper()} ") == newest

    @pytest.mark.parametrize("prefix", ["", " ", "zzzz", "é", "\ud800", '"', "9" * 1000])
    def test_a_name_of_none_is_a_usage_error(self, trail, prefix):
        with pytest.raises(UsageError, match="no record") as error:
            trail.find(prefix)
        assert "rag audit" in error.value.hint

    def test_a_name_of_several_is_one_too_and_lists_them(self, trail):
        with pytest.raises(UsageError, match="6 records begin") as error:
            trail.find(next(trail.records()).id[0])
        assert next(trail.records()).id in error.value.hint

    @pytest.mark.parametrize("place", ["logs", "logs/query_transform", "logs/query_transform/day"])
    def test_a_file_in_the_place_of_a_folder_is_told_of(self, tmp_path, place):
        path = tmp_path / "data" / place.replace("day", NOW.date().isoformat())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("in the way")
        trail = AuditTrail(tmp_path / "data")
        assert trail.record(made("x")) == ""
        assert queries(trail) == [] and "Not a directory" in trail.problem

    def test_without_a_trail_there_are_none(self, tmp_path):
        trail = AuditTrail(tmp_path / "nowhere")
        assert (queries(trail), trail.skipped, trail.problem) == ([], 0, "")

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

    def test_long_lines_are_read_from_the_end_like_short_ones(self, trail):
        for size in (65_535, 65_536, 200_000):
            trail.record(made(f"{size}", responses=replied("語" * size)))
        assert queries(trail)[:3] == ["200000", "65536", "65535"]

    def test_a_file_that_cannot_be_opened_is_told(self, trail):
        day = trail.path / NOW.date().isoformat()
        (day / FILE).unlink()
        (day / FILE).symlink_to(FILE)
        assert queries(trail) == ["1.2", "1.1", "2.2", "2.1"]
        assert "cannot be read" in trail.problem
