"""`rag chat`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rag.cli.commands.chat_slash import BARE, LEAVE, Commands, as_command
from rag.cli.framework.completion import complete_sessions
from rag.cli.framework.line_editor import read_line
from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    ExplainWindow,
    Json,
    ModelName,
    NoModel,
    NoSources,
    PathGlobs,
    Plan,
    Quiet,
    Tags,
    Think,
    TopK,
    Transforms,
    Vaults,
)
from rag.cli.framework.query import make_filters, print_corrections, warn_if_stale
from rag.cli.framework.settings import load_settings
from rag.cli.render.answer import (
    AnswerPrinter,
    check_model,
    exit_code,
    read_line_of_stdin,
    tolerate_stdin,
)
from rag.cli.render.console import (
    make_console,
    print_between_words,
    print_error,
    print_line,
    print_report,
    say,
    visible,
)
from rag.cli.render.context_report import print_window
from rag.cli.render.plan import print_interpretation
from rag.exceptions import RAGError, UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.app.chat import Chat, SessionsReport
    from rag.qa.answer import Answer
    from rag.search.planned_query import Intent


def chat(
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    top_k: TopK = None,
    transforms: Transforms = None,
    plan: Plan = None,
    go_on: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the latest conversation.")
    ] = False,
    session_id: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="ID",
            help="Go on with this conversation.",
            autocompletion=complete_sessions,
        ),
    ] = "",
    list_all: Annotated[
        bool, typer.Option("--list", help="List the conversations, the latest first.")
    ] = False,
    model: ModelName = "",
    no_model: NoModel = False,
    think: Think = False,
    explain: ExplainWindow = False,
    no_sources: NoSources = False,
    json: Json = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Ask the notes one question after the other; each may lean on what was said before.

    A conversation is kept in the data folder, for --continue. Ctrl-C ends an answer, Ctrl-D or
    /quit the conversation. Off a terminal each line of stdin is a question.

    A line that begins with a slash and a word is a command: /facts, /remember TEXT and /forget N
    keep what the model should know of you, in this conversation and every other; /sources lists
    the sources of the last answer, /clear starts again, /help lists all.

    \b
    rag chat
    rag chat --continue
    printf 'When do holds expire?\\nand for groups?\\n' | rag chat --json
    """
    from rag.app.requests import ChatRequest
    from rag.app.workspace import Workspace

    config = load_settings(config_file)
    check_model(model, no_model)
    workspace = Workspace(config)
    if list_all:
        _print_list(workspace.sessions(), json)
        return
    if go_on and session_id:
        raise UsageError("--continue and --session exclude each other", hint="Leave one out.")
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    request = ChatRequest(
        filters,
        top_k,
        transforms or None,
        session_id,
        go_on,
        model,
        no_model,
        think,
        explain,
        plan,
    )
    with workspace.chat(request) as chat:
        if not quiet:
            _greet(chat)
        manner = Manner(json, quiet, think, explain, sources=not no_sources, plan=bool(plan))
        code = _converse(chat, manner)
    if code and not _interactive():
        raise typer.Exit(code)


class Manner(NamedTuple):
    """How a conversation is printed."""

    as_json: bool
    quiet: bool
    think: bool
    explain: bool
    sources: bool
    plan: bool


def _greet(chat: Chat) -> None:
    warn_if_stale(chat.state)
    session = chat.session
    for notice in session.notices:
        say(notice)
    if _interactive():
        say("/help lists the commands, /quit leaves")
    if session.turns:
        say(f'after "{shortened(session.turns[-1].question)}" (session {session.id})')


def _converse(chat: Chat, manner: Manner) -> int:
    """Answer what is typed, line by line; return the last exit code."""
    code, commands = 0, Commands(chat, manner.as_json, manner.quiet)
    for line in _lines():
        command = as_command(line)
        if line.lower() in BARE or (command and command.name in LEAVE):
            break
        code = commands.run(command) if command else _answer(chat, line, manner)
    return code


def _print_list(report: SessionsReport, as_json: bool) -> None:
    if as_json:
        print_report(report)
    for session in [] if as_json else report.sessions:
        first = shortened(session.turns[0].question, 60) if session.turns else ""
        print_line(f"{session.id}  {len(session.turns):>3}  {first}".rstrip())
        for notice in session.notices:
            say(notice)
    if not report.sessions:
        if not as_json:
            say("no conversation yet: `rag chat`")
        raise typer.Exit(1)


def _interactive() -> bool:
    return bool(sys.stdin) and sys.stdin.isatty()


def _lines() -> Iterator[str]:
    """Yield what is typed, until the end of stdin; Ctrl-C only clears a line."""
    if sys.stdin:
        tolerate_stdin()
    while sys.stdin:
        try:
            line = read_line("rag> ") if _interactive() else read_line_of_stdin()
        except KeyboardInterrupt:
            say("")
            continue
        except EOFError:
            say("")
            return
        if not line and not _interactive():
            return
        if typed := line.strip():
            yield typed


def _answer(chat: Chat, question: str, manner: Manner) -> int:
    """Answer one question and print it; what goes wrong does not end the conversation."""
    printer = AnswerPrinter(
        chat.state, question=question, sources=manner.sources, quiet=manner.quiet
    )

    def show_asked(asked: str) -> None:
        printer.stop_waiting()
        if not (manner.quiet or manner.as_json):
            console = make_console(stderr=True)
            print_between_words(console, f"({visible(asked)})", "dim")

    def show_plan(intent: Intent) -> None:
        printer.stop_waiting()
        print_interpretation(intent, chat.state, wanted=manner.plan, data=manner.as_json)

    try:
        if not manner.as_json:
            printer.wait("asking…")
        report = chat.ask(
            question,
            show_asked,
            on_text=None if manner.as_json else printer.on_text,
            on_thinking=printer.on_thinking if manner.think and not manner.as_json else None,
            on_progress=None if manner.as_json else printer.on_progress,
            on_plan=None if manner.quiet else show_plan,
        )
    except KeyboardInterrupt:
        if not _interactive():
            raise
        printer.stop_waiting()
        say("")
        say("(interrupted)")
        return 130
    except RAGError as error:
        printer.stop_waiting()
        print_error(error, manner.as_json)
        return error.exit_code
    printer.stop_waiting()
    if manner.as_json:
        print_report(report)
    else:
        _print_answer(printer, question, report.answer, manner)
    return exit_code(report.answer)


def _print_answer(printer: AnswerPrinter, question: str, answer: Answer, manner: Manner) -> None:
    if not manner.quiet:
        print_corrections(answer.corrections, question)
    printer.finish(answer)
    if manner.explain:
        print_window(answer)
    sys.stdout.write("\n")
    sys.stdout.flush()
