"""`rag search`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import Given, argument, flag, shared, value
from rag.cli.render.console import print_line, print_report, say, say_notice
from rag.cli.render.formats import FORMATS, chosen_output, print_format
from rag.config import MODES
from rag.exceptions import UsageError
from rag.text.messages import plural, shortened

if TYPE_CHECKING:
    from rag.app.search import SearchReport


def search(
    words: list[str] | None = argument(
        "QUERY",
        'What to look for: words, "an exact phrase", -without, begin*, tag: vault: path:'
        " title:, a property (status:done), OR; without any, the notes that filters select",
        None,
    ),
    given: Given = shared(f"{opt.FILTERS} type top_k transforms plan json paths quiet config_file"),
    modified_from: str | None = value("--modified-from", "DATE", "Modified on this day or later."),
    modified_to: str | None = value("--modified-to", "DATE", "Modified on this day or before."),
    where: list[str] | None = value(
        "--where", "NAME=VALUE", "By front matter: status=done, 'price>200'; may be repeated (all)."
    ),
    mode: str | None = value("--mode", "|".join(MODES), "By words, by meaning, or by both."),
    order: str = value(
        "--sort", "score|created|modified|title", "The order; dates newest first.", ""
    ),
    refresh: bool | None = flag(
        "--refresh/--no-refresh",
        "First index what changed, up to 100 notes; or search the index as it is. Without"
        " either: at a terminal, as search.refresh says.",
        None,
    ),
    chunks: bool = flag("--chunks", "List chunks instead of notes."),
    explain: bool = flag("--explain", "Show what each result's score is made of."),
    rerank: bool | None = flag(
        "--rerank/--no-rerank",
        "Let a model order the best results again; or not even the reader those of a question.",
        None,
    ),
    min_score: float | None = value(
        "--min-score", "X", "Leave out what scores less.", min=0, max=1
    ),
    everything: bool = flag("--all", "Show the nearest notes too where nothing clearly matches."),
    full: bool = flag("--full", "Print all of the text that was found, not a snippet."),
    context: int | None = value(
        "--context", "N", "Print N lines around the matching one.", min=0, max=1000
    ),
    opened: int | None = value("--open", "N", "Open the Nth result: links.uri says how.", min=1),
    output_format: str = value(
        "--format",
        "|".join(FORMATS),
        "`lines` is file:line:text, as editors and fzf read it; `jsonl` an object a line;"
        " `paths0` the files with a NUL after each, for xargs -0.",
        "text",
    ),
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
    rag search 'rollb* "error budget" -draft'
    rag search "error budget" --format lines   as vim, fzf and grep tools read it
    rag search "notes tagged runbook about the error budget" --plan
    """
    from rag.app.requests import SearchRequest
    from rag.app.search import search as find
    from rag.app.workspace import Workspace

    out, quiet = chosen_output(given, FORMATS), given.quiet
    opt.exclude("--full", full, {"--context": context is not None})
    config = given.config
    opt.check_mode(config.search.mode if mode is None else mode)
    if refresh is None:  # for somebody at a terminal, if the settings let it
        refresh = config.search.refresh == "auto" and sys.stdout.isatty()
    query = opt.read_query(words or [])
    request = opt.make_request(SearchRequest, given, query=query, refresh=refresh)
    if not words and request.filters is None:
        hint = "Say what to look for; `rag search --help` lists the filters."
        raise UsageError("neither a query nor a filter is given", hint=hint)
    with Workspace(config) as workspace:
        report = find(workspace, request)
    if not quiet:
        opt.warn_if_stale(report.index)
        opt.print_corrections(report.corrections)
        if report.intent:
            from rag.cli.render.results import print_interpretation

            print_interpretation(report.intent, report.index, wanted=bool(given.plan))
        for notice in report.notices:
            say_notice(notice)
        if report.nearest:
            say("--all shows them")
    results = out.printed(report.results)
    if out.as_json:
        print_report(report)
    elif out.names_files:
        out.print_files(result.file for result in results)
    elif out.is_data:
        print_format(out.format, report, full)
    elif results:
        _print(report, out.format == "table", explain, full)
    if report.missing and not quiet:
        from rag.app.results import missing_words

        for text in missing_words(report):
            say(text)
    if not results:
        if not out.as_json:
            query = shortened(query.strip())
            say(f"nothing found for {query!r}" if query else "no note fits the filters")
        raise typer.Exit(1)
    if opened is not None:
        _open(report, opened, config.links.opener)


def _print(report: SearchReport, table: bool, explain: bool, full: bool) -> None:
    from rag.cli.render import results as render

    if explain:
        if report.intent:
            render.print_plan(report.intent)
        for line in render.searched_lines(report.route, report.variants):
            print_line(line)
        if took := report.timings.get("transforms"):
            print_line(f"transforms took {took:,.0f} ms")
    if table:
        render.print_table(report)
    else:
        render.print_results(report, full)


def _open(report: SearchReport, number: int, opener: str) -> None:
    import shlex
    import subprocess

    if number > len(report.results):
        count = plural(len(report.results), "result")
        raise UsageError(f"there is no result {number}", hint=f"The search found {count}.")
    hit = report.results[number - 1]
    if hit.gone:
        raise UsageError(f"the note of result {number} is gone", hint="`rag index` forgets it.")
    link = report.index.link(hit)
    say(f"opening {link}")
    try:
        command = shlex.split(opener) or ["open" if sys.platform == "darwin" else "xdg-open"]
        nowhere = subprocess.DEVNULL
        subprocess.run([*command, link], stdin=nowhere, stdout=nowhere, stderr=nowhere, check=True)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        why = f"{command[0]} failed" if isinstance(error, subprocess.CalledProcessError) else error
        hint = "links.opener names another command, links.uri another kind of link."
        raise UsageError(f"it could not be opened: {why}", hint=hint) from error
