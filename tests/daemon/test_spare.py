"""The child that waits for the next command."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from test_hygiene import descriptors
from test_signals import QUESTION, Reading

from daemon_fixture import Daemon, settle, wait_until
from processes import children_of


def waiting_child(daemon: Daemon) -> int:
    """Wait until a child waits, and nobody else is there; return its process."""
    parent = daemon.ask()[0]
    wait_until(lambda: daemon.ask()[3] == 0 and len(children_of(parent)) == 1)
    (child,) = children_of(parent)
    settle(child)
    return child


def test_the_next_command_runs_in_the_child_that_waits(warm, library) -> None:
    child = waiting_child(warm)
    command = Reading(warm)
    try:
        assert command.wait_warm() == child
    finally:
        command.end(QUESTION)


def test_it_has_nothing_of_the_warm_process(warm) -> None:
    opened = descriptors(waiting_child(warm))
    assert opened[:3] == [os.devnull] * 3
    assert [name.partition(":")[0] for name in opened[3:]] == ["socket"]


def test_a_command_is_run_where_the_child_that_waits_was_killed(warm, library) -> None:
    before = warm.commands()
    os.kill(waiting_child(warm), signal.SIGKILL)
    assert warm.run("search", "backups").returncode == 0
    assert warm.commands() == before + 1


def test_it_is_no_command_that_runs(warm) -> None:
    waiting_child(warm)
    assert warm.ask()[3] == 0


def test_it_ends_with_the_warm_process(daemon, library) -> None:
    daemon.start()
    child = waiting_child(daemon)
    os.kill(daemon.ask()[0], signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{child}/environ").exists())
