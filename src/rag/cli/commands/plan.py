"""`rag plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    Json,
    PathGlobs,
    Quiet,
    Tags,
    Vaults,
)
from rag.cli.framework.query import make_filters
from rag.cli.framework.settings import load_settings
from rag.cli.render.answer import check_model, read_stdin
from rag.cli.render.console import print_line, print_report, say
from rag.cli.render.plan import TEXT_COLUMN, plan_lines

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.search.planned_query import Intent


def plan(
    words: Annotated[
        list[str],
        typer.Argument(metavar="QUERY", help="What to look for; `-` reads it from stdin."),
    ],
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="Ask this chat model, and no other.")
    ] = "",
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Ask no model, whatever models there are.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Show what a query means, without searching: its filters, dates and vaults, and what is left
    to search for.

    It is what `rag search --plan` goes by; the chat model is asked where there is one.

    \b
    rag plan "notes tagged k8s from last month in my work vault about rollbacks"
    rag plan 先週の会議のメモ --json
    """
    from rag.app.requests import PlanRequest
    from rag.app.workspace import Workspace

    config = load_settings(config_file)
    check_model(model, no_model)
    query = " ".join(words)
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    query = read_stdin() if query == "-" else query
    with Workspace(config) as workspace:
        report = workspace.plan(PlanRequest(query, filters, model, no_model))
    for notice in [] if quiet else report.notices:
        say(notice)
    if report.plan is None:
        raise typer.Exit(1)
    if json:
        print_report(report)
    else:
        _print(report.plan, report.index, quiet)
    if not (report.is_usual or quiet):
        say("`rag search` takes these words as they are; with --plan it filters so.")


def _print(intent: Intent, state: IndexState, quiet: bool) -> None:
    from rag.app.interpretation_text import interpretation_line, missing

    print_line(interpretation_line(intent))
    for line in plan_lines(intent):
        print_line(f"  {line}", TEXT_COLUMN + 2)
    for text in [] if quiet else missing(intent, state):
        say(text)
