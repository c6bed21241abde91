"""`rag search`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.formats import Format, Output, check_body, chosen_output
from rag.cli.framework.options import (
    check_mode,
    make_filters,
    print_corrections,
    wants_refresh,
    warn_if_stale,
)
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_report, say, say_notice, visible
from rag.exceptions import UsageError
from rag.text.messages import shortened

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
    vaults: opt.Vaults = None,
    tags: opt.Tags = None,
    date_from: opt.DateFrom = None,
    date_to: opt.DateTo = None,
    modified_from: opt.ModifiedFrom = None,
    modified_to: opt.ModifiedTo = None,
    path_globs: opt.PathGlobs = None,
    where: opt.Where = None,
    like: Annotated[
        str | None,
        opt.value(
            "--like",
            "NOTE",
            "Notes that mean the like of this one, in the place of a query.",
            complete=opt.complete_notes,
        ),
    ] = None,
    top_k: opt.TopK = None,
    mode: opt.Mode = None,
    transforms: opt.Transforms = None,
    plan: opt.Plan = None,
    order: opt.Order = "",
    refresh: opt.Refresh = None,
    chunks: Annotated[bool, opt.flag("--chunks", "List chunks instead of notes.")] = False,
    explain: Annotated[
        bool, opt.flag("--explain", "Show what each result's score is made of.")
    ] = False,
    rerank: Annotated[
        bool,
        opt.flag(
            "--rerank", "Let a model order the best results again: rerank.path, or the chat model."
        ),
    ] = False,
    min_score: Annotated[
        float | None,
        opt.value("--min-score", "X", "Leave out what scores less.", min=0, max=1),
    ] = None,
    everything: Annotated[
        bool,
        opt.flag("--all", "Show the nearest notes too where nothing clearly matches."),
    ] = False,
    full: Annotated[
        bool, opt.flag("--full", "Print all of the text that was found, not a snippet.")
    ] = False,
    context: Annotated[
        int | None,
        opt.value(
            "--context", "N", "Print N lines before and after the matching one.", min=0, max=1000
        ),
    ] = None,
    opened: Annotated[
        int | None,
        opt.value("--open", "N", "Open the Nth result: links.uri says how.", min=1),
    ] = None,
    json: opt.Json = False,
    output_format: Format = "text",
    paths: opt.Paths = False,
    quiet: opt.Quiet = False,
    config_file: opt.ConfigFile = None,
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
    from rag.app.search import search as find
    from rag.app.workspace import Workspace

    out = chosen_output(output_format, json=json, paths=paths, quiet=quiet)
    check_body(out, full, context)
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
    if not words and like is None and request.filters is None:
        raise UsageError(
            "neither a query nor a filter is given",
            hint="Say what to look for; `rag search --help` lists the filters.",
        )
    with Workspace(config) as workspace:
        report = find(workspace, request)
    if not quiet:
        _print_warnings(report, out, wanted=bool(plan))
    results = out.printed(report.response.results)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        out.print_files(report.index, results)
    elif out.is_data:
        from rag.cli.render.formats import print_format

        print_format(out.format, report, full)
    elif results:
        _print(report, out.format == "table", explain, full)
    if not quiet:
        from rag.app.interpretation_text import missing_words

        for text in missing_words(report.response.missing):
            say(text)
    if not results:
        if not out.as_json:
            query = (request.query or like or "").strip()
            say(f"nothing found for {shortened(query)!r}" if query else "no note fits the filters")
        raise typer.Exit(1)
    if opened is not None:
        _open(report, opened, config.links.opener)


def _print_warnings(report: SearchReport, out: Output, wanted: bool) -> None:
    """Say what may be wrong with what follows, and how a query was searched.

    :param wanted: whether a plan was asked for.
    """
    warn_if_stale(report.index)
    print_corrections(report.response.corrections)
    if report.intent:
        from rag.cli.render.results import print_interpretation

        print_interpretation(report.intent, report.index, wanted=wanted, data=out.is_data)
    for notice in report.notices:
        say_notice(notice)


def _print(report: SearchReport, table: bool, explain: bool, full: bool) -> None:
    from rag.cli.render import results as render
    from rag.cli.render.terminal import make_console, print_between_words

    response = report.response
    if explain:
        if report.intent:
            render.print_plan(report.intent)
        lines = [*render.searched_lines(response.route, response.variants)]
        if took := response.timings.get("transforms"):
            lines.append(f"transforms took {took:,.0f} ms")
        for line in lines:
            print_between_words(make_console(), visible(line), "dim")
    if table:
        render.print_table(response.results, report.index)
    else:
        render.print_results(report, full)


_SECONDS = 3.0  # in which an opener that fails has said so; one that is still there shows the note


def _open(report: SearchReport, number: int, opener: str) -> None:
    """Open a result with the program that opens links.

    :param opener: the command, with its options; empty for that of the system.
    :raises UsageError: when there are not so many, or it cannot be opened.
    """
    import shlex
    import subprocess

    results = report.response.results
    if number > len(results):
        count = plural(len(results), "result")
        raise UsageError(f"there is no result {number}", hint=f"The search found {count}.")
    if results[number - 1].gone:
        raise UsageError(f"the note of result {number} is gone", hint="`rag index` forgets it.")
    link = report.index.link(results[number - 1])
    try:
        command = shlex.split(opener) or ["open" if sys.platform == "darwin" else "xdg-open"]
    except ValueError as error:
        raise UsageError(
            f"links.opener is no command: {error}", hint="See `rag config`."
        ) from error
    say(f"opening {link}")
    nowhere = subprocess.DEVNULL
    try:
        running = subprocess.Popen(
            [*command, link], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
        code = running.wait(_SECONDS)
    except OSError as error:
        why = f"{command[0]} cannot be run: {error.strerror or error}"
        raise UsageError(why, hint="Name another command in links.opener.") from error
    except subprocess.TimeoutExpired:
        return
    if code:
        raise UsageError(
            f"{command[0]} could not open it (exit code {code})",
            hint="links.opener names another command, links.uri another kind of link.",
        )
