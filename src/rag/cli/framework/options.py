"""Options of commands: what completes them, and the settings, requests and filters made of them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from rag.cli.render.console import read_stdin, say
from rag.cli.render.formats import NOTE_FORMATS
from rag.config import MODES, RAGConfig, load_config, unknown_in_environment
from rag.config.servers import KEYS
from rag.exceptions import UsageError
from rag.support.file_kinds import KINDS
from rag.text.messages import plural, visible

if TYPE_CHECKING:
    from rag.app.index_state import IndexState
    from rag.search.results import QueryFilters

R = TypeVar("R")
Complete = Callable[[str], list[str]]
_MOST = 200  # names that are offered at once
_MOST_LISTED = 6  # settings in one line
_FOR_BASH = re.compile(r"([^\w./@%+,=-])", re.ASCII)


def completing(names: Callable[[], Iterable[str]]) -> Complete:
    """Return a completion with some names; it says nothing into the prompt, whatever fails.

    Names that would steer the terminal are left out: a shell would print them as they are.
    """

    def complete(incomplete: str) -> list[str]:
        begun: dict[str, None] = {}
        with suppress(Exception):  # such as no index yet
            begun.update((name, None) for name in names() if name.startswith(incomplete))
        return [name for name in begun if visible(name) == name][:_MOST]

    return complete


def _of_index(read: Callable[[Any], Iterable[str]]) -> list[str]:
    from rag.index.lookup import open_manifest

    with open_manifest(load_config()) as manifest:
        return [*read(manifest)]


def _vaults() -> Iterable[str]:
    from rag.index.vault_registry import configured_vaults

    yield from configured_vaults(load_config())
    yield from _of_index(lambda manifest: manifest.vaults())


def complete_notes(incomplete: str) -> list[str]:
    """Return titles of notes, and paths where a slash was typed.

    bash takes what is offered as it is typed, so that a blank in it is escaped there.
    """
    is_path = "/" in incomplete
    names = completing(
        lambda: _of_index(
            lambda manifest: (f"{n[0]}/{n[1]}" if is_path else n[2] for n in manifest.names())
        )
    )(incomplete)
    is_bash = os.environ.get("_RAG_COMPLETE", "").endswith("bash")
    return [_FOR_BASH.sub(r"\\\1", name) if is_bash and name.isascii() else name for name in names]


complete_vaults = completing(_vaults)


def flag(names: str, help: str, default: bool | None = False) -> Any:
    """Return an option without a value."""
    return typer.Option(default, *names.split(), help=help)


def value(
    names: str,
    metavar: str,
    help: str,
    default: Any = None,
    complete: Complete | None = None,
    **more: Any,
) -> Any:
    """Return an option with a value; its metavar is `NAME`, or the values there are: `in|out`."""
    if "|" in metavar:
        complete = completing(lambda: metavar.split("|"))
    more |= {"metavar": metavar, "help": help, "autocompletion": complete}
    return typer.Option(default, *names.split(), **more)


def argument(metavar: str, help: str, default: Any = ..., complete: Complete | None = None) -> Any:
    """Return an argument, which must be given where it has no default."""
    return typer.Argument(default, metavar=metavar, help=help, autocompletion=complete)


def _nfc(names: list[str] | None) -> list[str]:
    return [unicodedata.normalize("NFC", name) for name in names or []]


# fmt: off
Texts = list[str] | None
CONFIG = value("--config", "FILE", "Read this configuration file.")
JSON = flag("--json", "Print one JSON object.")
PATHS = flag("--paths", "Print only the files, one a line; --json goes before it.")
FORMAT = value(
    "--format", "|".join(NOTE_FORMATS),
    "`paths0` is the files with a NUL after each, for xargs -0.", "text",
)
QUIET = flag("--quiet -q", "Say only what must be said.")
VAULTS = value(
    "--vault -v", "NAME", "Only this vault; may be repeated (any of them).",
    complete=complete_vaults, callback=_nfc,
)
TAGS = value(
    "--tag -t", "TAG", "Only notes with this tag; may be repeated (all of them).",
    complete=completing(lambda: _of_index(lambda manifest: manifest.catalogue.tags())),
)
DATE_FROM = value("--from", "DATE", "Created on this day or later: 2025-03-14, 先週.")
DATE_TO = value("--to", "DATE", "Created on this day or before: 2025-03, today.")
PATH_GLOBS = value("--path", "GLOB", "Only notes whose path matches; may be repeated.")
TYPE = value("--type", "|".join(KINDS), "Only files of this kind.")
TOP_K = value("--top-k -k -n", "N", "How many results.", min=1, max=10_000)
TRANSFORMS = value(
    "--transform", "NAME",
    "Also search for what this makes of the query: multi-query, step-back, hyde,"
    " decompose, or a plug-in's; may be repeated; none: none of the configured ones.",
)
PLAN = flag(
    "--plan/--no-plan",
    "Take words for filters, as in `tagged k8s`, `last month` or `先週の`, with the help"
    " of a chat model; or search the words as typed. Without either: planner.plan.", None,
)
MODEL = value("--model", "NAME", "Let this chat model answer, and no other.", "")
NO_MODEL = flag("--no-model", "Answer by quotation, whatever models there are.")
THINK = flag("--think", "Let the model reason first, and show it on stderr.")
EXPLAIN_WINDOW = flag("--explain", "Show what the model was shown, and what it was not.")
NO_SOURCES = flag("--no-sources", "Leave out the list of sources.")
# fmt: on


def load_settings(config_file: Path | None) -> RAGConfig:
    """Read the settings in force for a command, and say on stderr which do not count."""
    config = load_config(config_file)
    of_keys = {key.variable for key in KEYS}
    by_reason: dict[tuple[str, str], list[str]] = {}
    for name, one in config.left_out.items():
        if name not in of_keys or os.environ.get(one.value):  # else there is no key
            by_reason.setdefault((one.reason, one.hint), []).append(name)
    for (reason, hint), names in by_reason.items():
        more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        say(f"{reason}: left out {', '.join(names[:_MOST_LISTED])}{more}. {hint}")
    for name, nearest in [*unknown_in_environment(config, os.environ).items()][:_MOST_LISTED]:
        ask = f"; did you mean {nearest}?" if nearest else ""
        say(f"{name} in the environment is no setting{ask}")
    return config


def check_model(model: str | None, no_model: bool | None) -> None:
    """Refuse a model and none at once."""
    if model and no_model:
        raise UsageError("--model and --no-model exclude each other", hint="Leave one out.")


def make_request(kind: type[R], given: Mapping[str, Any], **more: Any) -> R:
    """Return a request of the application, of options as `locals()` has them: those that are named
    as a field are that field, and those of filters make up its filters."""
    check_model(given.get("model"), given.get("no_model"))
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if "filters" in names:
        more["filters"] = make_filters(given)
    own = {name: given[name] for name in names & given.keys() if given[name] not in (None, [], ())}
    return kind(**{**own, **more})


def make_filters(given: Mapping[str, Any]) -> QueryFilters | None:
    """Make filters of the options that a command has; `None` where none is given."""
    renamed = {"date_from": "from_", "date_to": "to", "path_globs": "paths", "kind": "type"}
    others = ("vaults", "tags", "modified_from", "modified_to", "where")
    names = {**renamed, **dict(zip(others, others, strict=True))}
    texts: dict[str, Any] = {field: given.get(name) for name, field in names.items()}
    texts = {field: text for field, text in texts.items() if text not in (None, [])}
    if "" in texts.values():
        raise UsageError("a date or kind is empty", hint="Leave out the option, or give a value.")
    if not texts:
        return None
    from rag.app.requests import read_filters

    return read_filters(**texts, as_options=True)


def read_query(words: list[str]) -> str:
    """Return the query of an argument: its words, or what stands in stdin where it is `-`."""
    return read_stdin() if words == ["-"] else " ".join(words)


def check_mode(mode: str) -> str:
    """Return a mode, or refuse one that does not exist."""
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}", hint=f"Use --mode {', '.join(MODES)}.")
    return mode


def warn_if_stale(state: IndexState) -> None:
    """Say when what is shown may be older than the notes."""
    if state.changed:
        say(f"{plural(state.changed, 'note')} changed since the last index (`rag index`)")


def print_corrections(corrections: dict[str, str]) -> None:
    """Say which words were searched for instead of those that no note holds."""
    for word, meant in corrections.items():
        say(f'searched for "{meant}": no note holds "{word}"')
