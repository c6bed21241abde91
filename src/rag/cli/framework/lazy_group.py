"""The commands by name, of which only the one that is run is imported.

The help of the program and its completion tell a command by its line here; a test compares it
with what the command says of itself. Measured: `rag --help` takes 60 ms of CPU, 90 more when it
imports every command, 60 more when Typer has pydantic check options that nobody typed.
All that is used of Typer's private parts is in this module (`tests/support/private_parts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer._click import Command, Context
from typer._click.exceptions import ClickException as ClickException
from typer._click.exceptions import NoArgsIsHelpError as NoArgsIsHelpError
from typer._click.exceptions import NoSuchOption as NoSuchOption
from typer._click.formatting import HelpFormatter
from typer._coercion import build_runtime_param
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from rag.exceptions import UsageError

# Name -> where in `rag.cli.commands` it is, and the first paragraph of its help.
COMMANDS = {
    "init": ("setup.init", "Look for vaults and models, and write a configuration of them."),
    "index": ("index.index", "Index notes: all the first time, then only what changed."),
    "search": ("search.search", "Find notes."),
    "related": ("notes.related", "Find notes of its vault that are related to one."),
    "ask": ("ask.ask", "Answer a question from the notes, each sentence with its source."),
    "plan": ("plan.plan", "Show what a query means, without searching."),
    "transform": ("plan.transform", "Show what a search would look for, without searching."),
    "audit": ("plan.audit", "Show which queries were planned, and how, the newest first."),
    "chat": ("ask.chat", "Ask the notes one question after the other."),
    "get": ("notes.get", "Print a note, or several, each under a line that names it."),
    "status": ("status.status", "Show what the index holds, and what was wrong with notes."),
    "tags": ("status.tags", "List the tags and properties of the notes, with their counts."),
    "doctor": ("status.doctor", "Check settings, vaults, index, models and servers."),
    "eval": ("evaluate.evaluate", "Measure how well the search answers a set of questions."),
    "config": ("setup.config", "Show settings, their values and where the values came from."),
    "trust": ("setup.trust", "Trust what a project's `rag.toml` asks for, and show it."),
    "serve": ("processes.serve", "Serve the notes as a page and over HTTP."),
    "watch": ("processes.watch", "Keep the index up to date while notes are written."),
    "warm": ("processes.warm", "Govern the process in which commands need not start cold."),
    "mcp": ("processes.mcp", "Serve the notes to agents, by MCP on stdin and stdout."),
    "service": ("service.app", "Keep the index up to date by the scheduler of the system."),
    "vault": ("setup.vault", "List, add, rename and remove vaults."),
}
# What other programs call them.
_ELSEWHERE = {
    **dict.fromkeys(("find", "query", "grep"), "search"),
    **dict.fromkeys(("show", "cat", "read", "open"), "get"),
    **dict.fromkeys(("update", "sync", "embed", "reindex"), "index"),
    "list": "vault list",
    "similar": "related",
    "answer": "ask",
    "add": "vault",
    "settings": "config",
}
HELP_OPTIONS = ["-h", "--help"]
_NARROW = 50  # columns, below which what an option does stands under it


@cache
def load_command(name: str) -> Command:
    """Import a command; of a group of commands, all of them."""
    from rag.cli.framework.options import expanded

    module, _, attribute = COMMANDS[name][0].partition(".")
    command = getattr(import_module(f"rag.cli.commands.{module}"), attribute)
    if isinstance(command, typer.Typer):
        commands = typer.main.get_group(command)
        commands.name = name
        return prepared(commands)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(expanded(command))
    return prepared(typer.main.get_command(alone))


class _Formatter(HelpFormatter):
    def write_dl(
        self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        if self.width >= _NARROW:
            super().write_dl(rows, col_max, col_spacing)
            return
        for term, text in rows:
            self.write(f"{'':{self.current_indent}}{term}\n")
            with self.indentation():
                self.write_text(text)


class _Context(Context):
    formatter_class = _Formatter


class Group(TyperGroup):
    """Commands that are listed with the whole of their lines; an unknown one is named with ours.
    Where they are lazy, each is imported when it is run."""

    is_lazy = False

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Return the name and the command that some arguments begin with, and those after it.

        :raises UsageError: for a command that is not there, naming the nearest.
        """
        word = args[0]
        if word not in self.commands and word[:1] != "-" and not ctx.resilient_parsing:
            path = ctx.command_path
            near = get_close_matches(word, self.commands, 1)
            near = [_ELSEWHERE[word]] if path == "rag" and word in _ELSEWHERE else near
            meant = f"Did you mean `{path} {near[0]}`? " if near else ""
            hint = f"{meant}`{path} --help` lists all."
            raise UsageError(f"there is no command {word!r}", hint=hint)
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(word) if command and self.is_lazy else command, rest

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the first paragraph of each command's help."""
        with formatter.section("Commands"):
            heads = {
                name: (command.help or "").split("\n\n")[0]
                for name, command in self.commands.items()
            }
            formatter.write_dl([(name, " ".join(head.split())) for name, head in heads.items()])


def group(help: str) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None, help=help)


class LazyGroup(Group):
    """The program: its commands are listed by name."""

    is_lazy = True

    def __init__(self, **options: Any) -> None:
        listed = {
            name: TyperCommand(name, help=text, rich_markup_mode=None)
            for name, (_, text) in COMMANDS.items()
        }
        super().__init__(**{**options, "commands": listed})


class _Late:
    """Typer's check of a value, made by pydantic only for a value that is no text."""

    def coerce(self, value: Any, param: Any, ctx: Context) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if param.type_descriptor.annotation in (str, list[str]):
            return value if isinstance(value, str) else list(value)
        name = next((o for o in param.opts if o.startswith("--")), param.metavar or "")
        if value == "" or (isinstance(value, (list, tuple)) and "" in value):
            raise UsageError(f"{name.strip('[].')} is empty", hint="Name it, or leave it out.")
        check = build_runtime_param(param.type_descriptor)
        try:
            return check.coerce(value, param=param, ctx=ctx)
        except typer.BadParameter:
            kind, bounds = param.type_descriptor.annotation, check.parameter_info
            if kind not in (int, float):
                raise
            message, ask = _no_number(name, value, kind, bounds.min, bounds.max)
            hint = f"{ask}, or leave {name} out. `{ctx.command_path} --help` tells more."
            raise UsageError(message, hint=hint) from None


def _no_number(
    name: str, value: str, kind: type[int | float], least: float | None, most: float | None
) -> tuple[str, str]:
    """Return what is wrong with the value of an option that takes numbers, and what to type."""
    from rag.text.messages import shortened

    what = "a whole number" if kind is int else "a number"
    if least is not None and most is not None:
        what += f" from {least:,} to {most:,}"
    elif least is not None:
        what += f", {least:,} or more"
    message = f"{name} takes {what}, not {shortened(value)!r}"
    try:
        number = kind(value)
    except (ValueError, OverflowError):
        return message, "Type it in digits"
    nearest = number
    if least is not None and not number >= least:  # so that NaN is less
        nearest = least
    elif most is not None and number > most:
        nearest = most
    return message, f"Type `{name} {nearest}`"


def prepared(command: Command) -> Command:
    """Put off the checks of a command's parameters, and let its help fit the terminal."""
    command.context_class = _Context
    for parameter in command.get_params(Context(command, help_option_names=HELP_OPTIONS)):
        if isinstance(parameter, (TyperArgument, TyperOption)):
            parameter._runtime_param = _Late()  # type: ignore[assignment]
    for inner in command.commands.values() if type(command) is Group else ():
        prepared(inner)
    return command


def build_checks() -> None:
    """Import all commands, and what checks their parameters, before anything runs."""
    import_module("typer._adapters")
    for name in COMMANDS:
        load_command(name)
