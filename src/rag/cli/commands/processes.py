"""`rag serve`, `rag warm` and `rag mcp`: the page and the HTTP API, the warm process that commands
run in, and the server of agents."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, print_text, say
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.warm_process import Status
    from rag.config import RAGConfig

_PORT = 7420


def serve(
    http: Annotated[
        bool, opt.flag("--http", "Serve the page and the HTTP API until Ctrl-C.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Listen on this port; 0 for any.")
    ] = _PORT,
    host: Annotated[
        str,
        opt.value(
            "--host",
            "ADDRESS",
            "Listen here; whoever asks needs the token all the same.",
        ),
    ] = "127.0.0.1",
    socket: Annotated[
        Path | None, opt.value("--socket", "PATH", "Listen on a Unix socket, not on a port.")
    ] = None,
    open_page: Annotated[bool, opt.flag("--open", "Open the page in the browser.")] = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Serve the notes as a page and over HTTP.

    The page opens by a link that is good once, for two minutes; programs send the token whose file
    is named. docs/http.md tells the rest.

    \b
    rag serve --http --open
    rag serve --http --socket ~/.rag.sock
    """
    if not http:
        raise UsageError("say what is served", hint="`rag serve --http --open`")
    _serve_http(load_settings(config_file), port, host, socket, open_page)


def warm(
    start: Annotated[bool, opt.flag("--start", "Start it, and wait until it is up.")] = False,
    status: Annotated[bool, opt.flag("--status", "Say whether it runs.")] = False,
    stop: Annotated[bool, opt.flag("--stop", "End it; a command that runs in it goes on.")] = False,
    json: opt.Json = False,
) -> None:
    """Govern the warm process, in which commands need not start cold.

    It starts by itself after a command that was typed at a terminal, and ends after 15 idle
    minutes. `warm = false` in the configuration or RAG_WARM=0 switches it off.

    \b
    rag warm --start     start it now, in a script for example
    rag warm --status    exit code 1 when there is none
    rag warm --stop
    """
    from rag.daemon import control

    if start + status + stop != 1:
        raise UsageError("say one of --start, --status and --stop", hint="`rag warm --status`")
    if stop:
        _print_ended(control.stop(), json)
        return
    there = control.start() if start else control.status()
    _print_status(there, json)
    if not there:
        raise typer.Exit(1)


def _serve_http(
    config: RAGConfig, port: int, host: str, socket: Path | None, open_page: bool
) -> None:
    """Serve until Ctrl-C, and say where."""
    from rag.web.serve import Address, Server

    server = Server(config, Address(host, port, socket))

    def tell() -> None:
        print_line(f"serving {server.address.url or server.address.socket}")
        say(f"programs send the token in {server.token_file}")
        if (link := server.link) and sys.stderr.isatty():  # no log keeps it
            say(f"open the page, once and within two minutes: {link}")
        if link and open_page:
            typer.launch(link)

    server.run(tell)


def _print_status(there: Status | None, json: bool) -> None:
    if json:
        from rag.app.warm_process import WarmReport

        print_report(WarmReport(there))
    elif not there:
        say("no warm process; `rag warm --start` starts one, as does a command at a terminal")
    elif not there.answers:
        print_line(f"process {there.process} does not answer; `rag warm --stop` ends it")
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
        opt.value(
            "--print-config",
            "|".join(_CLIENTS),
            "Print what to paste into a client's configuration, and start nothing.",
            complete=lambda: [*_CLIENTS],
        ),
    ] = None,
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
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
