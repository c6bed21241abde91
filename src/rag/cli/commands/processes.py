"""`rag serve`, `rag watch`, `rag warm` and `rag mcp`: the page and the HTTP API, the watcher of
notes, the warm process that commands run in, and the server of agents."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
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
    from rag.web.serve import Server

_PORT = 7420
_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # a terminal that is closed ends it as well
_LAST_RUN = 10.0  # seconds that a run of the indexer has to end


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
    watch: Annotated[
        bool,
        opt.flag("--watch/--no-watch", "Keep the index up to date meanwhile, as `rag watch` does."),
    ] = True,
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
    config = load_settings(config_file)
    server = _server(config, port, host, socket)
    with _watching(config, config_file) if watch else nullcontext():
        _serve_http(server, open_page)


def watch(quiet: opt.Quiet = False, config_file: opt.ConfigFile = None) -> None:
    """Keep the index up to date while notes are written, until Ctrl-C.

    What is saved is found some two seconds later, by its words and then by its meaning. Over twenty
    minutes it takes a tenth of a processor at most; who saves for longer without a pause waits up
    to 15 seconds. A data folder has one watcher; `rag status` shows how it is.
    `rag service install --watch` has the system run it.

    \b
    rag watch
    rag watch -q     say only what goes wrong
    """
    from rag.app.watch import IndexProcess, Watcher
    from rag.support.process_exit import go_on

    config = load_settings(config_file)
    go_on()
    runner = IndexProcess(config, _options(config_file))
    watcher = Watcher(config, (lambda line: None) if quiet else print_line, _warn, runner)
    before = {number: signal.getsignal(number) for number in _END}
    try:
        for number in before:
            signal.signal(number, lambda *_: watcher.stop())
        watcher.run(lambda: None if quiet else say("watching; Ctrl-C ends it"))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _options(config_file: Path | None) -> list[str]:
    return ["--config", str(config_file.expanduser().absolute())] if config_file else []


def _warn(line: str) -> None:
    say(f"rag: {line}")


@contextmanager
def _watching(config: RAGConfig, config_file: Path | None) -> Iterator[None]:
    """Watch beside something else, as soon as no other process does."""
    from rag.app.watch import IndexProcess, Watcher

    runner = IndexProcess(config, _options(config_file))
    watcher = Watcher(config, lambda line: None, _warn, runner)
    thread = threading.Thread(target=watcher.run_when_free, name="watcher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watcher.stop()
        thread.join(_LAST_RUN)


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


def _server(config: RAGConfig, port: int, host: str, socket: Path | None) -> Server:
    """Return a server that has its address."""
    from rag.web.serve import Address, Server

    return Server(config, Address(host, port, socket))


def _serve_http(server: Server, open_page: bool) -> None:
    """Serve until Ctrl-C, and say where."""

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
