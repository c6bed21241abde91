"""The commands by name, of which only the one that is run is imported.

The help of the program and its completion tell a command by its line here; a test compares it
with what the command says of itself. Measured: `rag --help` takes 60 ms of CPU, 90 more when it
imports every command, 60 more when Typer checks the values of options by pydantic as it begins.
All that is used of Typer's private parts is in this module (`rag.support.private_parts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import typer
from typer._click import Command, Context
from typer._click.exceptions import ClickException as ClickException
from typer._click.exceptions import NoArgsIsHelpError as NoArgsIsHelpError
from typer._click.exceptions import NoSuchOption as NoSuchOption
from typer._click.globals import get_current_context
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from rag.exceptions import UsageError

# Name -> where in `rag.cli.commands` it is, and the first paragraph of its help.
# fmt: off
COMMANDS = {
    "init": ("setup.init", "Look for vaults and for Ollama's models, and write a configuration of "
             "what was found."),
    "index": ("index.index", "Index notes: all the first time, then only what changed."),
    "search": ("search.search", "Find notes."),
    "related": ("notes.related", "Find notes of its vault that are related to one."),
    "ask": ("ask.ask", "Answer a question from the notes, each sentence with its source."),
    "plan": ("plan.plan", "Show what a query means, without searching: its filters, dates and "
             "vaults, and what is left to search for."),
    "transform": ("plan.transform", "Show what a search would look for, without searching: the "
                  "query as it is understood, and what transforms make of it."),
    "audit": ("plan.audit", "Show which queries were planned, and what was understood, the newest "
              "first."),
    "chat": ("ask.chat", "Ask the notes one question after the other; each may lean on what was "
             "said before."),
    "get": ("notes.get", "Print a note, or several, each under a line that names it."),
    "status": ("status.status", "Show what the index holds, how old it is, and what was wrong with "
               "notes."),
    "doctor": ("status.doctor", "Check settings, vaults, index, models and servers, and say what "
               "mends what is wrong."),
    "eval": ("evaluate.evaluate", "Measure how well the search answers a set of questions."),
    "config": ("setup.config", "Show every setting, its value and where the value came from."),
    "trust": ("trust.trust", "Show what a project's `rag.toml` asks for that takes your trust, and "
              "trust it."),
    "serve": ("processes.serve", "Serve the notes as a page and over HTTP."),
    "watch": ("processes.watch", "Keep the index up to date while notes are written, until "
              "Ctrl-C."),
    "warm": ("processes.warm", "Govern the warm process, in which commands need not start cold."),
    "mcp": ("processes.mcp", "Serve the notes to agents and editors, by the Model Context Protocol "
            "on stdin and stdout."),
    "service": ("service.app", "Keep the index up to date by the scheduler of the system."),
    "vault": ("setup.vault", "List, add, rename and remove vaults."),
}
# fmt: on
# What other programs call them.
_ELSEWHERE = {
    **dict.fromkeys(("find", "query", "grep", "list"), "search"),
    **dict.fromkeys(("show", "cat", "read", "open"), "get"),
    **dict.fromkeys(("update", "sync", "embed", "reindex"), "index"),
    "similar": "related",
    "answer": "ask",
    "add": "vault",
    "settings": "config",
}
HELP_OPTIONS = ["-h", "--help"]


@cache
def load_command(name: str) -> Command:
    """Import a command; of a group of commands, all of them.

    :raises KeyError: when there is none of that name.
    """
    module, _, attribute = COMMANDS[name][0].partition(".")
    command = getattr(import_module(f"rag.cli.commands.{module}"), attribute)
    if isinstance(command, typer.Typer):
        group = typer.main.get_group(command)
        group.name = name
        return checked_late(group)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(command)
    return checked_late(typer.main.get_command(alone))


class _Commands(Mapping[str, Command]):
    """All commands; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> Command:
        return load_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """The program: its commands are listed by name, and imported when they are run."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": _Commands()})

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Return what there is to tell of a command, which cannot be run."""
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1], rich_markup_mode=None)

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Return the name and the command that some arguments begin with, and those after it.

        :raises UsageError: for what only other programs call so, naming ours.
        """
        if ours := _ELSEWHERE.get(args[0]):
            hint = f"Did you mean `rag {ours}`? `rag --help` lists all."
            raise UsageError(f"there is no command {args[0]!r}", hint=hint)
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load_command(args[0]), rest


def option_value(name: str) -> Any:
    """Return what the command that runs was given for an option; `None` if it has none so named."""
    context = get_current_context(silent=True)
    return context.params.get(name) if context else None


# -- checks of values ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Late(RuntimeParam):
    """Typer's checks of a parameter's value, made by pydantic with the first value that needs
    them; a text is one already."""

    descriptor: TypeDescriptor

    @cached_property
    def checks(self) -> RuntimeParam:
        """Those of Typer."""
        return build_runtime_param(self.descriptor)

    def _coerce_value(self, value: Any, param: Any, ctx: Context) -> Any:
        if self.annotation is str and isinstance(value, str):
            return value
        if self.annotation == list[str] and all(isinstance(item, str) for item in value):
            return list(value)
        return self.checks._coerce_value(value, param=param, ctx=ctx)


def checked_late(command: Command) -> Command:
    """Put off the checks of a command's parameters; return the command."""
    for parameter in _parameters(command):
        of = parameter.type_descriptor
        parameter._runtime_param = _Late(of.parameter_info, of.annotation, of)
    return command


def build_checks() -> None:
    """Make all commands and the checks of their parameters, before anything runs."""
    for name in COMMANDS:
        for parameter in _parameters(load_command(name)):
            getattr(parameter.get_runtime_param(), "checks", None)


def _parameters(command: Command) -> Iterator[TyperArgument | TyperOption]:
    """Yield the parameters of a command, and of its commands if it has some."""
    for parameter in command.get_params(Context(command, help_option_names=HELP_OPTIONS)):
        if isinstance(parameter, (TyperArgument, TyperOption)):
            yield parameter
    for inner in command.commands.values() if type(command) is TyperGroup else ():
        yield from _parameters(inner)
