"""The question whether a project's file is trusted: at a terminal, once, warm and cold alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daemon_fixture import RAG, Daemon, Terminal
from rag.config import project_of
from rag.config.trust import TrustList

QUESTION = r"Do you trust it, as it is now\? \[y/N\] $"
COMMAND = ("vault", "list")

Ask = Callable[..., Terminal]


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's folder, which is the working folder."""
    folder = (tmp_path / "strange").resolve()
    folder.mkdir()
    (folder / "rag.toml").write_text("[ollama]\nurl = 'http://evil:1'\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(params=["cold", "warm"])
def ask(request: pytest.FixtureRequest, daemon: Daemon, terminal: Ask) -> Ask:
    """Run a command at a terminal, with a warm process that was started in the folder or none."""
    warm = request.param == "warm"
    if warm:
        daemon.launch()

    def run(*arguments: str, **options: str) -> Terminal:
        return terminal(daemon, *arguments, **options, RAG_WARM="1" if warm else "0")

    return run


def answer(folder: Path) -> bool | None:
    project = project_of(folder)
    assert project
    return project.answer


@pytest.mark.sampled
@pytest.mark.parametrize(("typed", "trusted"), [("y\n", True), ("\n", False), ("n\n", False)])
def test_the_answer_counts_and_is_kept(ask: Ask, strange: Path, typed: str, trusted: bool) -> None:
    first = ask(*COMMAND)
    shown = first.wait_for(QUESTION)
    assert f"{strange}/rag.toml asks for" in " ".join(shown.split())
    assert 'ollama.url = "http://evil:1"' in shown
    first.type(typed)
    code, shown = first.end()
    assert (code, "left out ollama.url" in shown) == (0, not trusted)
    assert answer(strange) is trusted
    code, shown = ask(*COMMAND).end()
    assert (code, "Do you trust" in shown, "left out" in shown) == (0, False, not trusted)


def test_a_changed_file_is_asked_about_again(ask: Ask, strange: Path) -> None:
    first = ask(*COMMAND)
    first.wait_for(QUESTION)
    first.type("y\n")
    first.end()
    (strange / "rag.toml").write_text("[ollama]\nurl = 'http://evil:2'\n")
    second = ask(*COMMAND)
    assert "evil:2" in second.wait_for(QUESTION)
    second.type("n\n")
    assert second.end()[0] == 0


def test_no_answer_is_kept_as_none(ask: Ask, strange: Path) -> None:
    asked = ask(*COMMAND)
    asked.wait_for(QUESTION)
    asked.type("\x04")
    code, shown = asked.end()
    assert (code, "left out ollama.url" in shown) == (0, True)
    asked = ask(*COMMAND)
    asked.wait_for(QUESTION)
    asked.type("\x03")
    assert asked.end()[0] == 130
    assert dict(TrustList.load().files) == {}


@pytest.mark.parametrize("options", [["--json"], ["config"]], ids=str)
def test_where_an_answer_would_be_in_the_way_nobody_is_asked(
    ask: Ask, strange: Path, options: list[str]
) -> None:
    arguments = options if options[0] != "--json" else [*COMMAND, *options]
    _, shown = ask(*arguments).end()
    assert "Do you trust" not in shown and "is not trusted" in shown


@pytest.mark.parametrize("stream", ["< /dev/null", "| cat", "2> /dev/null"])
def test_nor_in_a_pipe_or_under_cron(
    daemon: Daemon, terminal: Ask, strange: Path, stream: str
) -> None:
    line = f"{' '.join(RAG)} vault list {stream}"
    code, shown = terminal(daemon, command=["/bin/sh", "-c", line], RAG_WARM="0").end()
    assert code == 0 and "Do you trust" not in shown
    assert dict(TrustList.load().files) == {}


def test_a_warm_process_of_a_strange_folder_has_none_of_its_settings(
    daemon: Daemon, strange: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.launch()
    for folder in (strange, tmp_path):
        monkeypatch.chdir(folder)
        done = daemon.run("config")
        assert done.returncode == 0 and b"11434  (default)" in done.stdout
    assert daemon.commands() == 2
