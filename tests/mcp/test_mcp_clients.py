"""What is pasted into a client's configuration: it starts a server that finds the index."""

import json
import shlex
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_client import legacy
from rag.app.program_start import client_config, program_start
from rag.cli.app import run
from rag.config import load_config
from rag.config.trust import record


def of_json(*path: str) -> Callable[[str], tuple[list[str], dict[str, str]]]:
    def parse(text: str) -> tuple[list[str], dict[str, str]]:
        found = json.loads(text)
        for name in (*path, "notes"):
            found = found[name]
        return [found["command"], *found["args"]], found["env"]

    return parse


def of_shell(text: str) -> tuple[list[str], dict[str, str]]:
    words = shlex.split(text)
    at = words.index("--")
    assert words[:6] == ["claude", "mcp", "add", "--scope", "user", "notes"]
    return words[at + 1 :], dict(word.split("=", 1) for word in words[7:at:2])


def of_toml(text: str) -> tuple[list[str], dict[str, str]]:
    found = tomllib.loads(text)["mcp_servers"]["notes"]
    return [found["command"], *found["args"]], found["env"]


PARSERS: dict[str, Callable[[str], tuple[list[str], dict[str, str]]]] = {
    "claude-code": of_shell,
    "claude-desktop": of_json("mcpServers"),
    "vscode": of_json("servers"),
    "cursor": of_json("mcpServers"),
    "codex": of_toml,
    "zed": of_json("context_servers"),
}


@pytest.fixture
def project(tmp_path, monkeypatch, write_notes) -> Path:
    """A project's file in a folder with spaces and Japanese, whose index lies beside it."""
    folder = tmp_path / "メモ 100%"
    folder.mkdir()
    file = folder / "rag.toml"
    file.write_text('data_dir = "the index"\n[embedding]\nprovider = "none"\n')
    monkeypatch.delenv("RAG_DATA_DIR")
    notes = write_notes("work", {"Backups.md": "# Backups\n\nNinety days.\n"})
    assert run(["index", "-q", "--config", str(file), str(notes)]) == 0
    return file


def test_what_is_pasted_starts_a_server_that_finds_the_index(project):
    config = load_config(project)
    starts = [parse(client_config(client, config).text) for client, parse in PARSERS.items()]
    (command, environment), *others = starts
    assert all(start == starts[0] for start in others)
    assert Path(command[0]).is_absolute()
    assert command[-2:] == ["--config", str(project)]
    bare = {"HOME": "/nowhere", "PATH": "/usr/bin:/bin", **environment}
    asked = json.dumps(legacy("tools/call", name="status"))
    ran = subprocess.run(
        command, input=asked.encode(), capture_output=True, env=bare, cwd="/", check=True
    )
    result = json.loads(ran.stdout)["result"]
    assert "\n1 note in 1 chunk\n" in result["content"][0]["text"]
    assert result["_meta"]["rag/index"].startswith(str(project.parent))


def test_a_file_without_trust_is_not_named(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project.parent)
    project.write_text(f'data_dir = "{tmp_path / "elsewhere"}"\n')
    config = load_config()
    assert config.project
    assert program_start(config).config_file is None
    record(config.project.file, config.project.digest)
    assert program_start(load_config()).config_file == project.resolve()


def test_settings_of_the_environment_are_named_and_others_not(monkeypatch):
    monkeypatch.setenv("RAG_SEARCH__TOP_K", "7")
    monkeypatch.setenv("RAG_API_KEY_OF_MINE", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    environment = program_start(load_config()).environment
    assert environment["RAG_SEARCH__TOP_K"] == "7"
    assert "secret" not in environment.values()


def test_the_command_prints_it_and_where_it_goes(capsys):
    assert run(["mcp", "--print-config", "cursor"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["mcpServers"]["notes"]["args"][-1] == "mcp"
    assert "~/.cursor/mcp.json" in printed.err
    assert run(["mcp", "--print-config", "cursor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["client"] == "cursor"
