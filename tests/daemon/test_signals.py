"""Signals: whoever sends one to a command sees the same, warm or cold."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest

from daemon_fixture import RAG, REPO, Daemon, reads_stdin, settle, state_of, wait_until

KILLED = b"rag: the process of this command was killed\n"
QUESTION = b"How long do we keep backups?\n"


class Reading:
    """A command that waits for the end of its stdin, once it runs."""

    def __init__(self, daemon: Daemon, *before: str, **variables: str) -> None:
        self.daemon = daemon
        self.before = daemon.commands()
        self.process = subprocess.Popen(
            [*before, *RAG, "ask", "-", "-q"],
            env=daemon.environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_warm(self) -> int:
        """Wait until the warm process runs it; return its child."""
        wait_until(lambda: self.daemon.commands() > self.before)
        child = self.daemon.child()
        wait_until(lambda: reads_stdin(child))
        return child

    def wait_cold(self) -> None:
        """Wait until the program itself reads its stdin."""
        wait_until(lambda: reads_stdin(self.process.pid))

    def end(self, text: bytes = b"") -> tuple[int, bytes, bytes]:
        """Let it go on; return its exit status and what it said."""
        out, err = self.process.communicate(text, timeout=60)
        return self.process.returncode, out, err


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
        wait_until(lambda: warm.ask()[3] == 0)


INTERRUPTED = (130, b"", b"\nrag: interrupted\n")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("way", "name"),
    [
        *(("cold", name) for name in ("SIGINT", "SIGTERM")),  # of others the system knows alone
        *(("warm", name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1")),
    ],
)
def test_one_ends_both_alike(reading, way, name):
    command = reading(**({"XDG_RUNTIME_DIR": "/nonexistent"} if way == "cold" else {}))
    command.wait_cold() if way == "cold" else command.wait_warm()
    number = getattr(signal, name)
    command.process.send_signal(number)
    command.process.wait(30)
    assert command.end() == (INTERRUPTED if name == "SIGINT" else (-number, b"", b""))


def test_nohup(reading):
    command = reading("nohup")
    child = command.wait_warm()
    command.process.send_signal(signal.SIGHUP)
    os.kill(child, signal.SIGHUP)
    code, out, _ = command.end(QUESTION)
    assert code == 0
    assert b"ninety days" in out


def test_a_killed_child_is_told_of(reading):
    command = reading()
    os.kill(command.wait_warm(), signal.SIGKILL)
    command.process.wait(30)
    assert command.end() == (137, b"", KILLED)


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_command_that_runs_outlives_the_warm_process(daemon, end):
    """It waits until somebody reads what it writes, and goes on."""
    parent = daemon.launch()
    command = subprocess.Popen(
        [*RAG, "config", "--defaults"],
        env=daemon.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pipesize=4096,
    )
    child = daemon.child()
    wait_until(lambda: daemon.commands() == 1)
    settle(child)
    getattr(parent, end)()
    parent.wait(20)
    assert state_of(child) == "S"
    out, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (0, b"")
    assert out == (REPO / "config/rag.toml").read_bytes()
