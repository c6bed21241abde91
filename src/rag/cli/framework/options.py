"""Options that several commands share, and what a shell completes their values with."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from rag.config import MODES, load_config
from rag.text.sanitize import visible

_MOST = 200  # names that are offered at once
_FOR_BASH = re.compile(r"([^\w./@%+,=-])", re.ASCII)
Complete = Callable[[str], list[str]]


def completing(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a completion with some names: it says nothing into the prompt, whatever fails."""

    def complete(incomplete: str) -> list[str]:
        try:
            return offered(names(), incomplete)
        except Exception:  # such as no index yet
            return []

    return complete


def offered(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin so; a shell would print one that steers a terminal as it is."""
    names = (name for name in dict.fromkeys(names) if name.startswith(incomplete))
    return [name for name in names if visible(name) == name][:_MOST]


def _of_index(read: Callable[[Any], Iterable[str]]) -> list[str]:
    from rag.index.lookup import open_manifest

    with open_manifest(load_config()) as manifest:
        return [*read(manifest)]


def _vaults() -> Iterable[str]:
    from rag.index.vault_registry import configured_vaults

    yield from configured_vaults(load_config())
    try:
        yield from _of_index(lambda manifest: manifest.vaults())
    except Exception:  # no index yet
        return


def _transforms() -> Iterable[str]:
    from rag.query.registry import transformer_names

    return [*transformer_names(), "none"]


def _orders() -> Iterable[str]:
    from rag.search.ordering import ORDERS

    return ORDERS


def complete_notes(incomplete: str) -> list[str]:
    """Return titles of notes, and paths where a slash was typed.

    bash takes what is offered as it is typed, so that a blank in it is escaped there; once the
    blank itself is typed, Typer compares what it stands for, and nothing is offered.
    """
    names = completing(
        lambda: _of_index(
            lambda manifest: (
                f"{vault}/{path}" if "/" in incomplete else title
                for vault, path, title, _, _ in manifest.names()
            )
        )
    )(incomplete)
    is_bash = os.environ.get("_RAG_COMPLETE", "").endswith("bash")
    return [_FOR_BASH.sub(r"\\\1", name) if is_bash and name.isascii() else name for name in names]


complete_vaults = completing(_vaults)


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
        autocompletion=completing(lambda: _of_index(lambda manifest: manifest.catalogue.tags())),
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
        autocompletion=completing(_orders),
    ),
]
PathGlobs = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="GLOB", help="Only notes whose path matches; may be repeated."),
]
TopK = Annotated[
    int | None,
    typer.Option("--top-k", "-k", "-n", min=1, max=10_000, metavar="N", help="How many results."),
]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="auto, lexical, dense or hybrid.",
        autocompletion=completing(lambda: MODES),
    ),
]
Transforms = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        metavar="NAME",
        help="Also search for what this makes of the query: multi-query, step-back, hyde,"
        " decompose, or a plug-in's; may be repeated; none: none of the configured ones.",
        autocompletion=completing(_transforms),
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
