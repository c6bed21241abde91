"""`rag ask`."""

from __future__ import annotations

from pathlib import Path

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import argument, flag
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_report, say_notice
from rag.cli.render.formats import chosen_output


def ask(
    words: list[str] = argument("QUESTION", "The question; `-` reads it from stdin."),
    vaults: opt.Texts = opt.VAULTS,
    tags: opt.Texts = opt.TAGS,
    date_from: str | None = opt.DATE_FROM,
    date_to: str | None = opt.DATE_TO,
    path_globs: opt.Texts = opt.PATH_GLOBS,
    top_k: int | None = opt.TOP_K,
    transforms: opt.Texts = opt.TRANSFORMS,
    plan: bool | None = opt.PLAN,
    model: str = opt.MODEL,
    no_model: bool = opt.NO_MODEL,
    think: bool = opt.THINK,
    explain: bool = opt.EXPLAIN_WINDOW,
    no_stream: bool = flag("--no-stream", "Print the answer when it is whole."),
    no_sources: bool = opt.NO_SOURCES,
    json: bool = opt.JSON,
    output_format: str = opt.FORMAT,
    paths: bool = opt.PATHS,
    quiet: bool = opt.QUIET,
    config_file: Path | None = opt.CONFIG,
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

    out = chosen_output(locals())
    config = load_settings(config_file)
    request = opt.make_request(AskRequest, locals(), question=opt.read_query(words))
    with Workspace(config) as workspace:
        printer = AnswerPrinter(workspace.state, out, request.question, sources=not no_sources)
        answering = printer.answering(
            answer_question, streams=not no_stream, think=think, plan=bool(plan)
        )
        try:
            report = answering(workspace, request)
        finally:
            printer.stop_waiting()
    answer = report.answer
    if not quiet:
        opt.warn_if_stale(report.index)
        opt.print_corrections(answer.corrections)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        out.print_files(map(report.index.file, out.printed(answer.sources)))
        for notice in () if quiet else (*answer.notices, more_notes(answer)):
            if notice:
                say_notice(notice)
    else:
        printer.finish(answer)
    if explain and not out.as_json:
        print_window(answer)
    if code := exit_code(answer):
        raise typer.Exit(code)
