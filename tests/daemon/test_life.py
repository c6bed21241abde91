"""When the warm process starts, and when it ends."""

import json
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon_fixture import RAG, REPO, state_of, wait_until
from rag.cli.app import run as run_app
from rag.daemon import control, endpoint


@pytest.fixture
def serve(daemon, monkeypatch, capsys) -> Callable[..., tuple[int, Any]]:
    """Run `rag warm --json` in this process; return its exit code and what it said.

    It looks where a command of `daemon` would, and is not as patient.
    """

    def run(*arguments: str, **variables: str) -> tuple[int, Any]:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.delenv("PYTHONUNBUFFERED", raising=False)
            for name, value in daemon.environment(**variables).items():
                patch.setenv(name, value)
            patch.setattr(control, "_ANSWER", 0.2)
            code = run_app(["warm", *arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def lightly(daemon, monkeypatch) -> None:
    """Let `serve` start one that loads nothing beforehand."""
    monkeypatch.setattr(control, "_launch", lambda _: daemon.launch_only())


class TestStart:
    def test_by_itself_after_a_command_at_a_terminal(self, daemon, library, terminal):
        assert terminal(daemon, "config").end()[0] == 0
        wait_until(daemon.sockets)
        assert daemon.commands() == 0
        assert terminal(daemon, "search", "backups").end()[0] == 0
        assert daemon.commands() == 1

    @pytest.mark.sampled
    @pytest.mark.parametrize("stream", ["<", ">", "2>"])
    def test_never_when_a_stream_is_no_terminal(self, daemon, terminal, stream):
        line = f"{' '.join(RAG)} config {stream} /dev/null"
        assert terminal(daemon, command=["/bin/sh", "-c", line]).end()[0] == 0
        assert daemon.processes() == []

    @pytest.mark.sampled
    @pytest.mark.parametrize("off", [{"RAG_WARM": "0"}, {"RAG_WARM": "false"}, {}])
    def test_never_when_it_is_switched_off(self, daemon, terminal, off):
        if not off:
            Path("rag.toml").write_text("warm = false\n")
            off = {"RAG_WARM": ""}
        assert terminal(daemon, "config", **off).end()[0] == 0
        assert daemon.processes() == []

    def test_on_demand(self, daemon, serve):
        process = daemon.start()
        code, there = serve("--start")
        assert (code, there["warm"]["process"], there["warm"]["answers"]) == (0, process, True)
        code, there = serve("--status")
        assert (code, there["warm"]["commands"], there["warm"]["running"]) == (0, 0, 0)


class TestEnd:
    def test_after_some_idle_time(self, daemon):
        process = daemon.launch("--idle", "0.2")
        assert process.wait(20) == 0
        assert daemon.sockets() == []

    def test_on_demand(self, daemon, serve):
        process = daemon.launch()
        assert serve("--stop") == (0, {"schema": 1, "stopped": [process.pid]})
        assert process.wait(20) == 0
        assert serve("--status") == (1, {"schema": 1, "warm": None})
        assert serve("--stop") == (0, {"schema": 1, "stopped": []})

    @pytest.mark.sampled
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_by_a_signal(self, daemon, number):
        process = daemon.launch()
        process.send_signal(number)
        assert process.wait(20) == 0
        assert daemon.sockets() == []

    def test_when_the_program_has_changed(self, daemon, library, tmp_path):
        """The command that notices runs cold, as the program is now."""
        shutil.copytree(REPO / "src", tmp_path / "src")
        house_path = {"PYTHONPATH": str(tmp_path / "src")}
        process = daemon.launch(**house_path)
        assert daemon.run("config", env=house_path).returncode == 0
        assert daemon.commands() == 1
        ending = tmp_path / "src/rag/cli/commands/setup.py"
        ending.write_text(ending.read_text() + "\nprint('changed')\n")
        assert b"changed" in daemon.run("config", env=house_path).stdout
        assert process.wait(20) == 0

    def test_when_the_configuration_wants_none(self, daemon, library):
        process = daemon.launch()
        Path("rag.toml").write_text("warm = false\n")
        assert daemon.run("config", env={"RAG_WARM": ""}).returncode == 0
        assert process.wait(20) == 0

    def test_and_leaves_a_socket_of_another_alone(self, daemon):
        process = daemon.launch()
        (path,) = daemon.sockets()
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            process.terminate()
            assert process.wait(20) == 0
            assert path.exists()

    def test_another_home_data_folder_or_python_neither_finds_nor_ends_it(self, daemon, serve):
        Path("other.toml").write_text("")
        process = daemon.launch()
        name = endpoint.name_of(daemon.environment())
        assert daemon.sockets()[0].name.startswith(name)
        for elsewhere in (
            {"HOME": "/nonexistent"},
            {"RAG_DATA_DIR": "/nonexistent"},
            {"RAG_CONFIG": "other.toml"},
            {"XDG_DATA_HOME": "/nonexistent"},
            {"PYTHONPATH": f"{REPO / 'src'}:/nonexistent"},
        ):
            assert serve("--status", **elsewhere) == (1, {"schema": 1, "warm": None})
            if "PYTHONPATH" not in elsewhere:
                assert serve("--stop", **elsewhere) == (0, {"schema": 1, "stopped": []})
                assert endpoint.name_of(daemon.environment(**elsewhere)) != name
        assert daemon.run("config", env=elsewhere).returncode == 0
        assert daemon.ask()[:3:2] == [process.pid, 0]

    def test_another_installation_neither_finds_nor_ends_it(self, daemon, tmp_path):
        shutil.copytree(REPO / "src", tmp_path / "src")
        process = daemon.launch()
        other = {"PYTHONPATH": str(tmp_path / "src")}
        assert daemon.run("warm", "--status", env=other).returncode == 1
        assert daemon.run("warm", "--stop", env=other).stdout == b""
        assert daemon.ask()[0] == process.pid


class TestDeadOrWedged:
    def test_a_wedged_one_makes_it_cold_and_is_told_of(self, daemon, serve, library):
        process = daemon.launch()
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state_of(process.pid) == "T")
        done = daemon.run("get", "backups", "--paths")
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.endswith(b"Backups.md\n")
        code, said = serve("--status")
        assert (code, said["warm"]["answers"]) == (0, False)
        assert serve("--stop")[1]["stopped"] == [process.pid]
        assert process.wait(20) == -signal.SIGKILL

    def test_a_dead_one_makes_it_cold_and_is_replaced(self, daemon, serve, lightly):
        process = daemon.launch()
        process.kill()
        process.wait()
        assert daemon.sockets()  # nobody took it away
        assert daemon.run("config").returncode == 0
        assert serve("--status")[0] == 1
        assert serve("--start")[1]["warm"]["process"] != process.pid
        assert daemon.run("config").returncode == 0
        assert daemon.commands() == 1


def test_serve_in_words(daemon):
    process = daemon.launch()
    assert (
        f"warm: process {process.pid}, up since ".encode() in daemon.run("warm", "--status").stdout
    )
    done = daemon.run("warm", "--stop")
    assert done.stdout == f"stopped: process {process.pid}\n".encode()
    process.wait(20)
    assert b"no warm process" in daemon.run("warm", "--stop").stderr
