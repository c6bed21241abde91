"""How another program starts ours: by whole paths, with all of the environment that counts; and
what there is to tell of the warm process.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from rag.config import RAGConfig, settings, user_file, variable_of

# What programs with windows give to those they start.
BARE = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")


@dataclass(frozen=True)
class ProgramStart:
    """The words that start a program, the project's file in force, and the variables without which
    it would read other settings, or another index; no API key is among them."""

    program: list[str]
    config_file: Path | None
    environment: dict[str, str]


@dataclass(frozen=True)
class ClientConfig:
    """What to paste into the configuration of a client, and where that is."""

    client: str
    text: str
    place: str


def program_start(config: RAGConfig) -> ProgramStart:
    """Return how this program is started so that it reads what these settings name. A project's
    file that asks for trust and has none is left out: to name it would trust it."""
    name, beside, file = Path(sys.argv[0]).absolute(), Path(sys.executable).with_name("rag"), None
    if config.project is None or config.project.is_trusted:
        origins, mine = dict.fromkeys(map(Path, config.origins.values())), user_file()
        file = next((origin for origin in origins if origin.is_absolute() and origin != mine), None)
    program = [sys.executable, "-m", "rag"]
    # A bare `rag`, as in the warm process, is not a file of the working folder.
    if name.name == "rag" and "/" in sys.argv[0] and os.access(name, os.X_OK):
        program = [str(name)]
    elif os.access(beside, os.X_OK):
        program = [str(beside)]
    names = {"XDG_CONFIG_HOME", *map(variable_of, settings())}  # where the user's own file is
    environment = {name: value for name, value in os.environ.items() if name in names}
    if environment.get("RAG_VAULTS_DIR"):  # which may be relative to the folder we are in
        environment["RAG_VAULTS_DIR"] = str(config.vaults_dir)
    environment["RAG_DATA_DIR"] = str(config.data_dir.absolute())
    return ProgramStart(program, file, environment)


# -- the server for agents, by their clients -------------------------------------------------

NAME = "notes"  # of the server, in the client
# A client -> the key below which its JSON names servers, if it reads JSON, and where that goes.
CLIENTS = {
    "claude-code": ("", "run it in a shell"),
    "claude-desktop": (
        "mcpServers",
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
    ),
    "vscode": ("servers", ".vscode/mcp.json, or MCP: Open User Configuration"),
    "cursor": ("mcpServers", "~/.cursor/mcp.json"),
    "codex": ("", "~/.codex/config.toml"),
    "zed": ("context_servers", "Zed's settings.json"),
}


def client_config(client: str, config: RAGConfig) -> ClientConfig:
    """Return the configuration of a client, one of `CLIENTS`."""
    start, (key, place) = program_start(config), CLIENTS[client]
    named = ["--config", str(start.config_file)] if start.config_file else []
    program = [*start.program, "mcp", *named]
    command, arguments = program[0], program[1:]
    server = {"command": command, "args": arguments, "env": start.environment}
    if client == "claude-code":
        given = [part for pair in start.environment.items() for part in ("-e", "=".join(pair))]
        words = ["claude", "mcp", "add", "--scope", "user", NAME, *given, "--", command, *arguments]
        text = join(words)
    elif client == "codex":
        variables = [f"{name} = {toml_value(value)}" for name, value in start.environment.items()]
        text = f"[mcp_servers.{NAME}]\ncommand = {toml_value(command)}\n"
        text += f"args = {toml_value(arguments)}\nenv = {{ {', '.join(variables)} }}"
    else:
        kind = {"type": "stdio"} if client == "vscode" else {}
        text = json.dumps({key: {NAME: {**kind, **server}}}, ensure_ascii=False, indent=2)
    return ClientConfig(client, text, place)


def toml_value(value: str | list[str]) -> str:
    """Return a text, or a list of texts, in TOML, whose escapes are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- the warm process, in which commands run without their start-up time -----------------------


@dataclass(frozen=True)
class Status:
    """A warm process: `started` in seconds since 1970; how many `commands` it has begun, and how
    many of them are `running`. `answers` is false for one that is there but says nothing."""

    process: int
    started: int = 0
    commands: int = 0
    running: int = 0
    answers: bool = True


@dataclass(frozen=True)
class WarmReport:
    """The warm process, if there is one."""

    warm: Status | None


@dataclass(frozen=True)
class StoppedReport:
    """The numbers of the processes that were ended."""

    stopped: list[int]
