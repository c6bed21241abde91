"""`rag audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import (
    make_console,
    plural,
    print_json,
    print_line,
    say,
    to_json_text,
    visible,
)
from rag.config import RAGConfig
from rag.exceptions import UsageError
from rag.text.messages import shortened

if TYPE_CHECKING:
    from rag.app.audit import Replay
    from rag.query.planner.audit_log import AuditRecord, AuditTrail

_LAST = 10
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
    rag audit mwq7q1aj                    show a record with all that the models said
    rag audit --replay mwq7q1aj
    """
    from rag.query.planner.audit_log import AuditTrail

    if bool(record_id) + (replay is not None) + bool(last or since) > 1:
        raise UsageError("ID, --replay and --last or --since exclude each other", hint="Use one.")
    config = load_settings(config_file)
    trail = AuditTrail(config.data_dir)
    if replay is not None:
        _replay(config, trail.find(replay), json)
    elif record_id:
        _show(trail.find(record_id), json)
    else:
        _list(config, trail, last, since, json)


def _list(
    config: RAGConfig, trail: AuditTrail, last: int | None, since: str | None, as_json: bool
) -> None:
    from itertools import islice

    from rag.query import parse_date_range

    first = None if since is None else parse_date_range(since).first
    count = last or (_LAST if since is None else None)
    records = list(islice(trail.records(first), count))
    if trail.problem:
        say(trail.problem)
    if trail.skipped:
        say(f"passed over {plural(trail.skipped, 'line')} that hold no record")
    if as_json:
        print_json({"records": [to_json(record) for record in records]})
    elif records:
        _print(records)
    if not records:
        if not as_json:
            say("no plan is recorded" + (f" since {first}" if first else " yet"))
            say(_switch(config.planner.audit))
        raise typer.Exit(1)


def _switch(is_on: bool) -> str:
    if is_on:
        return "`rag search --plan QUERY` makes one; planner.audit = false records none."
    return "Recording is switched off; planner.audit = true switches it on (`rag config`)."


def to_json(record: AuditRecord) -> dict[str, Any]:
    """Return a record as JSON."""
    from json import loads

    from rag.query.planner.audit_log import encoded

    found: dict[str, Any] = loads(encoded(record))
    return found


def _print(records: list[AuditRecord]) -> None:
    from rich.table import Table

    from rag.app.interpretation_text import understood_line
    from rag.search.planned_query import Intent
    from rag.search.results import QueryFilters

    table = Table(box=None, pad_edge=False, expand=True)
    for name, width in (("id", _ID), ("time", 11), ("ms", 4)):
        table.add_column(name, justify="right" if name == "ms" else "left", width=width)
    for name in _WIDTHS:
        table.add_column(name, ratio=1, no_wrap=True, overflow="ellipsis")
    for record in records:
        intent = Intent(record.result, QueryFilters(), QueryFilters(), today=record.today)
        texts = (understood_line(intent), record.query)
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


def _show(record: AuditRecord, as_json: bool) -> None:
    if as_json:
        print_json({"record": to_json(record)})
    else:
        for line in to_json_text(to_json(record), indent=2).split("\n"):
            print_line(line)


def _replay(config: RAGConfig, record: AuditRecord, as_json: bool) -> None:
    from rag.app.audit import replay as run_replay

    replayed = run_replay(config, record)
    if as_json:
        print_json(replay_to_json(replayed))
    else:
        for notice in replayed.notices:
            say(notice)
        if replayed.same:
            print_line(f"{record.id}: the same plan")
        for name, before, now in replayed.differences:
            print_line(f"{name}: {_brief(before)}, now {_brief(now)}")
    if not replayed.same:
        raise typer.Exit(1)


def _brief(value: Any) -> str:
    return shortened(to_json_text(value), 200)


def replay_to_json(replay: Replay) -> dict[str, Any]:
    """Return the JSON of a replay."""
    return {
        "id": replay.record.id,
        "query": replay.record.query,
        "same": replay.same,
        "differences": [difference._asdict() for difference in replay.differences],
        "notices": replay.notices,
    }
