"""Whether the index is kept up to date: what `rag doctor` says of the job that does."""

from __future__ import annotations

from rag.app.doctor.check import Check, Examination
from rag.app.doctor.service import check_service
from rag.app.service import install
from rag.app.service.scheduler import index_job
from rag.config import load_config
from rag.exceptions import Message, Remedy
from scheduler_programs import Machine


def checks(machine: Machine) -> list[Check]:
    machine.add("systemctl")
    install(load_config(), index_job(load_config()), 15)
    return [*check_service(Examination(load_config()))]


def test_without_a_job_there_is_nothing_to_say(machine: Machine) -> None:
    assert [*check_service(Examination(load_config()))] == []


def test_one_that_waits_for_its_next_run_is_well(machine: Machine) -> None:
    [check] = checks(machine)
    assert (check.status, check.facts) == ("pass", {"schedulers": ["systemd"]})
    assert "systemd, every 15m" in check.message


def test_one_that_was_stopped_is_a_warning_with_what_installs_it(machine: Machine) -> None:
    checks(machine)
    machine.active.clear()
    [check] = check_service(Examination(load_config()))
    assert (check.status, check.hint) == ("warn", Message(remedy=Remedy.INSTALL_SERVICE))
    assert isinstance(check.hint, Message) and check.hint.remedy is Remedy.INSTALL_SERVICE


def test_what_cannot_be_told_is_a_warning(machine: Machine) -> None:
    machine.add("crontab")
    machine.broken["crontab"] = "crontab: Permission denied"
    [check] = checks(machine)
    assert check.status == "warn"
    assert "cron: the crontab cannot be read" in check.message
