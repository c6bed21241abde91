"""`rag chat`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.commands.chat_slash import BARE, LEAVE, Commands, as_command
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
    Quiet,
    Tags,
    Think,
    TopK,
    Transforms,
    Vaults,
)
from rag.cli.framework.query import make_filters, tell_corrections, warn_if_stale
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
    print_error,
    print_json,
    print_line,
    say,
    visible,
)
from rag.cli.render.context_report import print_window
from rag.config import RAGConfig
from rag.exceptions import RAGError, UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.qa.conversation import Conversation
    from rag.qa.sessions import Session


def chat(
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    top_k: TopK = None,
    transforms: Transforms = None,
    go_on: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the latest conversation.")
    ] = False,
    session_id: Annotated[
        str, typer.Option("--session", metavar="ID", help="Go on with this conversation.")
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
    /quit the conversation. Off a terminal each line of stdin is a question. Words of a question
    are never taken for filters here, as `rag ask --plan` does.

    A line that begins with a slash and a word is a command: /facts, /remember TEXT and /forget N
    keep what the model should know of you, in this conversation and every other; /sources lists
    the sources of the last answer, /clear begins anew, /help lists all.

    \b
    rag chat
    rag chat --continue
    printf 'When do holds expire?\\nand for groups?\\n' | rag chat --json
    """
    from rag.app.choices import with_model
    from rag.app.index_state import check_vaults, open_state

    config = load_settings(config_file)
    check_model(model, no_model)
    config = with_model(config, model, no_model, think)
    if list_all:
        _print_list(config, json)
        return
    from rag.qa.conversation import Conversation
    from rag.qa.pipeline import create_qa_pipeline
    from rag.stores import get_document_store

    session = _session(config, go_on, session_id)
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    state = open_state(config)
    check_vaults(vaults, state.roots)
    if not quiet:
        warn_if_stale(state)
        for notice in session.notices:
            say(notice)
        if _interactive():
            say("/help lists the commands, /quit leaves")
        if session.turns:
            say(f'after "{shortened(session.turns[-1].question)}" (session {session.id})')
    with (
        get_document_store(config) as store,
        closing(create_qa_pipeline(store, config, model, transforms or None)) as pipeline,
    ):
        conversation = Conversation(
            pipeline, session, filters, top_k or config.ask.top_k, config.search.mode
        )
        code, commands = 0, Commands(conversation, state, json, quiet)
        for line in _lines():
            command = as_command(line)
            if line.lower() in BARE or (command and command.name in LEAVE):
                break
            if command:
                code = commands.run(command)
                continue
            printer = AnswerPrinter(state, sources=not no_sources, quiet=quiet)
            code = _answer(conversation, line, printer, json, think, explain, quiet)
    if code and not _interactive():
        raise typer.Exit(code)


def _session(config: RAGConfig, go_on: bool, session_id: str) -> Session:
    from rag.qa.sessions import latest_session, new_session, open_session

    if go_on and session_id:
        raise UsageError("--continue and --session exclude each other", hint="Leave one out.")
    if session_id:
        return open_session(config.data_dir, session_id)
    return latest_session(config.data_dir) if go_on else new_session(config.data_dir)


def _print_list(config: RAGConfig, as_json: bool) -> None:
    from rag.qa.sessions import list_sessions

    sessions = list_sessions(config.data_dir)
    if as_json:
        listed = [
            {
                "id": session.id,
                "questions": [turn.question for turn in session.turns],
                "notices": session.notices,
            }
            for session in sessions
        ]
        print_json({"sessions": listed})
    for session in [] if as_json else sessions:
        first = shortened(session.turns[0].question, 60) if session.turns else ""
        print_line(f"{session.id}  {len(session.turns):>3}  {first}".rstrip())
        for notice in session.notices:
            say(notice)
    if not sessions:
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


def _answer(
    conversation: Conversation,
    question: str,
    printer: AnswerPrinter,
    as_json: bool,
    think: bool,
    explain: bool,
    quiet: bool,
) -> int:
    """Answer one question and print it; what goes wrong does not end the conversation."""

    def tell(understood: str) -> None:
        printer.stop_waiting()
        if not (quiet or as_json):
            console = make_console(stderr=True)
            console.print(f"({visible(understood)})", style="dim", soft_wrap=True)

    try:
        if not as_json:
            printer.wait("asking…")
        answer = conversation.ask(
            question,
            tell,
            on_text=None if as_json else printer.on_text,
            on_thinking=printer.on_thinking if think and not as_json else None,
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
        print_error(error, as_json)
        return error.exit_code
    printer.stop_waiting()
    if as_json:
        from rag.app.schema import answer_to_json, context_to_json

        about = {"session": conversation.session.id, "question": question}
        asked = conversation.session.turns[-1].asked
        window = {"context": context_to_json(answer)} if explain else {}
        print_json({**about, "asked": asked, **answer_to_json(answer, think), **window})
    else:
        if not quiet:
            tell_corrections(answer.corrections)
        printer.finish(answer)
        if explain:
            print_window(answer)
        sys.stdout.write("\n")
        sys.stdout.flush()
    return exit_code(answer)
