"""`rag search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    Json,
    Mode,
    OutputFormat,
    PathGlobs,
    Paths,
    Plan,
    Print0,
    Quiet,
    Tags,
    TopK,
    Transforms,
    Vaults,
    wants_json,
)
from rag.cli.framework.query import check_mode, make_filters, tell_corrections, warn_if_stale
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_file, print_line, print_report, say
from rag.cli.render.plan import plan_lines, tell_intent
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.app.search import SearchReport


def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help='What to look for: words, "an exact phrase", -without, begin*, tag: vault: path:'
            " title:",
        ),
    ],
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    path_globs: PathGlobs = None,
    top_k: TopK = None,
    mode: Mode = None,
    transforms: Transforms = None,
    plan: Plan = None,
    chunks: Annotated[bool, typer.Option("--chunks", help="List chunks instead of notes.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each result's score is made of.")
    ] = False,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Let the chat model order the best results anew.")
    ] = False,
    table: Annotated[bool, typer.Option("--table", help="Print a table.")] = False,
    json: Json = False,
    output_format: OutputFormat = "text",
    paths: Paths = False,
    print0: Print0 = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Find notes.

    Words need not all be found; the more a note says of them, the higher it stands. A query
    in which a word begins with a minus goes in quotes, or after `--`.

    \b
    rag search "rolling back a deploy"
    rag search 証明書の更新 --vault エンジニア
    rag search restore --tag runbook --from 2025-06 --to "last week"
    rag search "error budget" --path "runbooks/**" --paths
    rag search 'rollb* "error budget" -draft'
    rag search "notes tagged runbook about the error budget" --plan
    """
    from rag.app.requests import SearchRequest
    from rag.app.workspace import Workspace

    as_json = wants_json(json, output_format)
    config = load_settings(config_file)
    check_mode(config.search.mode if mode is None else mode)
    request = SearchRequest(
        " ".join(words),
        make_filters(vaults, tags, date_from, date_to, path_globs),
        top_k=top_k,
        mode=mode,
        transforms=transforms,
        plan=plan,
        chunks=chunks,
        explain=explain,
        rerank=rerank,
    )
    with Workspace(config) as workspace:
        report = workspace.search(request)
    response, state = report.response, report.index
    if not quiet:
        warn_if_stale(state)
        tell_corrections(response.corrections)
        if report.plan:
            tell_intent(report.plan, state, wanted=bool(plan), data=as_json or paths or print0)
        for notice in response.notices:
            say(notice)
    if as_json:
        print_report(report)
    elif paths or print0:
        for file in dict.fromkeys(map(state.file, response.results)):
            print_file(file, print0)
    elif response.results:
        _print(report, table, explain)
    if not response.results:
        if not as_json:
            from rag.app.interpretation_text import unknown_tags

            say(f"nothing found for {shortened(request.query)!r}")
            for text in unknown_tags(response.tags, report.plan, state):
                say(text)
        raise typer.Exit(1)


def _print(report: SearchReport, table: bool, explain: bool) -> None:
    from rag.cli.render.results import print_plan, print_results, print_table

    response = report.response
    if explain:
        for line in plan_lines(report.plan) if report.plan else ():
            print_line(line)
        print_plan(response)
    show = print_table if table else print_results
    show(response.results, response.searched, report.index)
