"""`rag ask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    ExplainWindow,
    Json,
    ModelName,
    NoModel,
    NoSources,
    OutputFormat,
    PathGlobs,
    Paths,
    Plan,
    Print0,
    Quiet,
    Tags,
    Think,
    TopK,
    Transforms,
    Vaults,
    wants_json,
)
from rag.cli.framework.query import make_filters, tell_corrections, warn_if_stale
from rag.cli.framework.settings import load_settings
from rag.cli.render.answer import AnswerPrinter, check_model, exit_code, read_stdin
from rag.cli.render.console import print_file, print_report, say
from rag.cli.render.context_report import print_window
from rag.cli.render.plan import tell_intent

if TYPE_CHECKING:
    from rag.search.planned_query import Intent


def ask(
    words: Annotated[
        list[str],
        typer.Argument(metavar="QUESTION", help="The question; `-` reads it from stdin."),
    ],
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    top_k: TopK = None,
    transforms: Transforms = None,
    plan: Plan = None,
    model: ModelName = "",
    no_model: NoModel = False,
    think: Think = False,
    explain: ExplainWindow = False,
    no_stream: Annotated[
        bool, typer.Option("--no-stream", help="Print the answer when it is whole.")
    ] = False,
    no_sources: NoSources = False,
    json: Json = False,
    output_format: OutputFormat = "text",
    paths: Paths = False,
    print0: Print0 = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Answer a question from the notes, each sentence with its source.

    A chat model of Ollama writes the answer where there is one (ollama.chat_model), and what it
    says is checked against the notes; without one the nearest sentences are quoted.

    \b
    rag ask "When do holds expire?"
    rag ask 取り置きの期限は何日？ --vault エンジニア
    rag ask "Who is on call?" --no-model             quote, whatever models there are
    echo "What is a Pod?" | rag ask - --json
    """
    from rag.app.interpretation_text import unknown_tags
    from rag.app.requests import AskRequest
    from rag.app.workspace import Workspace

    as_json = wants_json(json, output_format)
    config = load_settings(config_file)
    check_model(model, no_model)
    question = " ".join(words)
    request = AskRequest(
        read_stdin() if question == "-" else question,
        make_filters(vaults, tags, date_from, date_to, path_globs),
        top_k=top_k,
        transforms=transforms,
        plan=plan,
        model=model,
        no_model=no_model,
        think=think,
        explain=explain,
    )
    silent = as_json or paths or print0
    with Workspace(config) as workspace:
        state = workspace.state
        printer = AnswerPrinter(
            state, question=request.question, sources=not no_sources, quiet=quiet
        )

        def show_plan(intent: Intent) -> None:
            printer.stop_waiting()
            tell_intent(intent, state, wanted=bool(plan), data=silent)

        if not silent:
            printer.wait("asking…")
        try:
            report = workspace.ask(
                request,
                on_text=None if silent or no_stream else printer.on_text,
                on_thinking=printer.on_thinking if think and not silent else None,
                on_plan=None if quiet else show_plan,
            )
        finally:
            printer.stop_waiting()
    answer = report.answer
    if not quiet:
        warn_if_stale(state)
        tell_corrections(answer.corrections)
    if as_json:
        print_report(report)
    elif paths or print0:
        for source in answer.sources:
            print_file(state.file(source), print0)
        for notice in [] if quiet else answer.notices:
            say(notice)
    else:
        printer.finish(answer)
        for text in [] if answer.found else unknown_tags(answer.tags, report.plan, state):
            say(text)
    if explain and not as_json:
        print_window(answer)
    if code := exit_code(answer):
        raise typer.Exit(code)
