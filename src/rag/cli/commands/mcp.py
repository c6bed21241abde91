"""`rag mcp`: the notes for agents and editors."""

from __future__ import annotations

from typing import Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_report, print_text, say
from rag.exceptions import UsageError

_CLIENTS = ("claude-code", "claude-desktop", "vscode", "cursor", "codex", "zed")


def mcp(
    print_config: Annotated[
        str | None,
        typer.Option(
            "--print-config",
            metavar="|".join(_CLIENTS),
            help="Print what to paste into a client's configuration, and start nothing.",
            autocompletion=lambda: [*_CLIENTS],
        ),
    ] = None,
    json: Json = False,
    config_file: ConfigFile = None,
) -> None:
    """Serve the notes to agents and editors, by the Model Context Protocol on stdin and stdout.

    A client starts it, and it ends with the client. It reads notes and writes none. Tools: search,
    get, get_many, related, ask, status; resources rag://note/VAULT/PATH; prompts.

    \b
    rag mcp --print-config claude-code     what to paste, with whole paths
    rag mcp                                what a client runs
    """
    if print_config is None:
        from rag.mcp.stdio import serve

        if code := serve(config_file):
            raise typer.Exit(code)
        return
    if print_config not in _CLIENTS:
        raise UsageError(
            f"no client {print_config!r}", hint=f"Use --print-config {', '.join(_CLIENTS)}."
        )
    from rag.mcp.clients import client_config

    made = client_config(print_config, load_settings(config_file, may_ask=False))
    if json:
        print_report(made)
        return
    print_text(made.text)
    say(f"({made.place})")
