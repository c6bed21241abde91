"""What to paste into a client's configuration, so that it starts the server with what it needs.

Clients with windows start programs in the root folder and with next to no environment: every path
is whole, and what the settings take from the environment is written down.
"""

from __future__ import annotations

import json
from shlex import join

from rag.app.program_start import ClientConfig, program_start
from rag.config import RAGConfig

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
        variables = [f"{name} = {_toml(value)}" for name, value in start.environment.items()]
        text = f"[mcp_servers.{NAME}]\ncommand = {_toml(command)}\nargs = {_toml(arguments)}\n"
        text += f"env = {{ {', '.join(variables)} }}"
    else:
        kind = {"type": "stdio"} if client == "vscode" else {}
        text = json.dumps({key: {NAME: {**kind, **server}}}, ensure_ascii=False, indent=2)
    return ClientConfig(client, text, place)


def _toml(value: str | list[str]) -> str:
    """Return a text, or a list of texts, in TOML, whose escapes are those of JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
