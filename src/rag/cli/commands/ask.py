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
from rag.cli.framework.query import Output, make_filters
from rag.cli.framework.settings import load_settings
from rag.cli.render.answer import AnswerPrinter, check_model, exit_code, read_stdin
from rag.cli.render.console import print_report
from rag.cli.render.context_report import print_window
from rag.cli.render.plan import print_interpretation

if TYPE_CHECKING:
    from rag.app.ask import AnswerReport
    from rag.app.requests import AskRequest
    from rag.app.workspace import Workspace
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
    says is checked against the notes; without one the parts of notes that answer are quoted. A list
    of notes, how many there are, and when something was last come from the index, without a model.

    \b
    rag ask "When do holds expire?"
    rag ask 取り置きの期限は何日？ --vault エンジニア
    rag ask "Who is on call?" --no-model     quote, whatever models there are
    rag ask "How many notes are tagged runbook?"
    echo "What is a Pod?" | rag ask - --json
    """
    from rag.app.requests import AskRequest
    from rag.app.workspace import Workspace

    out = Output(wants_json(json, output_format), paths, print0, quiet)
    config = load_settings(config_file)
    check_model(model, no_model)
    question = " ".join(words)
    request = AskRequest(
        read_stdin() if question == "-" else question,
        make_filters(vaults, tags, date_from, date_to, path_globs),
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
        report = _ask(workspace, request, printer, out, streams=not no_stream)
    _print(report, printer, out)
    if explain and not out.as_json:
        print_window(report.answer)
    if code := exit_code(report.answer):
        raise typer.Exit(code)


def _ask(
    workspace: Workspace, request: AskRequest, printer: AnswerPrinter, out: Output, *, streams: bool
) -> AnswerReport:
    """Ask, and print what comes while it comes."""

    def show_plan(intent: Intent) -> None:
        printer.stop_waiting()
        print_interpretation(intent, workspace.state, wanted=bool(request.plan), data=out.is_data)

    if not out.is_data:
        printer.wait("asking…")
    try:
        return workspace.ask(
            request,
            on_text=printer.on_text if streams and not out.is_data else None,
            on_thinking=printer.on_thinking if request.think and not out.is_data else None,
            on_progress=printer.on_progress if streams and not out.is_data else None,
            on_plan=None if out.quiet else show_plan,
        )
    finally:
        printer.stop_waiting()


def _print(report: AnswerReport, printer: AnswerPrinter, out: Output) -> None:
    answer = report.answer
    out.print_index_warnings(report.index, answer.corrections, report.request.question)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        from rag.cli.render.note_answers import more_notes

        out.print_files(report.index, out.printed(answer.sources))
        out.print_warnings([*answer.notices, *filter(None, [more_notes(answer)])])
    else:
        printer.finish(answer)
