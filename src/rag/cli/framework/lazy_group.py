"""The commands by name, of which only the one that is run is imported.

The help of the program and its completion tell a command by its line here; a test compares it
with what the command says of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer import _click
from typer.core import TyperCommand, TyperGroup

from rag.cli.framework.typer_parameters import checked_late

# Name -> where in `rag.cli.commands` it is, and the first paragraph of its help.
COMMANDS = {
    "init": (
        "init.init",
        "Look for vaults and for Ollama's models, and write a configuration of what was found.",
    ),
    "index": ("index.index", "Index notes: all the first time, then only what changed."),
    "search": ("search.search", "Find notes."),
    "related": (
        "related.related",
        "Find notes of its vault that are related to one.",
    ),
    "ask": ("ask.ask", "Answer a question from the notes, each sentence with its source."),
    "plan": (
        "plan.plan",
        "Show what a query means, without searching: its filters, dates and vaults, and "
        "what is left to search for.",
    ),
    "transform": (
        "transform.transform",
        "Show what a search would look for, without searching: the query as it is "
        "understood, and what transforms make of it.",
    ),
    "audit": (
        "audit.audit",
        "Show which queries were planned, and what was understood, the newest first.",
    ),
    "chat": (
        "chat.chat",
        "Ask the notes one question after the other; each may lean on what was said before.",
    ),
    "get": ("get.get", "Print a note, or several, each under a line that names it."),
    "status": (
        "status.status",
        "Show what the index holds, how old it is, and what was wrong with notes.",
    ),
    "doctor": (
        "doctor.doctor",
        "Check settings, vaults, index, models and servers, and say what mends what is wrong.",
    ),
    "eval": ("evaluate.evaluate", "Measure how well the search answers a set of questions."),
    "config": ("config.config", "Show every setting, its value and where the value came from."),
    "trust": (
        "trust.trust",
        "Show what a project's `rag.toml` asks for that takes your trust, and trust it.",
    ),
    "serve": ("serve.serve", "Govern the warm process, in which commands need not start cold."),
    "mcp": (
        "mcp.mcp",
        "Serve the notes to agents and editors, by the Model Context Protocol on stdin and stdout.",
    ),
    "service": ("service.app", "Keep the index up to date by the scheduler of the system."),
    "vault": ("vault.app", "List, add, rename and remove vaults."),
}


@cache
def load_command(name: str) -> _click.Command:
    """Import a command; of a group of commands, all of them.

    :raises KeyError: when there is none of that name.
    """
    module, _, attribute = COMMANDS[name][0].partition(".")
    found = getattr(import_module(f"rag.cli.commands.{module}"), attribute)
    if isinstance(found, typer.Typer):
        group = typer.main.get_group(found)
        group.name = name
        return checked_late(group)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(found)
    return checked_late(typer.main.get_command(alone))


class _Commands(Mapping[str, _click.Command]):
    """All commands; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> _click.Command:
        return load_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """The program: its commands are listed by name, and imported when they are run."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": _Commands()})

    def list_commands(self, ctx: _click.Context) -> list[str]:
        """Return the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: _click.Context, cmd_name: str) -> _click.Command | None:
        """Return what there is to tell of a command, which cannot be run."""
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1], rich_markup_mode=None)

    def resolve_command(
        self, ctx: _click.Context, args: list[str]
    ) -> tuple[str | None, _click.Command | None, list[str]]:
        """Return the name and the command that some arguments begin with, and those after it."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_command(args[0]), rest
