"""A command says the same in the warm process as cold, byte for byte.

Most are compared with the command line run in this process, which is quick.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from daemon_fixture import normal
from rag.cli.app import run as run_app

READERS = [
    ["search", "証明書の更新", "--json"],
    ["search", "deploy OR backups", "--format", "table"],
    ["search", "restore", "--explain"],
    ["ask", "How long do we keep backups?"],
    ["plan", "backups from 2025"],
    ["get", "証明書", "--json"],
    ["related", "Backups", "--min-score", "0"],
    ["vault", "list"],
    ["tags"],
    ["status"],
    ["doctor"],
    ["config"],
    ["search", "--help"],
    [],
]
FAILURES = [  # the exit code, and what gives it
    (1, ["search", "xylophone"]),
    (1, ["get", "nothing of that name", "--json"]),
    (2, ["search"]),
    (2, ["serch", "x"]),
    (2, ["search", "x", "--top-k", "many", "--json"]),
    (3, ["search", "backups", "--mode", "dense"]),
    (4, ["ask", "backups", "--model", "none"]),
]


@pytest.fixture
def same(warm, capsys, monkeypatch) -> Callable[..., int]:
    """Run a command in this process and in the warm one; compare, and return the exit code."""

    monkeypatch.setenv("RAG_WARM", "1")  # settings are shown with where they come from

    def run(*arguments: str | Path) -> int:
        words = [str(argument) for argument in arguments]
        capsys.readouterr()
        code = run_app(words)
        cold = capsys.readouterr()
        before = warm.commands()
        done = warm.run(*words)
        assert warm.commands() == before + 1
        assert normal(done.stdout.decode()) == normal(cold.out)
        assert normal(done.stderr.decode()) == normal(cold.err)
        assert done.returncode == code
        return code

    return run


@pytest.mark.sampled
@pytest.mark.parametrize("arguments", READERS, ids=" ".join)
def test_what_reads(same, library, arguments):
    assert same(*arguments) in (0, 1, 2)


@pytest.mark.parametrize(("code", "arguments"), FAILURES)
def test_what_fails(same, library, code, arguments, monkeypatch):
    if code == 4:
        monkeypatch.setenv("RAG_OLLAMA__ENABLED", "true")
        monkeypatch.setenv("RAG_OLLAMA__URL", "http://127.0.0.1:9")
    assert same(*arguments) == code


def test_no_index(same):
    assert same("search", "x") == 3


@pytest.mark.slow
def test_what_writes(warm, tmp_path, shelf):
    """Each in a home of its own, once truly cold and once warm."""
    shown = []
    for way in ("cold", "warm"):
        home = tmp_path / way
        home.mkdir()
        env = {"HOME": str(home), "RAG_DATA_DIR": str(home / "data")}
        if way == "cold":
            env["XDG_RUNTIME_DIR"] = str(home)
        for arguments in (
            *(["index", shelf.parent / "vaults/work"], ["vault", "list"], ["chat", "--list"]),
            *(["vault", "remove", "work"], ["index", "nowhere", "--json"]),
        ):
            done = warm.run(*arguments, env=env, cwd=home)
            text = f"{done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}"
            shown.append(normal(text.replace(str(home), "HOME")))
    half = len(shown) // 2
    assert shown[half:] == shown[:half]
