"""Options that several commands share: what completes them, and the filters made of them."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.render.console import plural, read_stdin, say, visible
from rag.config import MODES, load_config
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.config import RAGConfig
    from rag.search.results import QueryFilters

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


def flag(names: str, help: str) -> Any:
    """Return an option without a value."""
    return typer.Option(*names.split(), help=help)


def value(
    names: str, metavar: str, help: str, complete: Complete | None = None, **more: Any
) -> Any:
    """Return an option with a value."""
    return typer.Option(*names.split(), metavar=metavar, help=help, autocompletion=complete, **more)


# fmt: off
Texts = list[str] | None
ConfigFile = Annotated[Path | None, value("--config", "FILE", "Read this configuration file.")]
Json = Annotated[bool, flag("--json", "Print one JSON object.")]
Paths = Annotated[
    bool, flag("--paths", "Print only the files, one a line; --json goes before it.")
]
Quiet = Annotated[bool, flag("--quiet -q", "Say only what must be said.")]
Vaults = Annotated[Texts, value(
    "--vault -v", "NAME", "Only this vault; may be repeated (any of them).", complete_vaults,
    callback=_nfc,
)]
Tags = Annotated[Texts, value(
    "--tag -t", "TAG", "Only notes with this tag; may be repeated (all of them).",
    completing(lambda: _of_index(lambda manifest: manifest.catalogue.tags())),
)]
DateFrom = Annotated[
    str | None, value("--from", "DATE", "Created on this day or later: 2025-03-14, 先週.")
]
DateTo = Annotated[
    str | None, value("--to", "DATE", "Created on this day or before: 2025-03, today.")
]
ModifiedFrom = Annotated[
    str | None, value("--modified-from", "DATE", "Modified on this day or later.")
]
ModifiedTo = Annotated[
    str | None, value("--modified-to", "DATE", "Modified on this day or before.")
]
Where = Annotated[Texts, value(
    "--where", "NAME=VALUE",
    "Only notes whose front matter says so: status=done, 'price>200', 'due<2026-12-01';"
    " may be repeated (all of them).",
)]
Order = Annotated[str, value(
    "--sort", "score|created|modified|title", "The order of the results; dates newest first.",
    completing(_orders),
)]
PathGlobs = Annotated[
    Texts, value("--path", "GLOB", "Only notes whose path matches; may be repeated.")
]
TopK = Annotated[
    int | None, value("--top-k -k -n", "N", "How many results.", min=1, max=10_000)
]
Mode = Annotated[
    str | None,
    value("--mode", "MODE", "auto, lexical, dense or hybrid.", completing(lambda: MODES)),
]
Transforms = Annotated[Texts, value(
    "--transform", "NAME",
    "Also search for what this makes of the query: multi-query, step-back, hyde,"
    " decompose, or a plug-in's; may be repeated; none: none of the configured ones.",
    completing(_transforms),
)]
Refresh = Annotated[bool | None, flag(
    "--refresh/--no-refresh",
    "First index what changed, up to 100 notes; or search the index as it is. Without"
    " either: at a terminal, as search.refresh says.",
)]
Plan = Annotated[bool | None, flag(
    "--plan/--no-plan",
    "Take words for filters, as in `tagged k8s`, `last month` or `先週の`, with the help"
    " of a chat model; or search the words as typed. Without either: planner.plan.",
)]
ModelName = Annotated[str, value("--model", "NAME", "Let this chat model answer, and no other.")]
NoModel = Annotated[bool, flag("--no-model", "Answer by quotation, whatever models there are.")]
Think = Annotated[bool, flag("--think", "Let the model reason first, and show it on stderr.")]
ExplainWindow = Annotated[
    bool, flag("--explain", "Show what the model was shown, and what it was not.")
]
NoSources = Annotated[bool, flag("--no-sources", "Leave out the list of sources.")]
# fmt: on

# -- what is made of them, and what commands that search say of the index ------------------

_CONDITION = re.compile(r"([^=<>≤≥]*)(?:=|(?=[<>≤≥]))(.*)", re.DOTALL)  # name=value, or name>value


def make_filters(
    vaults: list[str] | None = None,
    tags: list[str] | None = None,
    date_from: str | None = None,
    date_to: str | None = None,
    paths: list[str] | None = None,
    modified_from: str | None = None,
    modified_to: str | None = None,
    where: list[str] | None = None,
) -> QueryFilters | None:
    """Make filters of options; `None` where none is given.

    :raises UsageError: for an empty one, words that are no date, a span that ends before it begins,
        or a condition that is none.
    """
    from rag.app.filter_text import read_filters

    days = (date_from, date_to, modified_from, modified_to)
    if any(day == "" for day in days):
        raise UsageError("a day is empty", hint="Leave out the option, or give it a value.")
    return read_filters(
        tuple(vaults or ()),
        tuple(tags or ()),
        date_from or "",
        date_to or "",
        modified_from or "",
        modified_to or "",
        tuple(paths or ()),
        dict(_conditions(where or [])),
        as_options=True,
    )


def _conditions(where: list[str]) -> Iterable[tuple[str, str]]:
    """Return name and condition of each property; comparisons of one are joined."""
    from rag.query.property_values import is_comparison

    conditions: dict[str, str] = {}
    for text in where:
        parts = _CONDITION.fullmatch(unicodedata.normalize("NFC", text))
        name, value = (parts[1].strip().lower(), parts[2].strip()) if parts else ("", "")
        if not name or not value:
            raise UsageError(
                f"{text!r} is no condition",
                hint="Name a property and its value: status=done, or compare it: 'price>200'.",
            )
        earlier = conditions.get(name)
        if earlier and not (is_comparison(earlier) and is_comparison(value)):
            raise UsageError(f"--where names {name!r} twice", hint="Leave one out.")
        conditions[name] = f"{earlier} {value}" if earlier else value
    return conditions.items()


def read_query(words: list[str]) -> str:
    """Return the query of an argument: its words, or what stands in stdin where it is `-`."""
    query = " ".join(words)
    return read_stdin() if query == "-" else query


def check_model(model: str, no_model: bool) -> None:
    """Refuse a model and none at once.

    :raises UsageError: for both.
    """
    if model and no_model:
        raise UsageError("--model and --no-model exclude each other", hint="Leave one out.")


def check_mode(mode: str) -> str:
    """Return a mode, or refuse one that does not exist.

    :raises UsageError: for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", hint=f"Use --mode {', '.join(MODES)}.")
    return mode


def wants_refresh(config: RAGConfig, wanted: bool | None) -> bool:
    """Return whether what changed is indexed first: for somebody at a terminal, if the settings
    let it, or for whoever asks for it.

    :param wanted: what was said on the command line, if anything.
    """
    if wanted is not None:
        return wanted
    return config.search.refresh == "auto" and sys.stdout.isatty()


def warn_if_stale(state: IndexState) -> None:
    """Say when what is shown may be older than the notes."""
    if state.changed:
        say(f"{plural(state.changed, 'note')} changed since the last index (`rag index`)")


def print_corrections(corrections: dict[str, str]) -> None:
    """Say which words were searched for instead of those that no note holds."""
    for word, meant in corrections.items():
        say(f'searched for "{meant}": no note holds "{word}"')
