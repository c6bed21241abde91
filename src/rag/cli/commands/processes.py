"""`rag serve`, `rag watch`, `rag warm` and `rag mcp`: the page and the HTTP API, the watcher of
notes, the warm process that commands run in, and the server of agents."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rag.app.program_start import CLIENTS, StoppedReport, WarmReport, client_config
from rag.cli.framework.options import Given, exclude, flag, shared, value
from rag.cli.render.console import plural, print_line, say, show
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.watch import Watcher

_PORT = 7420  # that `serve` listens on
_LAST_RUN = 10.0  # seconds that a run of the indexer has to end


def serve(
    http: bool = flag("--http", "Serve the page and the HTTP API until Ctrl-C."),
    port: int | None = value(
        "--port", "PORT", f"Listen on this port; 0 for any (default {_PORT}).", min=0, max=65535
    ),
    host: str = value("--host", "ADDRESS", "Listen here.", "127.0.0.1"),
    socket: Path | None = value("--socket", "PATH", "Listen on a Unix socket, not on a port."),
    open_page: bool = flag("--open", "Open the page in the browser."),
    watch: bool = flag("--watch/--no-watch", "Keep the index up to date too.", True),
    given: Given = shared("config_file"),
) -> None:
    """Serve the notes as a page and over HTTP.

    The page opens by a link that is good once, for two minutes; programs send the token whose file
    is named. docs/http.md tells the rest.

    \b
    rag serve --http --open
    rag serve --http --socket ~/.rag.sock
    """
    from rag.web.serve import Address, Server

    if not http:
        raise UsageError("say what is served", hint="`rag serve --http --open`")
    if not host.strip():
        raise UsageError("--host is empty", hint="Name an address, or leave it out.")
    exclude("--socket", socket, {"--port": port is not None})
    config = given.config
    _go_on()
    address = Address(host, _PORT if port is None else port, socket)
    server = Server(config, address)  # which has its address then

    def begin() -> None:
        _end_by_signals(server.stop)
        print_line(f"serving {server.address.url or server.address.socket}")
        if server.address.is_open:
            say(f"open to the network on {host}: the token travels as it is, without TLS")
        say(f"programs send the token in {server.access.file}")
        if (link := server.link) and sys.stderr.isatty():  # no log keeps it
            say(f"open the page, once and within two minutes: {link}")
        if link and open_page:
            typer.launch(link)

    with _watching(given) if watch else nullcontext():
        server.run(begin)


def watch(given: Given = shared("quiet config_file")) -> None:
    """Keep the index up to date while notes are written.

    It ends with Ctrl-C. What is saved is found some two seconds later, by its words and then by
    its meaning. Over twenty minutes it takes a tenth of a processor at most; who saves for longer
    without a pause waits up to 15 seconds. A data folder has one watcher; `rag status` shows how
    it is. `rag service install --watch` has the system run it.

    \b
    rag watch
    rag watch -q     say only what goes wrong
    """
    _go_on()
    watcher = _watcher(given, (lambda line: None) if given.quiet else print_line)

    def begin() -> None:
        _end_by_signals(watcher.stop)
        if not given.quiet:
            say("watching; Ctrl-C ends it")

    watcher.run(begin)


def _go_on() -> None:
    """Say that this process goes on for long; have its lines seen as they come, by pipes too."""
    from rag.support.process_exit import go_on

    go_on()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def _end_by_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the last: a closed terminal
        signal.signal(number, lambda *_: stop())


def _watcher(given: Given, tell: Callable[[str], object]) -> Watcher:
    from rag.app.watch import Watcher

    return Watcher(given.config, tell, lambda line: say(f"rag: {line}"), given.config_file)


@contextmanager
def _watching(given: Given) -> Iterator[None]:
    watcher = _watcher(given, lambda line: None)
    thread = threading.Thread(target=watcher.run_when_free, name="watcher", daemon=True)
    thread.start()
    try:
        yield
    finally:
        watcher.stop()
        thread.join(_LAST_RUN)


def warm(
    start: bool = flag("--start", "Start it, and wait until it is up."),
    status: bool = flag("--status", "Say whether it runs."),
    stop: bool = flag("--stop", "End it; a command that runs in it goes on."),
    given: Given = shared("json"),
) -> None:
    """Govern the process in which commands need not start cold.

    It starts by itself after a command that was typed at a terminal, and ends after 15 idle
    minutes. `warm = false` in the configuration or RAG_WARM=0 switches it off.

    \b
    rag warm --start     start it now, in a script for example
    rag warm --status    exit code 1 when there is none
    rag warm --stop
    """
    from rag.daemon import control

    if start + status + stop != 1:
        raise UsageError("give one of --start, --status and --stop", hint="`rag warm --status`")
    if stop:
        ended = control.stop()
        line = f"stopped: {', '.join(f'process {process}' for process in ended)}"
        show(StoppedReport(ended), given.json, [line] if ended else [])
        if not (given.json or ended):
            say("no warm process")
        return
    there = control.start() if start else control.status()
    lines = []
    if there and there.answers:
        lines = [
            f"warm: process {there.process}, up since"
            f" {datetime.fromtimestamp(there.started):%H:%M:%S},"
            f" {plural(there.commands, 'command')} run, {there.running} running"
        ]
    elif there:
        lines = [f"process {there.process} does not answer; `rag warm --stop` ends it"]
    nothing = "no warm process; `rag warm --start` starts one, as does a command at a terminal"
    show(WarmReport(there), given.json, lines, nothing)


def mcp(
    client: str | None = value(
        "--print-config", "|".join(CLIENTS), "Print what to paste for a client."
    ),
    given: Given = shared("json config_file"),
) -> None:
    """Serve the notes to agents, by MCP on stdin and stdout.

    That is the Model Context Protocol, which editors know too. A client starts it, and it ends
    with the client. It reads notes and writes none. Tools: search, get, get_many, related, ask,
    status; resources rag://note/VAULT/PATH; prompts.

    \b
    rag mcp --print-config claude-code     what to paste, with whole paths
    rag mcp                                what a client runs
    """
    if client is None:
        from rag.mcp.stdio import serve

        raise typer.Exit(serve(given.config_file))
    if client not in CLIENTS:
        hint = f"Use --print-config {', '.join(CLIENTS)}."
        raise UsageError(f"unknown client {client!r}", hint=hint)
    report = client_config(client, given.config)
    show(report, given.json, report.text.split("\n"))
    if not given.json:
        say(f"({report.place})")
