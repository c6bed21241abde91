"""`rag search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.completion import complete_formats, complete_notes
from rag.cli.framework.formats import FORMATS, check_body, chosen_output
from rag.cli.framework.options import (
    ConfigFile,
    DateFrom,
    DateTo,
    Json,
    Mode,
    ModifiedFrom,
    ModifiedTo,
    Order,
    PathGlobs,
    Paths,
    Plan,
    Print0,
    Quiet,
    Refresh,
    Tags,
    TopK,
    Transforms,
    Vaults,
    Where,
)
from rag.cli.framework.query import (
    Output,
    check_asks,
    check_mode,
    make_filters,
    print_missing,
    print_nothing_found,
    wants_refresh,
)
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report
from rag.cli.render.plan import TEXT_COLUMN, plan_lines, print_interpretation
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.search import SearchReport


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUERY",
            help='What to look for: words, "an exact phrase", -without, begin*, tag: vault: path:'
            " title:, a property (status:done), OR; without any, the notes that filters select",
        ),
    ] = None,
    vaults: Vaults = None,
    tags: Tags = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    modified_from: ModifiedFrom = None,
    modified_to: ModifiedTo = None,
    path_globs: PathGlobs = None,
    where: Where = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="NOTE",
            help="Notes that mean the like of this one, in the place of a query.",
            autocompletion=complete_notes,
        ),
    ] = None,
    top_k: TopK = None,
    mode: Mode = None,
    transforms: Transforms = None,
    plan: Plan = None,
    order: Order = "",
    refresh: Refresh = None,
    chunks: Annotated[bool, typer.Option("--chunks", help="List chunks instead of notes.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each result's score is made of.")
    ] = False,
    rerank: Annotated[
        bool,
        typer.Option(
            "--rerank",
            help="Let a model order the best results again: rerank.path, or the chat model.",
        ),
    ] = False,
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", min=0, max=1, metavar="X", help="Leave out what scores less."),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Show the nearest notes too where nothing clearly matches."),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print all of the text that was found, not a snippet.")
    ] = False,
    context: Annotated[
        int | None,
        typer.Option(
            "--context",
            min=0,
            max=1000,
            metavar="N",
            help="Print N lines before and after the matching one.",
        ),
    ] = None,
    opened: Annotated[
        int | None,
        typer.Option("--open", min=1, metavar="N", help="Open the Nth result: links.uri says how."),
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="Print a table.")] = False,
    json: Json = False,
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="|".join(FORMATS),
            help="For other programs: `lines` is file:line:text, as editors and fzf read it;"
            " `jsonl` an object a line.",
            autocompletion=complete_formats,
        ),
    ] = "text",
    paths: Paths = False,
    print0: Print0 = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Find notes.

    Words need not all be found; the more a note says of them, the higher it stands. A query
    in which a word begins with a minus goes in quotes, or after `--`. Filters alone list notes,
    the newest first; with words, --sort puts the best results in another order.

    \b
    rag search "rolling back a deploy"
    rag search 証明書の更新 --vault エンジニア
    rag search restore --tag runbook --from 2025-06 --to "last week"
    rag search "error budget" --path "runbooks/**" --paths
    rag search --tag runbook --where status=done --sort modified
    rag search --like "Error budgets"
    rag search 'rollb* "error budget" -draft'
    rag search "error budget" --format lines   as vim, fzf and grep tools read it
    rag search "notes tagged runbook about the error budget" --plan
    """
    from rag.app.requests import SearchRequest
    from rag.app.workspace import Workspace

    out, table = chosen_output(
        output_format, json=json, paths=paths, print0=print0, table=table, quiet=quiet
    )
    check_body(output_format, full, context)
    config = load_settings(config_file)
    check_mode(config.search.mode if mode is None else mode)
    days = (date_from, date_to, path_globs, modified_from, modified_to)
    request = SearchRequest(
        " ".join(words or []),
        make_filters(vaults, tags, *days, where),
        top_k=top_k,
        mode=mode,
        transforms=transforms or None,
        plan=plan,
        chunks=chunks,
        explain=explain,
        rerank=rerank,
        min_score=min_score or 0.0,
        context=context,
        order=order,
        refresh=wants_refresh(config, refresh),
        like=like,
        everything=everything,
    )
    check_asks(words, request.filters, like)
    with Workspace(config) as workspace:
        report = workspace.search(request)
    _print_warnings(report, out, wanted=bool(plan))
    results = out.printed(report.response.results)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        out.print_files(report.index, results)
    elif out.data_format:
        from rag.cli.render.formats import print_format

        print_format(out.data_format, report, full)
    elif results:
        _print(report, table, explain, full)
    if not out.quiet:
        print_missing(report.response.missing, request.query)
    if not results:
        if not out.as_json:
            print_nothing_found(request.query or like or "")
        raise typer.Exit(1)
    if opened is not None:
        _open(report, opened, config.links.opener)


def _open(report: SearchReport, number: int, opener: str) -> None:
    """Open a result.

    :raises UsageError: when there are not so many, or it cannot be opened.
    """
    from rag.cli.render.opening import open_link

    results = report.response.results
    if number > len(results):
        found = plural(len(results), "result")
        raise UsageError(f"there is no result {number}", hint=f"The search found {found}.")
    if results[number - 1].gone:
        raise UsageError(f"the note of result {number} is gone", hint="`rag index` forgets it.")
    open_link(report.index.link(results[number - 1]), opener)


def _print_warnings(report: SearchReport, out: Output, wanted: bool) -> None:
    """Say how a query was searched.

    :param wanted: whether a plan was asked for.
    """
    out.print_index_warnings(report.index, report.response.corrections, report.response.query)
    if report.plan and not out.quiet:
        print_interpretation(report.plan, report.index, wanted=wanted, data=out.is_data)
    out.print_warnings(report.notices)


def _print(report: SearchReport, table: bool, explain: bool, full: bool) -> None:
    from rag.cli.render.results import print_plan, print_results, print_table

    response = report.response
    if explain:
        for line in plan_lines(report.plan) if report.plan else ():
            print_line(line, TEXT_COLUMN)
        print_plan(response)
    if table:
        print_table(response.results, report.index)
    else:
        print_results(report, full)
