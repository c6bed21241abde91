"""`rag serve` and `rag mcp`: the warm process that commands run in, and the server of agents."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, print_text, say
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.warm_process import Status


def serve(
    start: Annotated[
        bool, typer.Option("--start", help="Start it, and wait until it is up.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Say whether it runs.")] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="End it; a command that runs in it goes on.")
    ] = False,
    json: Json = False,
) -> None:
    """Govern the warm process, in which commands need not start cold.

    It starts by itself after a command that was typed at a terminal, and ends after 15 idle
    minutes. `warm = false` in the configuration or RAG_WARM=0 switches it off.

    \b
    rag serve --start     start it now, in a script for example
    rag serve --status    exit code 1 when there is none
    rag serve --stop
    """
    from rag.daemon import control

    if start + status + stop != 1:
        raise UsageError("say one of --start, --status and --stop", hint="`rag serve --status`")
    if stop:
        _print_ended(control.stop(), json)
        return
    there = control.start() if start else control.status()
    _print_status(there, json)
    if not there:
        raise typer.Exit(1)


def _print_status(there: Status | None, json: bool) -> None:
    if json:
        from rag.app.warm_process import WarmReport

        print_report(WarmReport(there))
    elif not there:
        say("no warm process; `rag serve --start` starts one, as does a command at a terminal")
    elif not there.answers:
        print_line(f"process {there.process} does not answer; `rag serve --stop` ends it")
    else:
        since = datetime.fromtimestamp(there.started).strftime("%H:%M:%S")
        print_line(
            f"warm: process {there.process}, up since {since},"
            f" {plural(there.commands, 'command')} run, {there.running} running"
        )


def _print_ended(ended: list[int], json: bool) -> None:
    if json:
        from rag.app.warm_process import StoppedReport

        print_report(StoppedReport(ended))
    elif ended:
        print_line(f"stopped: {', '.join(f'process {process}' for process in ended)}")
    else:
        say("no warm process")


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
