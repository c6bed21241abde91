"""`rag serve` and `rag mcp`: the page and the HTTP API, the warm process that commands run in, and
the server of agents."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, print_text, say
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.warm_process import Status
    from rag.config import RAGConfig

_PORT = 7420


def serve(
    start: Annotated[
        bool, typer.Option("--start", help="Start it, and wait until it is up.")
    ] = False,
    status: Annotated[bool, typer.Option("--status", help="Say whether it runs.")] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="End it; a command that runs in it goes on.")
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve the page and the HTTP API until Ctrl-C.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of --http; 0 for any.")] = _PORT,
    host: Annotated[
        str,
        typer.Option(
            help="Of --http: the address to listen on. All but this machine's own"
            " lets others in who have the token."
        ),
    ] = "127.0.0.1",
    socket: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Of --http: a Unix socket in the place of a port."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Of --http: open the page in the browser.")
    ] = False,
    json: Json = False,
    config_file: ConfigFile = None,
) -> None:
    """Serve the notes as a page and over HTTP, or govern the warm process.

    The page opens by a link that is good once, for two minutes; programs send the token whose file
    is named. docs/http.md tells the rest.

    In the warm process commands need not start cold. It starts by itself after a command that was
    typed at a terminal, and ends after 15 idle minutes. `warm = false` in the configuration or
    RAG_WARM=0 switches it off.

    \b
    rag serve --http --open
    rag serve --start     start it now, in a script for example
    rag serve --status    exit code 1 when there is none
    rag serve --stop
    """
    from rag.daemon import control

    if http and not start + status + stop:
        _serve_http(load_settings(config_file), port, host, socket, open_page)
        return
    if http + start + status + stop != 1:
        raise UsageError(
            "say one of --http, --start, --status and --stop", hint="`rag serve --http --open`"
        )
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
