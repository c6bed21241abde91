"""`rag audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import (
    make_console,
    plural,
    print_line,
    print_report,
    say,
    to_json_text,
    visible,
)
from rag.exceptions import UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.app.audit import AuditReport, RecordReport, Replay
    from rag.query.planner.audit_log import AuditRecord

_WIDTHS = {"understood": 40, "query": 60}
_ID = 12  # characters


def audit(
    record_id: Annotated[
        str, typer.Argument(metavar="[ID]", help="Show this record whole; its beginning will do.")
    ] = "",
    last: Annotated[
        int | None,
        typer.Option("--last", min=1, max=100_000, metavar="N", help="So many records, not 10."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DATE", help="From this day on: 2026-11, 'last week', 先週."
        ),
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay", metavar="ID", help="Plan this query again, with what the models said then."
        ),
    ] = None,
    json: Json = False,
    config_file: ConfigFile = None,
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
    from rag.app.workspace import Workspace

    if bool(record_id) + (replay is not None) + bool(last or since) > 1:
        raise UsageError("ID, --replay and --last or --since exclude each other", hint="Use one.")
    config = load_settings(config_file)
    with Workspace(config) as workspace:
        if replay is not None:
            _print_replay(workspace.replay(replay), json)
        elif record_id:
            _show(workspace.audit_record(record_id), json)
        else:
            _list(workspace.audit(last, since), config.planner.audit, json)


def _list(report: AuditReport, is_on: bool, as_json: bool) -> None:
    if report.problem:
        say(report.problem)
    if report.skipped:
        say(f"passed over {plural(report.skipped, 'line')} that hold no record")
    if as_json:
        print_report(report)
    elif report.records:
        _print(report.records)
    if not report.records:
        if not as_json:
            say("no plan is recorded" + (f" since {report.first}" if report.first else " yet"))
            say(_switch(is_on))
        raise typer.Exit(1)


def _switch(is_on: bool) -> str:
    if is_on:
        return "`rag search --plan QUERY` makes one; planner.audit = false records none."
    return "Recording is switched off; planner.audit = true switches it on (`rag config`)."


def _print(records: list[AuditRecord]) -> None:
    from rich.table import Table

    from rag.app.interpretation_text import interpretation_line
    from rag.search.planned_query import Intent
    from rag.search.results import QueryFilters

    table = Table(box=None, pad_edge=False, expand=True)
    for name, width in (("id", _ID), ("time", 11), ("ms", 4)):
        table.add_column(name, justify="right" if name == "ms" else "left", width=width)
    for name in _WIDTHS:
        table.add_column(name, ratio=1, no_wrap=True, overflow="ellipsis")
    for record in records:
        intent = Intent(record.result, QueryFilters(), QueryFilters(), today=record.today)
        texts = (interpretation_line(intent), record.query)
        table.add_row(
            visible(record.id),
            f"{record.time.astimezone():%m-%d %H:%M}",
            f"{record.latency_ms:.0f}",
            *(
                shortened(visible(" ".join(text.split())), width)
                for text, width in zip(texts, _WIDTHS.values(), strict=True)
            ),
        )
    make_console().print(table)


def _show(report: RecordReport, as_json: bool) -> None:
    if as_json:
        print_report(report)
        return
    from rag.app.schema import to_json

    for line in to_json_text(to_json(report)["record"], indent=2).split("\n"):
        print_line(line)


def _print_replay(replayed: Replay, as_json: bool) -> None:
    if as_json:
        print_report(replayed)
    else:
        for notice in replayed.notices:
            say(notice)
        if replayed.same:
            print_line(f"{replayed.record.id}: the same plan")
        for name, before, now in replayed.differences:
            print_line(f"{name}: {_brief(before)}, now {_brief(now)}")
    if not replayed.same:
        raise typer.Exit(1)


def _brief(value: Any) -> str:
    return shortened(to_json_text(value), 200)
