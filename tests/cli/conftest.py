"""Driving the command line: in this process for most tests, as a program for the rest."""

import io
import json
import os
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from index_fixtures import NOTES
from ollama_server import OllamaServer
from rag.cli.app import run as run_app
from rag.config import load_config

REPO = Path(__file__).resolve().parents[2]


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


@pytest.fixture
def rag(capsys) -> Callable[..., Ran]:
    """Run a command in this process: `rag("search", "words")`."""

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        code = run_app([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return run


def _read_all(terminal: int) -> bytes:
    """Return what comes from a terminal until its last writer has gone."""
    shown = b""
    with suppress(OSError):  # which Linux says then
        while data := os.read(terminal, 65536):
            shown += data
    return shown


@pytest.fixture
def on_terminal(monkeypatch) -> Callable[..., tuple[int, str]]:
    """Run a command in this process with its output on a terminal: `on_terminal("search", "words",
    NO_COLOR="1")` returns its exit code and what was shown."""

    def run(*arguments: str | Path, columns: int = 100, **variables: str) -> tuple[int, str]:
        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        with ThreadPoolExecutor(1) as thread, monkeypatch.context() as patch:
            shown = thread.submit(_read_all, ours)
            patch.setenv("TERM", "xterm-256color")
            for name, value in variables.items():
                patch.setenv(name, value)
            with open(theirs, "w", encoding="utf-8") as terminal:  # noqa: PTH123
                patch.setattr(sys, "stdout", terminal)
                patch.setattr(sys, "stderr", terminal)
                code = run_app([str(argument) for argument in arguments])
        os.close(ours)
        return code, shown.result().decode()

    return run


@pytest.fixture(autouse=True)
def quick_agents(request, monkeypatch) -> None:
    """Have `rag doctor` ask the server for agents in this process: to start it takes a second.

    Where it is to be started, `@pytest.mark.usefixtures("started_agents")`.
    """

    def run(command: list[str], input: str, **_: Any) -> subprocess.CompletedProcess[str]:
        from rag.app.library import Library
        from rag.mcp.protocol import Dispatcher

        with closing(Library(load_config)) as library:
            answers = map(Dispatcher(library).handle, map(json.loads, input.splitlines()))
            return subprocess.CompletedProcess(command, 0, "\n".join(map(json.dumps, answers)), "")

    if "started_agents" not in request.fixturenames:
        expired = subprocess.TimeoutExpired
        stand_in = SimpleNamespace(run=run, TimeoutExpired=expired)
        monkeypatch.setattr("rag.app.doctor.subprocess", stand_in)


@pytest.fixture
def started_agents() -> None:
    """`rag doctor` starts the server for agents."""


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment of the program: the test's own, and where the package is."""
    return {**os.environ, "PYTHONPATH": str(REPO / "src")}


@pytest.fixture
def program(environment) -> Callable[..., Ran]:
    """Run `python -m rag …` as a process of its own."""

    def run(*arguments: str | Path, env: Mapping[str, str] = environment, **options: Any) -> Ran:
        command = [sys.executable, "-m", "rag", *map(str, arguments)]
        options = {"stdin": subprocess.DEVNULL, "timeout": 60, **options}
        done = subprocess.run(command, env=env, capture_output=True, **options)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def read_only(build_index, monkeypatch) -> Callable[[str, dict[str, str]], Path]:
    """Have commands read a vault that is indexed once: `read_only("work", {"a.md": "text"})`
    returns its folder, which nobody may change."""

    def read(vault: str, notes: dict[str, str]) -> Path:
        data = build_index({vault: notes}).data_dir
        monkeypatch.setenv("RAG_DATA_DIR", str(data))
        return data.parent / "vaults" / vault

    return read


@pytest.fixture
def notes(write_notes) -> Path:
    """A folder of three notes, not yet indexed."""
    return write_notes("work", NOTES)


@pytest.fixture
def indexed(notes, rag) -> Path:
    """The same, indexed as the vault `work`."""
    assert rag("index", "-q", notes).code == 0
    return notes


@pytest.fixture
def server(server, monkeypatch) -> OllamaServer:
    """The Ollama server, switched on in the environment; nothing is tried twice."""
    for name, value in (("ENABLED", "true"), ("URL", server.url), ("RETRIES", "0")):
        monkeypatch.setenv(f"RAG_OLLAMA__{name}", value)
    return server


@pytest.fixture
def typed(monkeypatch) -> Callable[..., None]:
    """Put lines on stdin."""

    def put(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return put


@pytest.fixture
def answer_index(answer_data, tmp_path) -> None:
    """A data folder of the test's own with the index of `ANSWER_NOTES` in it."""
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "index").symlink_to(answer_data / "index")
