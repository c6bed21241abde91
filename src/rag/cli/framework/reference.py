"""Print the command reference, made from the program: `python -m rag.cli.framework.reference`."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any

import typer

from rag.cli.app import app

_HEAD = """# Commands

Made by `make docs` from the program's own help; a test fails when the two differ.
"""
_EXIT_CODES = (
    "Exit codes: 0 done, at least one result · 1 nothing found, worse than the baseline, or a check"
    " that failed · 2 usage or configuration error · 3 no index, or one that must be rebuilt · 4 a"
    " service did not answer · 5 finished, but some notes or their vectors failed · 75 another"
    " process is indexing."
)


def reference() -> str:
    """Return the reference of all commands as Markdown."""
    sections = [_section(name, command) for name, command in all_commands()]
    return "\n".join([f"{_HEAD}\n{fill(_EXIT_CODES, 96)}\n", *sections])


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield the commands by their names, those of a group as `vault add`."""
    root: Any = typer.main.get_command(app)
    for name, command in sorted(root.commands.items()):
        if hasattr(command, "commands"):
            for inner, nested in sorted(command.commands.items()):
                yield f"{name} {inner}", nested
        else:
            yield name, command


def _section(name: str, command: Any) -> str:
    text, _, examples = (command.help or "").partition("\b")
    lines = [f"## rag {name}", "", " ".join(text.split()), ""]
    if examples:
        shown = (line.strip() for line in examples.strip().split("\n") if line)
        lines += ["```sh", *shown, "```", ""]
    if rows := [_row(parameter) for parameter in command.params if parameter.name != "help"]:
        lines += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(parameter: Any) -> str:
    """Return the row of a parameter: its names (of an argument its placeholder), and its help."""
    if parameter.param_type_name == "argument":
        return f"| `{parameter.metavar or parameter.name.upper()}` | {parameter.help or ''} |"
    label = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.metavar and not parameter.is_flag:
        label += f" {parameter.metavar}".replace("|", "\\|")
    return f"| {label} | {parameter.help or ''} |"


if __name__ == "__main__":
    print(reference(), end="")
