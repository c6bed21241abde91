"""`rag plan`, `rag transform` and `rag audit`: how a query is read, without searching."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import Given, argument, flag, shared, value
from rag.cli.render.console import print_line, print_report, say, show, to_json_text
from rag.exceptions import UsageError
from rag.text.messages import plural, shortened

if TYPE_CHECKING:
    from rag.app.plan import AuditReport, Replay, TransformReport

_QUERY = argument("QUERY", "What to look for; `-` reads it from stdin.")


def plan(
    words: list[str] = _QUERY,
    given: Given = shared(f"{opt.FILTERS} json quiet config_file"),
    model: str = value("--model", "NAME", "Ask this chat model, and no other.", ""),
    no_model: bool = flag("--no-model", "Ask no model, whatever models there are."),
) -> None:
    """Show what a query means, without searching.

    That is its filters, dates and vaults, and what is left to search for. It is what `rag
    search --plan` goes by; the chat model is asked where there is one.

    \b
    rag plan "notes tagged k8s from last month in my work vault about rollbacks"
    rag plan 先週の会議のメモ --json
    """
    from rag.app.plan import plan as make_plan
    from rag.app.results import interpretation_line, missing_names
    from rag.app.workspace import Workspace

    config, quiet = given.config, given.quiet
    opt.exclude("--model", model, {"--no-model": no_model})
    query = opt.read_query(words)
    filters = opt.make_filters(given)
    with Workspace(config) as workspace:
        report = make_plan(workspace, query, filters, model, no_model)
    for notice in [] if quiet else report.notices:
        say(notice)
    if report.intent is None:
        raise typer.Exit(1)
    if given.json:
        print_report(report)
    else:
        from rag.cli.render.results import print_plan

        print_line(interpretation_line(report.intent))
        print_plan(report.intent, "  ")
        for text in [] if quiet else missing_names(report.intent, report.index):
            say(text)
    if not (report.is_usual or quiet):
        say("`rag search` takes these words as they are; with --plan it filters so.")


def transform(
    words: list[str] = _QUERY, given: Given = shared("transforms json quiet config_file")
) -> None:
    """Show what a search would look for, without searching.

    That is the query as it is understood, and what transforms make of it. Without --transform
    it is what `rag search` would do.

    \b
    rag transform "how do we undo a release" --transform step-back
    rag transform "tag:ops rolback"
    """
    from rag.app.plan import plan_search

    query = opt.read_query(words)
    report = plan_search(given.config, query, given.transforms or None)
    for notice in () if given.quiet else report.notices:
        say(notice)
    show(report, given.json, _transformed(report))


def _transformed(report: TransformReport) -> Iterator[str]:
    from rag.cli.render.results import searched_lines

    if report.text:
        yield f"original: {report.text}"
    yield from (f"filter: {text}" for text in report.filters)
    yield from (f"corrected: {word} -> {meant}" for word, meant in report.corrections.items())
    yield from (f"also: {word}" for word in report.also if word not in report.corrections.values())
    yield from searched_lines(report.route, report.variants)


def audit(
    record_id: str = argument("[ID]", "Show this record whole; its beginning will do.", ""),
    last: int | None = value("--last", "N", "So many records, not 10.", min=1, max=100_000),
    since: str | None = value("--since", "DATE", "From this day on: 2026-11, 'last week', 先週."),
    replay: str | None = value("--replay", "ID", "Plan this query again, by recorded replies."),
    given: Given = shared("json config_file"),
) -> None:
    """Show which queries were planned, and how, the newest first.

    With --replay the exit code is 1 when another plan comes out than was recorded, which is
    right when the index, or the program, is another by now.

    \b
    rag audit
    rag audit --since "last week" --json
    rag audit mwq7q1aj               show a record with all that models said
    rag audit --replay mwq7q1aj
    """
    from rag.app.plan import find_record, list_records
    from rag.app.plan import replay as plan_again

    if bool(record_id) + (replay is not None) + bool(last or since) > 1:
        raise UsageError("ID, --replay and --last or --since exclude each other", hint="Use one.")
    config, json = given.config, given.json
    if replay is not None:
        replayed = plan_again(config, find_record(config, replay).record)
        show(replayed, json, _replayed(replayed))
        if not replayed.same:
            raise typer.Exit(1)
    elif record_id:
        report = find_record(config, record_id)
        text = to_json_text(report.record.to_json(), indent=2)
        show(report, json, text.split("\n"))
    else:
        _print_records(list_records(config, last, since), config.planner.audit, json)


def _print_records(report: AuditReport, is_on: bool, as_json: bool) -> None:
    if report.problem:
        say(report.problem)
    if report.skipped:
        say(f"passed over {plural(report.skipped, 'line')} that hold no record")
    nothing = "no plan is recorded" + (f" since {report.first}" if report.first else " yet")
    if not is_on:
        nothing += ". Recording is switched off; planner.audit = true switches it on."
    show(report, as_json, _records(report), nothing)


def _records(report: AuditReport) -> Iterator[str]:
    from rag.app.results import interpretation_line
    from rag.search.planned_query import Intent
    from rag.search.results import QueryFilters

    for record in report.records:
        intent = Intent(record.result, QueryFilters(), QueryFilters(), today=record.today)
        words = f"{shortened(interpretation_line(intent), 60)} ← {shortened(record.query, 60)}"
        time = f"{record.time.astimezone():%m-%d %H:%M}"
        yield f"{record.id:12}  {time}  {record.latency_ms:>4.0f} ms  {words}"


def _replayed(report: Replay) -> Iterator[str]:
    for notice in report.notices:
        say(notice)
    if report.same:
        yield f"{report.id}: the same plan"
    for difference in report.differences:
        stored, now = (
            shortened(to_json_text(it), 200) for it in (difference.stored, difference.replayed)
        )
        yield f"{difference.field}: {stored}, now {now}"
