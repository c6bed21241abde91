"""Print the command reference, made from the program: `python -m rag.cli.framework.reference`."""

from __future__ import annotations

from typing import Any

import typer

from rag.cli.app import app

_HEAD = """# Commands

Made by `make docs` from the program's own help; a test fails when the two differ.

Exit codes: 0 done, at least one result · 1 nothing found, worse than the baseline, or a check
that failed · 2 usage or configuration error · 3 no index, or one that must be rebuilt · 4 a
service did not answer · 5 finished, but some notes failed · 75 another process is indexing.
"""


def reference() -> str:
    """Return the reference of all commands as Markdown."""
    parts = [_HEAD]
    root: Any = typer.main.get_command(app)
    for name, command in sorted(root.commands.items()):
        if hasattr(command, "commands"):
            for inner, nested in sorted(command.commands.items()):
                parts.append(_section(f"{name} {inner}", nested))
        else:
            parts.append(_section(name, command))
    return "\n".join(parts)


def _section(name: str, command: Any) -> str:
    text, _, examples = (command.help or "").partition("\b")
    lines = [f"## rag {name}", "", " ".join(text.split()), ""]
    if examples.strip():
        lines += ["```sh", *(line.strip() for line in examples.strip().split("\n")), "```", ""]
    rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
    if rows:
        lines += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        label = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        label = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
        if parameter.metavar and not parameter.is_flag:
            label += f" {parameter.metavar}".replace("|", "\\|")
    return f"| {label} | {parameter.help or ''} |"


if __name__ == "__main__":
    print(reference(), end="")
