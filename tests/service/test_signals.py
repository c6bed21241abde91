"""Signals: whoever sends one to a command sees the same, warm or cold."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warm_house import RAG, House, children_of, state_of, wait_until

KILLED = b"rag: the process of this command was killed\n"
QUESTION = b"How long do we keep backups?\n"


class Reading:
    """A command that waits for the end of its stdin, once it runs."""

    def __init__(self, house: House, *before: str, **variables: str) -> None:
        self.house = house
        self.before = house.commands()
        self.process = subprocess.Popen(
            [*before, *RAG, "ask", "-", "-q"],
            env=house.environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_warm(self) -> int:
        """Wait until the warm process runs it; return its child."""
        parent = self.house.ask()[0]
        wait_until(lambda: self.house.commands() > self.before)
        (child,) = wait_until(lambda: children_of(parent))
        wait_until(lambda: state_of(child) == "S")
        return child

    def wait_cold(self) -> None:
        """Wait until it has imported enough to have opened something: it reads its stdin."""
        pid = self.process.pid
        wait_until(lambda: b"ask" in _read(f"/proc/{pid}/cmdline") and _reads_stdin(pid))

    def end(self, text: bytes = b"") -> tuple[int, bytes, bytes]:
        """Let it go on; return its exit status and what it said."""
        out, err = self.process.communicate(text, timeout=60)
        return self.process.returncode, out, err


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _reads_stdin(process: int) -> bool:
    number, _, first = _read(f"/proc/{process}/syscall").partition(b" ")
    return number == b"0" and first.startswith(b"0x0 ")


@pytest.fixture
def reading(warm, library) -> Iterator[Callable[..., Reading]]:
    begun: list[Reading] = []

    def begin(*before: str, **variables: str) -> Reading:
        begun.append(Reading(warm, *before, **variables))
        return begun[-1]

    try:
        yield begin
    finally:
        for one in begun:
            one.process.kill()
            one.process.communicate()
        wait_until(lambda: not children_of(warm.ask()[0]))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGALRM"])
def test_one_ends_both_alike(reading, name):
    ended = []
    for runtime in ("", "/nonexistent"):
        command = reading(**({"XDG_RUNTIME_DIR": runtime} if runtime else {}))
        if runtime and not os.access(f"/proc/{command.process.pid}/syscall", os.R_OK):
            pytest.skip("no telling here what a process waits for")
        command.wait_cold() if runtime else command.wait_warm()
        command.process.send_signal(getattr(signal, name))
        command.process.wait(30)
        ended.append(command.end())
    assert ended[0] == ended[1]
    assert ended[0][0] == (130 if name == "SIGINT" else -getattr(signal, name))


def test_ctrl_c_before_the_child_has_its_request_ends_it(reading):
    command = reading()
    command.process.send_signal(signal.SIGINT)
    assert command.end(QUESTION)[0] in (130, -signal.SIGINT)


def test_nohup(reading):
    command = reading("nohup")
    child = command.wait_warm()
    command.process.send_signal(signal.SIGHUP)
    os.kill(child, signal.SIGHUP)
    code, out, _ = command.end(QUESTION)
    assert code == 0
    assert b"ninety days" in out


def test_what_a_shell_runs_in_the_background_is_deaf_to_ctrl_c(reading):
    command = reading("sh", "-c", 'trap "" INT QUIT; exec "$@"', "sh")
    child = command.wait_warm()
    command.process.send_signal(signal.SIGINT)
    os.kill(child, signal.SIGINT)
    assert command.end(QUESTION)[0] == 0


@pytest.mark.parametrize("stopped", [False, True])
def test_a_killed_command_takes_its_child_along(reading, stopped):
    command = reading()
    child = command.wait_warm()
    if stopped:
        os.kill(child, signal.SIGSTOP)
        wait_until(lambda: state_of(child) == "T")
    command.process.kill()
    wait_until(lambda: not state_of(child))


def test_a_killed_child_is_told_of(reading):
    command = reading()
    os.kill(command.wait_warm(), signal.SIGKILL)
    command.process.wait(30)
    assert command.end() == (137, b"", KILLED)


def test_a_killed_warm_process_does_not_hurt_its_commands(house, library):
    parent = house.launch()
    command = Reading(house)
    command.wait_warm()
    parent.kill()
    parent.wait()
    code, out, err = command.end(QUESTION)
    assert (code, err) == (0, b"")
    assert b"ninety days" in out


def test_a_command_that_runs_outlives_the_end_of_the_warm_process(house, library):
    parent = house.launch()
    command = Reading(house)
    command.wait_warm()
    assert house.run("serve", "--stop").returncode == 0
    parent.wait(20)
    code, out, _ = command.end(QUESTION)
    assert code == 0
    assert b"ninety days" in out
