"""Options that several commands share."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Annotated

import typer

from rag.cli.framework.completion import (
    complete_modes,
    complete_orders,
    complete_outputs,
    complete_tags,
    complete_transforms,
    complete_vaults,
)


def _nfc(names: list[str] | None) -> list[str]:
    return [unicodedata.normalize("NFC", name) for name in names or []]


ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Read this configuration file.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Paths = Annotated[
    bool,
    typer.Option("--paths", help="Print only the files, one a line; --json goes before it."),
]
Print0 = Annotated[
    bool, typer.Option("--print0", help="As --paths, with a NUL after each file, for xargs -0.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what must be said.")]
Vaults = Annotated[
    list[str] | None,
    typer.Option(
        "--vault",
        "-v",
        metavar="NAME",
        help="Only this vault; may be repeated (any of them).",
        autocompletion=complete_vaults,
        callback=_nfc,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        "-t",
        metavar="TAG",
        help="Only notes with this tag; may be repeated (all of them).",
        autocompletion=complete_tags,
    ),
]
DateFrom = Annotated[
    str | None,
    typer.Option("--from", metavar="DATE", help="Created on this day or later: 2025-03-14, 先週."),
]
DateTo = Annotated[
    str | None,
    typer.Option("--to", metavar="DATE", help="Created on this day or before: 2025-03, today."),
]
ModifiedFrom = Annotated[
    str | None,
    typer.Option("--modified-from", metavar="DATE", help="Modified on this day or later."),
]
ModifiedTo = Annotated[
    str | None,
    typer.Option("--modified-to", metavar="DATE", help="Modified on this day or before."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="NAME=VALUE",
        help="Only notes whose front matter says so: status=done, 'price>200', 'due<2026-12-01';"
        " may be repeated (all of them).",
    ),
]
Order = Annotated[
    str,
    typer.Option(
        "--sort",
        metavar="score|created|modified|title",
        help="The order of the results; dates newest first.",
        autocompletion=complete_orders,
    ),
]
PathGlobs = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="GLOB", help="Only notes whose path matches; may be repeated."),
]
TopK = Annotated[
    int | None,
    typer.Option("--top-k", "-k", min=1, max=10_000, metavar="N", help="How many results."),
]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="auto, lexical, dense or hybrid.",
        autocompletion=complete_modes,
    ),
]
Transforms = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        metavar="NAME",
        help="Also search for what this makes of the query: multi-query, step-back, hyde,"
        " decompose, or a plug-in's; may be repeated; none: none of the configured ones.",
        autocompletion=complete_transforms,
    ),
]
Refresh = Annotated[
    bool | None,
    typer.Option(
        "--refresh/--no-refresh",
        help="First index what changed, up to 100 notes; or search the index as it is. Without"
        " either: at a terminal, as search.refresh says.",
    ),
]
Plan = Annotated[
    bool | None,
    typer.Option(
        "--plan/--no-plan",
        help="Take words for filters, as in `tagged k8s`, `last month` or `先週の`, with the help"
        " of a chat model; or search the words as typed. Without either: planner.plan.",
    ),
]
ModelName = Annotated[
    str,
    typer.Option("--model", metavar="NAME", help="Let this chat model answer, and no other."),
]
NoModel = Annotated[
    bool, typer.Option("--no-model", help="Answer by quotation, whatever models there are.")
]
Think = Annotated[
    bool, typer.Option("--think", help="Let the model reason first, and show it on stderr.")
]
ExplainWindow = Annotated[
    bool,
    typer.Option("--explain", help="Show what the model was shown, and what it was not."),
]
NoSources = Annotated[bool, typer.Option("--no-sources", help="Leave out the list of sources.")]
OutputFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="text|json",
        help="`json` is the same as --json.",
        autocompletion=complete_outputs,
    ),
]


def wants_json(json: bool, output_format: str) -> bool:
    """Return whether JSON was asked for, in either way.

    :raises UsageError: for a format that does not exist.
    """
    from rag.exceptions import UsageError

    if output_format not in ("text", "json"):
        raise UsageError(f"no format {output_format!r}", hint="Use --format text or --format json.")
    return json or output_format == "json"
