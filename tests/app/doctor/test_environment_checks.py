"""Whether agents read the same index, and a job or a watcher keeps it up to date: `rag doctor`."""

import shutil
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from rag.app.doctor import (
    CheckResult,
    Examination,
    check_agents,
    check_upkeep,
    run_checks,
)
from rag.app.program_start import program_start
from rag.app.service import index_job, install
from rag.app.watch_state import WatcherStatus, WatchRun, be_only_watcher, write_watcher
from rag.config import RAGConfig, load_config
from scheduler_programs import Machine


@pytest.fixture
def indexed(write_notes, refresh) -> RAGConfig:
    """Settings in force, and an index that they name."""
    config = load_config()
    refresh(config, work=write_notes("work", {"Backups.md": "# Backups\n\nNinety days.\n"}))
    return config


def agents(config: RAGConfig) -> CheckResult:
    [result] = check_agents(Examination(config, has_index=True))
    return result


def test_a_client_with_next_to_no_environment_reads_the_same_index(indexed):
    [result] = [result for result in run_checks(indexed) if result.name == "agents"]
    assert (result.status, result.facts) == ("pass", {"index": str(indexed.index_dir)})


def test_another_index_is_a_failure(indexed, monkeypatch, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(indexed.data_dir, other)
    start = replace(program_start(indexed), environment={"RAG_DATA_DIR": str(other)})
    monkeypatch.setattr("rag.app.doctor.program_start", lambda config: start)
    result = agents(indexed)
    assert result.status == "fail" and f"not {indexed.index_dir}" in result.message


@pytest.mark.parametrize("program", [["/nowhere/rag"], ["/bin/echo", "{}"], ["/bin/false"]])
def test_a_server_that_does_not_answer_is_a_failure(indexed, monkeypatch, program):
    start = replace(program_start(indexed), program=program)
    monkeypatch.setattr("rag.app.doctor.program_start", lambda config: start)
    result = agents(indexed)
    assert result.status == "fail" and "does not answer" in result.message and result.hint


@pytest.fixture
def scheduled(machine) -> Machine:
    """A machine whose systemd holds a job."""
    machine.add("systemctl")
    config = load_config()
    install(config, index_job(config), 15)
    return machine


def service() -> list[CheckResult]:
    return [*check_upkeep(Examination(load_config()))]


def test_a_job_that_waits_for_its_next_run_is_well(scheduled):
    [result] = service()
    assert (result.status, "systemd, every 15m" in result.message) == ("pass", True)


def test_a_job_that_was_stopped_is_a_warning_with_what_installs_it(scheduled):
    scheduled.active.clear()
    [result] = service()
    assert result.status == "warn" and "`rag service install`" in result.message


def watcher(config: RAGConfig) -> list[CheckResult]:
    return [*check_upkeep(Examination(config))]


NOW = datetime.now().astimezone()
RUN = WatchRun(NOW.isoformat(), 400, 0, 1, "")


@pytest.mark.parametrize(
    ("state", "status", "message"),
    [
        ({}, "pass", "watches since"),
        ({"last_run": RUN}, "pass", "watches since"),
        ({"last_run": replace(RUN, error="the disk is full")}, "warn", "failed: the disk is full"),
        ({"missing": ["/net/notes"]}, "warn", "folders not there: /net/notes"),
        ({"heartbeat": (NOW - timedelta(hours=1)).isoformat()}, "warn", "no sign of life"),
    ],
)
def test_a_watcher_is_told_with_what_is_wrong_with_it(indexed, state, status, message):
    now = NOW.isoformat()
    with be_only_watcher(indexed):
        write_watcher(indexed, replace(WatcherStatus(7, now, now), **state))
        [result] = watcher(indexed)
    assert (result.status, message in result.message) == (status, True)
    assert bool(result.hint) is (status == "warn")


def test_a_watcher_that_ended_without_a_word_is_a_warning(indexed):
    write_watcher(indexed, WatcherStatus(7, NOW.isoformat(), NOW.isoformat()))
    [result] = watcher(indexed)
    assert (result.status, result.hint) == ("warn", "`rag watch` starts it again.")
