"""What to paste into a client's configuration, so that it starts the server with what it needs.

Clients with windows start programs in the root folder and with next to no environment: every path
is whole, and what the settings take from the environment is written down.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from shlex import join

from rag.app.program_start import ClientConfig, ProgramStart, program_start
from rag.config import RAGConfig

NAME = "notes"  # of the server, in the client


def client_config(client: str, config: RAGConfig) -> ClientConfig:
    """Return the configuration of a client.

    :param client: one of `CLIENTS`.
    """
    start = program_start(config)
    make, place = CLIENTS[client]
    return ClientConfig(client, make(start), place)


def _arguments(start: ProgramStart) -> list[str]:
    named = ["--config", str(start.config_file)] if start.config_file else []
    return [*start.program[1:], "mcp", *named]


def _claude_code(start: ProgramStart) -> str:
    given = [
        part for name, value in start.environment.items() for part in ("-e", f"{name}={value}")
    ]
    command = [start.program[0], *_arguments(start)]
    return join(["claude", "mcp", "add", "--scope", "user", NAME, *given, "--", *command])


def _json(*path: str, **more: str) -> Callable[[ProgramStart], str]:
    def make(start: ProgramStart) -> str:
        command, arguments = start.program[0], _arguments(start)
        made: object = {**more, "command": command, "args": arguments, "env": start.environment}
        for key in (NAME, *reversed(path)):
            made = {key: made}
        return json.dumps(made, ensure_ascii=False, indent=2)

    return make


def _toml(start: ProgramStart) -> str:
    environment = ", ".join(f"{name} = {_quoted(v)}" for name, v in start.environment.items())
    return (
        f"[mcp_servers.{NAME}]\ncommand = {_quoted(start.program[0])}\n"
        f"args = [{', '.join(map(_quoted, _arguments(start)))}]\nenv = {{ {environment} }}"
    )


def _quoted(text: str) -> str:
    """Return a basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# A client -> what makes its configuration, and where that goes.
CLIENTS: dict[str, tuple[Callable[[ProgramStart], str], str]] = {
    "claude-code": (_claude_code, "run it in a shell"),
    "claude-desktop": (
        _json("mcpServers"),
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
    ),
    "vscode": (_json("servers", type="stdio"), ".vscode/mcp.json, or MCP: Open User Configuration"),
    "cursor": (_json("mcpServers"), "~/.cursor/mcp.json"),
    "codex": (_toml, "~/.codex/config.toml"),
    "zed": (_json("context_servers"), "Zed's settings.json"),
}
