"""Print the command reference, made from the program: `python -m rag.cli.framework.reference`."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any

import typer

from rag.cli.app import app

EXIT_CODES = {
    0: "done, at least one result",
    1: "nothing found, worse than the baseline, or a check that failed",
    2: "usage or configuration error",
    3: "no index, or one that must be rebuilt",
    4: "a service did not answer",
    5: "finished, but some notes or their vectors failed",
    75: "another process is indexing",
}
_HEAD = """# Commands

Made by `make docs` from the program's own help; a test fails when the two differ.
"""


def reference() -> str:
    """Return the reference of all commands as Markdown."""
    codes = " · ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
    parts = [f"{_HEAD}\n{fill(f'Exit codes: {codes}.', 96)}\n"]
    return "\n".join(parts + [_section(name, command) for name, command in all_commands()])


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield the commands by their names, those of a group as `vault add`."""
    root: Any = typer.main.get_command(app)
    for name, command in sorted(root.commands.items()):
        if hasattr(command, "commands"):
            for inner, nested in sorted(command.commands.items()):
                yield f"{name} {inner}", nested
        else:
            yield name, command


def help_and_examples(command: Any) -> tuple[str, list[str]]:
    """Return what a command's help says in one line, and the lines of its examples."""
    text, _, examples = (command.help or "").partition("\b")
    return " ".join(text.split()), [line.strip() for line in examples.strip().split("\n") if line]


def parameters(command: Any) -> list[tuple[list[str], str, str]]:
    """Return the parameters of a command but `--help`: their names (of an argument its
    placeholder), the placeholder of an option's value or "", and what their help says."""
    found = []
    for one in command.params:
        if one.name == "help":
            continue
        if one.param_type_name == "argument":
            found.append(([one.metavar or one.name.upper()], "", one.help or ""))
        else:
            value = "" if one.is_flag else one.metavar or ""
            found.append(([*one.opts, *one.secondary_opts], value, one.help or ""))
    return found


def _section(name: str, command: Any) -> str:
    text, examples = help_and_examples(command)
    lines = [f"## rag {name}", "", text, ""]
    if examples:
        lines += ["```sh", *examples, "```", ""]
    rows = [_row(*one) for one in parameters(command)]
    if rows:
        lines += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(names: list[str], value: str, says: str) -> str:
    label = ", ".join(f"`{name}`" for name in names)
    if value:
        label += f" {value}".replace("|", "\\|")
    return f"| {label} | {says} |"


if __name__ == "__main__":
    print(reference(), end="")
