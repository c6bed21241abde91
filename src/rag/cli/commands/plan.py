"""`rag plan`, `rag transform` and `rag audit`: how a query is read, without searching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import check_model, make_filters, read_query
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, say, to_json_text, visible
from rag.exceptions import UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.app.audit import AuditReport, RecordReport, Replay
    from rag.app.plan import TransformReport
    from rag.query.planner.audit_log import AuditRecord
    from rag.search.results import SearchedVariant

Query = Annotated[
    list[str], typer.Argument(metavar="QUERY", help="What to look for; `-` reads it from stdin.")
]


def plan(
    words: Query,
    vaults: opt.Vaults = None,
    tags: opt.Tags = None,
    date_from: opt.DateFrom = None,
    date_to: opt.DateTo = None,
    path_globs: opt.PathGlobs = None,
    model: Annotated[str, opt.value("--model", "NAME", "Ask this chat model, and no other.")] = "",
    no_model: Annotated[
        bool, opt.flag("--no-model", "Ask no model, whatever models there are.")
    ] = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Show what a query means, without searching: its filters, dates and vaults, and what is left
    to search for.

    It is what `rag search --plan` goes by; the chat model is asked where there is one.

    \b
    rag plan "notes tagged k8s from last month in my work vault about rollbacks"
    rag plan 先週の会議のメモ --json
    """
    from rag.app.interpretation_text import interpretation_line, missing
    from rag.app.plan import plan as make_plan
    from rag.app.workspace import Workspace

    config = load_settings(config_file)
    check_model(model, no_model)
    filters = make_filters(vaults, tags, date_from, date_to, path_globs)
    query = read_query(words)
    with Workspace(config) as workspace:
        report = make_plan(workspace, query, filters, model, no_model)
    for notice in [] if quiet else report.notices:
        say(notice)
    if report.intent is None:
        raise typer.Exit(1)
    if json:
        print_report(report)
    else:
        from rag.cli.render.results import print_plan

        print_line(interpretation_line(report.intent))
        print_plan(report.intent, 2)
        for text in [] if quiet else missing(report.intent, report.index):
            say(text)
    if not (report.is_usual or quiet):
        say("`rag search` takes these words as they are; with --plan it filters so.")


# -- transform -----------------------------------------------------------------------------


def transform(
    words: Query,
    transforms: opt.Transforms = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Show what a search would look for, without searching: the query as it is understood, and
    what transforms make of it.

    Without --transform it is what `rag search` would do. No index is needed.

    \b
    rag transform "how do we undo a release" --transform step-back
    rag transform "tag:ops rolback"
    """
    from rag.app.plan import plan_search

    query = read_query(words)
    report = plan_search(load_settings(config_file), query, transforms or None)
    for notice in () if quiet else report.notices:
        say(notice)
    if json:
        print_report(report)
    else:
        _print_transforms(report)


def _print_transforms(report: TransformReport) -> None:
    rows = [("original", f"1.00  {report.text}")] if report.text else []
    rows += [("filter", text) for text in report.filters]
    rows += [("corrected", f"{word} -> {meant}") for word, meant in report.corrections.items()]
    rows += [("also", word) for word in report.also if word not in report.corrections.values()]
    rows += [("route", report.route)] if report.route else []
    rows += [(variant.label, _variant(variant)) for variant in report.variants]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print_line(f"{name:{width}}  {text}")


def _variant(variant: SearchedVariant) -> str:
    sides = "" if len(variant.sides) == 2 else f" (by {variant.sides[0]} only)"
    fallback = f" (made without a model: {variant.fallback})" if variant.fallback else ""
    return f"{variant.weight:.2f}  {variant.text}{sides}{fallback}"


# -- audit ---------------------------------------------------------------------------------

_WIDTHS = {"understood": 40, "query": 60}
_ID = 12  # characters


def audit(
    record_id: Annotated[
        str, typer.Argument(metavar="[ID]", help="Show this record whole; its beginning will do.")
    ] = "",
    last: Annotated[
        int | None,
        opt.value("--last", "N", "So many records, not 10.", min=1, max=100_000),
    ] = None,
    since: Annotated[
        str | None,
        opt.value("--since", "DATE", "From this day on: 2026-11, 'last week', 先週."),
    ] = None,
    replay: Annotated[
        str | None,
        opt.value("--replay", "ID", "Plan this query again, with what the models said then."),
    ] = None,
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Show which queries were planned, and what was understood, the newest first.

    With --replay the exit code is 1 when another plan comes out than was recorded, which is
    right when the index, or the program, is another by now.

    \b
    rag audit
    rag audit --since "last week" --json
    rag audit mwq7q1aj               show a record with all that models said
    rag audit --replay mwq7q1aj
    """
    from rag.app.audit import find_record, list_records
    from rag.app.audit import replay as plan_again

    if bool(record_id) + (replay is not None) + bool(last or since) > 1:
        raise UsageError("ID, --replay and --last or --since exclude each other", hint="Use one.")
    config = load_settings(config_file)
    if replay is not None:
        _print_replay(plan_again(config, find_record(config, replay).record), json)
    elif record_id:
        _print_record(find_record(config, record_id), json)
    else:
        _print_records(list_records(config, last, since), config.planner.audit, json)


def _print_records(report: AuditReport, is_on: bool, as_json: bool) -> None:
    if report.problem:
        say(report.problem)
    if report.skipped:
        say(f"passed over {plural(report.skipped, 'line')} that hold no record")
    if as_json:
        print_report(report)
    elif report.records:
        _print_table(report.records)
    else:
        say("no plan is recorded" + (f" since {report.first}" if report.first else " yet"))
        if is_on:
            say("`rag search --plan QUERY` makes one; planner.audit = false records none.")
        else:
            say("Recording is switched off; planner.audit = true switches it on (`rag config`).")
    if not report.records:
        raise typer.Exit(1)


def _print_table(records: list[AuditRecord]) -> None:
    from rich.table import Table

    from rag.app.interpretation_text import interpretation_line
    from rag.cli.render.terminal import make_console
    from rag.search.planned_query import Intent
    from rag.search.results import QueryFilters

    table = Table(box=None, pad_edge=False, expand=True)
    for name, width in (("id", _ID), ("time", 11), ("ms", 4)):
        table.add_column(name, justify="right" if name == "ms" else "left", width=width)
    for name in _WIDTHS:
        table.add_column(name, ratio=1, no_wrap=True, overflow="ellipsis")
    for record in records:
        intent = Intent(record.result, QueryFilters(), QueryFilters(), today=record.today)
        texts = zip((interpretation_line(intent), record.query), _WIDTHS.values(), strict=True)
        table.add_row(
            visible(record.id),
            f"{record.time.astimezone():%m-%d %H:%M}",
            f"{record.latency_ms:.0f}",
            *(shortened(visible(" ".join(text.split())), width) for text, width in texts),
        )
    make_console().print(table)


def _print_record(report: RecordReport, as_json: bool) -> None:
    if as_json:
        print_report(report)
        return
    for line in to_json_text(report.record.to_json(), indent=2).split("\n"):
        print_line(line)


def _print_replay(report: Replay, as_json: bool) -> None:
    if as_json:
        print_report(report)
    else:
        for notice in report.notices:
            say(notice)
        if report.same:
            print_line(f"{report.id}: the same plan")
        for one in report.differences:
            print_line(f"{one.field}: {_brief(one.stored)}, now {_brief(one.replayed)}")
    if not report.same:
        raise typer.Exit(1)


def _brief(value: Any) -> str:
    return shortened(to_json_text(value), 200)
