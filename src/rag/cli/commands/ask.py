"""`rag ask` and `rag chat`: questions, and in a conversation commands that begin with a slash."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import Given, argument, flag, shared, value
from rag.cli.render.console import (
    LONGEST_INPUT,
    clean,
    print_error,
    print_line,
    print_report,
    say,
    show,
    tolerate_stdin,
)
from rag.cli.render.formats import Output, chosen_output
from rag.exceptions import NotFoundError, RAGError, UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.app.chat import Chat, CommandReport, SessionsReport
    from rag.app.requests import ChatRequest


def ask(
    words: list[str] = argument("QUESTION", "The question; `-` reads it from stdin."),
    given: Given = shared(f"{opt.FILTERS} type top_k {opt.ANSWERS} {opt.OUTPUT}"),
    no_stream: bool = flag("--no-stream", "Print the answer when it is whole."),
) -> None:
    """Answer a question from the notes, each sentence with its source.

    A chat model writes the answer where there is one, and what it says is checked against the
    notes; without one the parts of notes that answer are quoted. A list of notes, how many there
    are, and when something was last come from the index, without a model.

    \b
    rag ask "When do holds expire?"
    rag ask 取り置きの期限は何日？ --vault エンジニア
    rag ask "Who is on call?" --no-model     quote, whatever models there are
    rag ask "How many notes are tagged runbook?"
    echo "What is a Pod?" | rag ask - --json
    """
    from rag.app.requests import AskRequest
    from rag.app.workspace import Workspace

    out, config = chosen_output(given), given.config
    request = opt.make_request(AskRequest, given, question=opt.read_query(words))
    with Workspace(config) as workspace:
        workspace.begin_reading()
        from rag.app.ask import ask as answer_question  # which takes as long as the reader
        from rag.cli.render.answer import AnswerPrinter

        state, sources, plan = workspace.state, not given.no_sources, bool(given.plan)
        printer = AnswerPrinter(state, out, request.question, sources=sources)
        listeners = printer.listeners(streams=not no_stream, think=given.think, plan=plan)
        try:
            report = answer_question(workspace, request, **listeners)
        finally:
            printer.stop_waiting()
    if not out.quiet:
        opt.warn_if_stale(report.index)
    if code := printer.print(report, request.explain):
        raise typer.Exit(code)


def chat(
    given: Given = shared(f"{opt.FILTERS} top_k {opt.ANSWERS} json quiet config_file"),
    go_on: bool = flag("--continue -c", "Go on with the latest conversation."),
    session: str = value("--session", "ID", "Go on with this one.", ""),
    list_all: bool = flag("--list", "List the conversations, the latest first."),
) -> None:
    """Ask the notes one question after the other.

    Each may lean on what was said before. A conversation is kept in the data folder, for
    --continue. Ctrl-C ends an answer, Ctrl-D or /quit the conversation. Off a terminal each line of
    stdin is a question.

    A line that begins with a slash and a word is a command: /help lists all.

    \b
    rag chat
    rag chat --continue
    printf 'When do holds expire?\\nand for groups?\\n' | rag chat --json
    """
    from rag.app.chat import Chat, kept_sessions
    from rag.app.requests import ChatRequest

    config, request = given.config, opt.make_request(ChatRequest, given)
    if list_all:
        _print_sessions(kept_sessions(config), given.json)
        return
    opt.exclude("--continue", go_on, {"--session": session})
    out = Output("json" if given.json else "text", given.quiet)
    with Chat(config, request) as talk:
        code = _Conversation(talk, request, out, sources=not given.no_sources).run()
    if code and not _interactive():
        raise typer.Exit(code)


def _print_sessions(report: SessionsReport, as_json: bool) -> None:
    lines = []
    for session in report.sessions:
        first = shortened(session.questions[0], 60) if session.questions else ""
        lines.append(f"{session.id}  {len(session.questions):>3}  {first}".rstrip())
        for notice in () if as_json else session.notices:
            say(notice)
    show(report, as_json, lines, "no conversation yet: `rag chat`")


_LEAVE = ("/quit", "/exit", "/q")
_BARE = ("quit", "exit")  # nobody asks their notes that
CHAT_HELP = {
    "/facts": "list what you told with /remember",
    "/remember TEXT": "keep a fact about you; the model is shown it with every question",
    "/forget N": "forget a fact: its number in /facts, or words of it",
    "/sources": "list the sources of the last answer again",
    "/clear": "begin a new conversation; facts stay",
    "/help": "list these commands",
    "/quit": "leave; Ctrl-D does too",
}
_COMMAND = re.compile(r"/[^\W\d_]+")


@dataclass(frozen=True)
class _Conversation:
    chat: Chat
    request: ChatRequest
    out: Output
    sources: bool

    def run(self) -> int:
        """Answer what is typed, line by line; return the last exit code."""
        session, code = self.chat.session, 0
        if not self.out.quiet:
            opt.warn_if_stale(self.chat.state)
            for notice in session.notices:
                say(notice)
            if _interactive():
                say("/help lists the commands, /quit leaves")
            if session.turns:
                say(f'after "{shortened(session.turns[-1].question)}" (session {session.id})')
        for line in _lines():
            command = as_command(line)
            if line.lower() in _BARE or (command and command[0] in _LEAVE):
                break
            try:
                code = self._run_command(*command) if command else self._answer(line)
            except KeyboardInterrupt:
                if not _interactive():
                    raise
                say("")
                say("(interrupted)")
                code = 130
            except RAGError as error:  # which does not end the conversation
                print_error(error, self.out.as_json)
                code = error.exit_code
        return code

    def _answer(self, question: str) -> int:
        from rag.cli.render.answer import AnswerPrinter

        out, request = self.out, self.request
        printer = AnswerPrinter(self.chat.state, out, question, sources=self.sources)
        plan = bool(request.plan)
        listeners = printer.listeners(streams=True, think=request.think, plan=plan)

        def show_asked(asked: str) -> None:
            printer.stop_waiting()
            if not (out.quiet or out.as_json):
                say(f"({asked})")

        try:
            report = self.chat.ask(question, show_asked, **listeners)
        finally:
            printer.stop_waiting()
        code = printer.print(report, request.explain)
        sys.stdout.write("" if out.as_json else "\n")
        sys.stdout.flush()
        return code

    def _run_command(self, name: str, rest: str) -> int:
        from rag.app.chat import CommandReport

        chat, as_json = self.chat, self.out.as_json
        commands: dict[str, Callable[[], CommandReport]] = {
            "/facts": chat.facts,
            "/remember": lambda: chat.remember(rest),
            "/forget": lambda: chat.forget(rest),
            "/sources": chat.sources,
            "/clear": chat.clear,
            "/help": lambda: CommandReport(command="help", commands=CHAT_HELP),
        }
        if name not in commands:
            near = get_close_matches(name, [*commands, *_LEAVE], 1, 0.5)
            meant = f"Did you mean {near[0]}? " if near else ""
            hint = f"{meant}/help lists them. A question begins with another word."
            raise UsageError(f"there is no command {name}", hint=hint)
        report = commands[name]()
        print_report(report) if as_json else self._print(report)
        return int(report.facts == [] or (report.command == "sources" and not report.sources))

    def _print(self, report: CommandReport) -> None:
        message = f"remembered: {report.remembered}" if report.remembered else ""
        message = f"forgotten: {report.forgotten}" if report.forgotten else message
        if report.cleared:
            old = report.cleared.old
            back = f"; `rag chat --session {old}` goes back to the old one" if old else ""
            message = f"a new conversation{back}"
        elif report.facts == []:
            from rag.qa.sessions import no_facts

            raise no_facts()
        elif report.command == "sources":
            from rag.cli.render.answer import print_sources
            from rag.cli.render.terminal import make_console

            if report.results is None:
                raise NotFoundError("there is no answer yet", hint="Ask something first.")
            if not report.results:
                raise NotFoundError("the last answer has no sources")
            print_sources(make_console(), report.results, self.chat.state)
        for fact in report.facts or ():
            print_line(f"{fact.number:>3}  {' '.join(clean(fact.text).split())}")
        for usage, text in (report.commands or {}).items():
            print_line(f"{usage:<15} {text}")
        if message and not self.out.quiet:
            say(message)


def as_command(line: str) -> tuple[str, str] | None:
    """Return the command that a line is, and what follows it; `None` when it is a question, as
    `/etc/hosts what is it?` is. Width and case make no difference."""
    first, *rest = line.split(maxsplit=1)
    name = unicodedata.normalize("NFKC", first).lower()
    return (name, rest[0].strip() if rest else "") if _COMMAND.fullmatch(name) else None


def _interactive() -> bool:
    return bool(sys.stdin) and sys.stdin.isatty()


def _lines() -> Iterator[str]:
    """Yield what is typed, until the end of stdin; Ctrl-C only clears a line."""
    if sys.stdin:
        tolerate_stdin()
    if _interactive():
        with suppress(ImportError):
            import readline  # noqa: F401 - lets `input` edit lines
    while sys.stdin:
        try:
            line = input("rag> ") if _interactive() else sys.stdin.readline(LONGEST_INPUT)
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
