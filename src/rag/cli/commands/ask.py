"""`rag ask` and `rag chat`."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.formats import NOTE_FORMATS, NoteFormat, Output, chosen_output
from rag.cli.framework.options import (
    check_model,
    make_filters,
    print_corrections,
    read_query,
    warn_if_stale,
)
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import (
    clean,
    print_error,
    print_line,
    print_report,
    read_line_of_stdin,
    say,
    say_notice,
    tolerate_stdin,
    visible,
)
from rag.exceptions import NotFoundError, RAGError, UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.app.chat import Chat, SessionsReport
    from rag.app.index_state import IndexState
    from rag.cli.render.answer import AnswerPrinter
    from rag.search.planned_query import Intent


Report = TypeVar("Report")


def ask(
    words: Annotated[
        list[str],
        typer.Argument(metavar="QUESTION", help="The question; `-` reads it from stdin."),
    ],
    vaults: opt.Vaults = None,
    tags: opt.Tags = None,
    date_from: opt.DateFrom = None,
    date_to: opt.DateTo = None,
    path_globs: opt.PathGlobs = None,
    top_k: opt.TopK = None,
    transforms: opt.Transforms = None,
    plan: opt.Plan = None,
    model: opt.ModelName = "",
    no_model: opt.NoModel = False,
    think: opt.Think = False,
    explain: opt.ExplainWindow = False,
    no_stream: Annotated[
        bool, opt.flag("--no-stream", "Print the answer when it is whole.")
    ] = False,
    no_sources: opt.NoSources = False,
    json: opt.Json = False,
    output_format: NoteFormat = "text",
    paths: opt.Paths = False,
    quiet: opt.Quiet = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Answer a question from the notes, each sentence with its source.

    A chat model of Ollama writes the answer where there is one (ollama.chat_model), and what it
    says is checked against the notes; without one the parts of notes that answer are quoted. A list
    of notes, how many there are, and when something was last come from the index, without a model.

    \b
    rag ask "When do holds expire?"
    rag ask 取り置きの期限は何日？ --vault エンジニア
    rag ask "Who is on call?" --no-model     quote, whatever models there are
    rag ask "How many notes are tagged runbook?"
    echo "What is a Pod?" | rag ask - --json
    """
    from rag.app.ask import ask as answer_question
    from rag.app.requests import AskRequest
    from rag.app.workspace import Workspace
    from rag.cli.render.answer import AnswerPrinter, exit_code, more_notes, print_window

    out = chosen_output(output_format, json=json, paths=paths, quiet=quiet, among=NOTE_FORMATS)
    config = load_settings(config_file)
    check_model(model, no_model)
    request = AskRequest(
        read_query(words),
        filters=make_filters(vaults, tags, date_from, date_to, path_globs),
        top_k=top_k,
        transforms=transforms or None,
        plan=plan,
        model=model,
        no_model=no_model,
        think=think,
        explain=explain,
    )
    with Workspace(config) as workspace:
        printer = AnswerPrinter(
            workspace.state, question=request.question, sources=not no_sources, quiet=quiet
        )
        answering = _shown(
            partial(answer_question, workspace),
            printer,
            workspace.state,
            out,
            streams=not no_stream,
            think=think,
            plan=bool(plan),
        )
        try:
            report = answering(request)
        finally:
            printer.stop_waiting()
    answer = report.answer
    if not quiet:
        warn_if_stale(report.index)
        print_corrections(answer.corrections)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        out.print_files(report.index, out.printed(answer.sources))
        for notice in () if quiet else (*answer.notices, more_notes(answer)):
            if notice:
                say_notice(notice)
    else:
        printer.finish(answer)
    if explain and not out.as_json:
        print_window(answer)
    if code := exit_code(answer):
        raise typer.Exit(code)


def _shown(
    ask: Callable[..., Report],
    printer: AnswerPrinter,
    state: IndexState,
    out: Output,
    *,
    streams: bool,
    think: bool,
    plan: bool,
) -> Callable[..., Report]:
    """Return what asks and prints an answer while it comes, unless stdout is for programs.

    :param plan: whether a plan was asked for.
    """
    from rag.cli.render.results import print_interpretation

    def on_plan(intent: Intent) -> None:
        printer.stop_waiting()
        print_interpretation(intent, state, wanted=plan, data=out.is_data)

    if not out.is_data:
        printer.wait("asking…")
    streams = streams and not out.is_data
    return partial(
        ask,
        on_text=printer.on_text if streams else None,
        on_progress=printer.on_progress if streams else None,
        on_thinking=printer.on_thinking if think and not out.is_data else None,
        on_plan=None if out.quiet else on_plan,
    )


# -- chat ----------------------------------------------------------------------------------


def _sessions() -> Iterable[str]:
    from rag.config import load_config
    from rag.qa.sessions import list_sessions

    return (session.id for session in list_sessions(load_config().data_dir))


def chat(
    vaults: opt.Vaults = None,
    tags: opt.Tags = None,
    date_from: opt.DateFrom = None,
    date_to: opt.DateTo = None,
    path_globs: opt.PathGlobs = None,
    top_k: opt.TopK = None,
    transforms: opt.Transforms = None,
    plan: opt.Plan = None,
    go_on: Annotated[
        bool, opt.flag("--continue -c", "Go on with the latest conversation.")
    ] = False,
    session_id: Annotated[
        str,
        opt.value(
            "--session", "ID", "Go on with this conversation.", complete=opt.completing(_sessions)
        ),
    ] = "",
    list_all: Annotated[
        bool, opt.flag("--list", "List the conversations, the latest first.")
    ] = False,
    model: opt.ModelName = "",
    no_model: opt.NoModel = False,
    think: opt.Think = False,
    explain: opt.ExplainWindow = False,
    no_sources: opt.NoSources = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    config_file: opt.ConfigFile = None,
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
    from rag.app.chat import Chat, kept_sessions
    from rag.app.requests import ChatRequest

    config = load_settings(config_file)
    check_model(model, no_model)
    if list_all:
        _print_sessions(kept_sessions(config), json)
        return
    if go_on and session_id:
        raise UsageError("--continue and --session exclude each other", hint="Leave one out.")
    request = ChatRequest(
        filters=make_filters(vaults, tags, date_from, date_to, path_globs),
        top_k=top_k,
        transforms=transforms or None,
        session=session_id,
        go_on=go_on,
        model=model,
        no_model=no_model,
        think=think,
        explain=explain,
        plan=plan,
    )
    out = Output("json" if json else "text", quiet)
    with Chat(config, request) as chat:
        talk = _Conversation(chat, out, think, explain, sources=not no_sources, plan=bool(plan))
        code = talk.run()
    if code and not _interactive():
        raise typer.Exit(code)


def _print_sessions(report: SessionsReport, as_json: bool) -> None:
    if as_json:
        print_report(report)
    for session in [] if as_json else report.sessions:
        asked = session.questions
        first = shortened(asked[0], 60) if asked else ""
        print_line(f"{session.id}  {len(asked):>3}  {first}".rstrip())
        for notice in session.notices:
            say(notice)
    if not report.sessions:
        if not as_json:
            say("no conversation yet: `rag chat`")
        raise typer.Exit(1)


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
    """A conversation and how it is printed: questions, and commands that begin with a slash."""

    chat: Chat
    out: Output
    think: bool
    explain: bool
    sources: bool
    plan: bool

    def run(self) -> int:
        """Answer what is typed, line by line; return the last exit code."""
        if not self.out.quiet:
            self._greet()
        code = 0
        for line in _lines():
            command = as_command(line)
            if line.lower() in _BARE or (command and command[0] in _LEAVE):
                break
            code = self._run_command(*command) if command else self._answer(line)
        return code

    def _greet(self) -> None:
        warn_if_stale(self.chat.state)
        session = self.chat.session
        for notice in session.notices:
            say(notice)
        if _interactive():
            say("/help lists the commands, /quit leaves")
        if session.turns:
            say(f'after "{shortened(session.turns[-1].question)}" (session {session.id})')

    def _answer(self, question: str) -> int:
        """Answer a question and print it; what goes wrong does not end the conversation."""
        from rag.cli.render.answer import AnswerPrinter, exit_code, print_window
        from rag.cli.render.terminal import make_console, print_between_words

        out = self.out
        printer = AnswerPrinter(
            self.chat.state, question=question, sources=self.sources, quiet=out.quiet
        )

        def show_asked(asked: str) -> None:
            printer.stop_waiting()
            if not (out.quiet or out.as_json):
                print_between_words(make_console(stderr=True), f"({visible(asked)})", "dim")

        try:
            answering = _shown(
                self.chat.ask,
                printer,
                self.chat.state,
                out,
                streams=True,
                think=self.think,
                plan=self.plan,
            )
            report = answering(question, show_asked)
        except KeyboardInterrupt:
            if not _interactive():
                raise
            printer.stop_waiting()
            say("")
            say("(interrupted)")
            return 130
        except RAGError as error:
            printer.stop_waiting()
            print_error(error, out.as_json)
            return error.exit_code
        printer.stop_waiting()
        if out.as_json:
            print_report(report)
            return exit_code(report.answer)
        if not out.quiet:
            print_corrections(report.answer.corrections)
        code = printer.finish(report.answer)
        if self.explain:
            print_window(report.answer)
        sys.stdout.write("\n")
        sys.stdout.flush()
        return code

    def _run_command(self, name: str, rest: str) -> int:
        """Run a command; an error is printed, and ends nothing. Return the exit code."""
        commands: dict[str, Callable[[str], int]] = {
            "/facts": self._facts,
            "/remember": self._remember,
            "/forget": self._forget,
            "/sources": self._sources,
            "/clear": self._clear,
            "/help": self._help,
        }
        try:
            if name not in commands:
                near = get_close_matches(name, [*commands, *_LEAVE], 1, 0.5)
                meant = f"Did you mean {near[0]}? " if near else ""
                raise UsageError(
                    f"there is no command {name}",
                    hint=f"{meant}/help lists them. A question begins with another word.",
                )
            return commands[name](rest)
        except RAGError as error:
            print_error(error, self.out.as_json)
            return error.exit_code

    def _done(self, report: object, message: str) -> int:
        """Say what was done."""
        if self.out.as_json:
            print_report(report)
        elif not self.out.quiet:
            say(message)
        return 0

    def _facts(self, _: str) -> int:
        report = self.chat.facts()
        if self.out.as_json:
            print_report(report)
        elif not report.facts:
            from rag.qa.user_facts import no_facts

            raise no_facts()
        else:
            for fact in report.facts:
                print_line(f"{fact.number:>3}  {' '.join(clean(fact.text).split())}")
        return 0 if report.facts else 1

    def _remember(self, text: str) -> int:
        report = self.chat.remember(text)
        return self._done(report, f"remembered: {report.remembered}")

    def _forget(self, which: str) -> int:
        report = self.chat.forget(which)
        return self._done(report, f"forgotten: {report.forgotten}")

    def _sources(self, _: str) -> int:
        report = self.chat.sources()
        if self.out.as_json:
            print_report(report)
        elif report.results is None:
            raise NotFoundError("there is no answer yet", hint="Ask something first.")
        elif not report.results:
            raise NotFoundError("the last answer has no sources")
        else:
            from rag.cli.render.answer import print_sources
            from rag.cli.render.terminal import make_console

            print_sources(make_console(), report.results, self.chat.state)
        return 0 if report.sources else 1

    def _clear(self, _: str) -> int:
        report = self.chat.clear()
        back = f"; `rag chat --session {report.old}` goes back to the old one" if report.old else ""
        return self._done(report, f"a new conversation{back}")

    def _help(self, _: str) -> int:
        if self.out.as_json:
            from rag.app.chat import ChatCommandsReport

            print_report(ChatCommandsReport(CHAT_HELP))
        for usage, text in {} if self.out.as_json else CHAT_HELP.items():
            print_line(f"{usage:<15} {text}")
        return 0


def as_command(line: str) -> tuple[str, str] | None:
    """Return the command that a line is, and what follows it; `None` when it is a question.

    A command is a slash and letters, and then nothing or white space: `/etc/hosts what is it?`
    is a question. Width and case make no difference.
    """
    first, *rest = line.split(maxsplit=1)
    name = unicodedata.normalize("NFKC", first).lower()
    return (name, rest[0].strip() if rest else "") if _COMMAND.fullmatch(name) else None


def _interactive() -> bool:
    return bool(sys.stdin) and sys.stdin.isatty()


def _lines() -> Iterator[str]:
    """Yield what is typed, until the end of stdin; Ctrl-C only clears a line."""
    if sys.stdin:
        tolerate_stdin()
    mode = _edit_lines() if _interactive() else []
    while sys.stdin:
        try:
            line = input(_PROMPT) if _interactive() else read_line_of_stdin()
        except KeyboardInterrupt:
            say("")
            continue
        except EOFError:
            say("")
            return
        finally:
            mode.clear()
        if not line and not _interactive():
            return
        if typed := line.strip():
            yield typed


_PROMPT = "rag> "


def _edit_lines() -> list[Any]:
    """Let `input` edit lines where the system can, also after Ctrl-Z and `fg`.

    The editor sets the mode of the terminal once for a line, the shell sets another when the
    program stops, and neither brings it back: each key would be shown twice.

    :returns: the mode while a line is edited; to be cleared once it is typed.
    """
    mode: list[Any] = []
    with suppress(ImportError):
        import readline
        import signal
        import termios

        def go_on(*_: object) -> None:
            if mode:
                termios.tcsetattr(0, termios.TCSADRAIN, mode)
                sys.stdout.write(_PROMPT + readline.get_line_buffer())
                sys.stdout.flush()

        readline.set_pre_input_hook(lambda: mode.extend(termios.tcgetattr(0)))
        signal.signal(signal.SIGCONT, go_on)
    return mode
