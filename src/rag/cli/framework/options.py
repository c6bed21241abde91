"""Options of commands: what completes them, and the settings, requests and filters made of them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import SimpleNamespace
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
Text, Texts = str | None, list[str] | None
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


# The options of several commands: the name of each, its type, and how it is given.
# fmt: off
_SHARED: dict[str, tuple[Any, Any]] = {
    "vaults": (Texts, value(
        "--vault -v", "NAME", "Only this vault; may be repeated (any of them).",
        complete=complete_vaults,
        callback=lambda names: [unicodedata.normalize("NFC", name) for name in names or []],
    )),
    "tags": (Texts, value(
        "--tag -t", "TAG", "Only notes with this tag; may be repeated (all of them).",
        complete=completing(lambda: _of_index(lambda manifest: manifest.catalogue.tags())),
    )),
    "from_": (Text, value("--from", "DATE", "Created on this day or later: 2025-03-14, 先週.")),
    "to": (Text, value("--to", "DATE", "Created on this day or before: 2025-03, today.")),
    "path_globs": (Texts, value(
        "--path", "GLOB", "Only notes whose path matches; may be repeated."
    )),
    "type": (Text, value("--type", "|".join(KINDS), "Only files of this kind.")),
    "top_k": (int | None, value("--top-k -k -n", "N", "How many results.", min=1, max=10_000)),
    "transforms": (Texts, value(
        "--transform", "NAME",
        "Also search for what this makes of the query: multi-query, step-back, hyde,"
        " decompose, or a plug-in's; may be repeated; none: none of the configured ones.",
    )),
    "plan": (bool | None, flag(
        "--plan/--no-plan",
        "Take words for filters, as in `tagged k8s`, `last month` or `先週の`, with the help"
        " of a chat model; or search the words as typed. Without either: planner.plan.", None,
    )),
    "model": (str, value("--model", "NAME", "Let this chat model answer, and no other.", "")),
    "no_model": (bool, flag("--no-model", "Answer by quotation, whatever models there are.")),
    "think": (bool, flag("--think", "Let the model reason first, and show it on stderr.")),
    "explain": (bool, flag("--explain", "Show what the model was shown, and what it was not.")),
    "no_sources": (bool, flag("--no-sources", "Leave out the list of sources.")),
    "json": (bool, flag("--json", "Print one JSON object.")),
    "output_format": (str, value(
        "--format", "|".join(NOTE_FORMATS),
        "`paths0` is the files with a NUL after each, for xargs -0.", "text",
    )),
    "paths": (bool, flag("--paths", "Print only the files, one a line; --json goes before it.")),
    "quiet": (bool, flag("--quiet -q", "Say only what must be said.")),
    "config_file": (Path | None, value("--config", "FILE", "Read this configuration file.")),
}
# fmt: on
FILTERS = "vaults tags from_ to path_globs"
ANSWERS = "transforms plan model no_model think explain no_sources"
OUTPUT = "json output_format paths quiet config_file"


class Given(SimpleNamespace):
    """The options of a command, its own and the shared ones, by their names."""

    @property
    def config_options(self) -> list[str]:
        """What names the same file of settings to another process."""
        file = self.config_file
        return ["--config", str(file.expanduser().absolute())] if file else []

    @cached_property
    def config(self) -> RAGConfig:
        """The settings in force; on stderr is said which do not count."""
        config = load_config(vars(self).get("config_file"))
        of_keys = {key.variable for key in KEYS}
        by_reason: dict[tuple[str, str], list[str]] = {}
        for name, setting in config.left_out.items():
            if name not in of_keys or os.environ.get(setting.value):  # else there is no key
                by_reason.setdefault((setting.reason, setting.hint), []).append(name)
        for (reason, hint), names in by_reason.items():
            more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
            say(f"{reason}: left out {', '.join(names[:_MOST_LISTED])}{more}. {hint}")
        for name, nearest in [*unknown_in_environment(config, os.environ).items()][:_MOST_LISTED]:
            ask = f"; did you mean {nearest}?" if nearest else ""
            say(f"{name} in the environment is no setting{ask}")
        return config


def shared(names: str) -> Any:
    """Declare the parameter `given` of a command: the shared options that stand in its place."""
    return names


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as Typer takes it: with the shared options that it declares, those of
    `OUTPUT` last. Called, it is given all of its options as `given`, and its own by themselves."""
    own, last = signature(command, eval_str=True).parameters, OUTPUT.split()
    options: dict[str, Parameter] = {}
    for name, parameter in own.items():
        for taken in parameter.default.split() if name == "given" else ():
            kind, option = _SHARED[taken]
            options[taken] = parameter.replace(name=taken, default=option, annotation=kind)
        if name != "given":
            options[name] = parameter
    order = sorted(options, key=lambda name: last.index(name) if name in last else -1)

    def run(**values: Any) -> None:
        command(given=Given(**values), **{name: values[name] for name in own.keys() & values})

    run.__doc__ = command.__doc__
    run.__signature__ = Signature([options[name] for name in order])  # type: ignore[attr-defined]
    return run


def command(group: typer.Typer, name: str) -> Callable[[Callable[..., None]], object]:
    """Add a command to a group of them."""
    return lambda function: group.command(name)(expanded(function))


def exclude(option: str, is_given: object, others: Mapping[str, object]) -> None:
    """Refuse an option beside any that it does not go with."""
    for other in filter(others.get, others) if is_given else ():
        raise UsageError(f"{option} and {other} exclude each other", hint="Leave one out.")


def make_request(kind: type[R], given: Given, **more: Any) -> R:
    """Return a request of the application: options that are named as a field of it are that field,
    and those of filters make up its filters."""
    options = vars(given)
    exclude("--model", options.get("model"), {"--no-model": options.get("no_model")})
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if "filters" in names:
        more["filters"] = make_filters(given)
    own = {name: options[name] for name in names & options.keys()}
    return kind(**{n: value for n, value in own.items() if value not in (None, [], ())} | more)


def make_filters(given: Given) -> QueryFilters | None:
    """Make filters of the options that a command has; `None` where none is given."""
    names = ("vaults", "tags", "from_", "to", "modified_from", "modified_to", "where", "type")
    texts: dict[str, Any] = {name: vars(given).get(name) for name in names}
    texts["paths"] = vars(given).get("path_globs")
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
