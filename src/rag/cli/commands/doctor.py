"""`rag doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rag.cli.framework.options import ConfigFile, Json, Quiet
from rag.cli.framework.settings import say_key
from rag.cli.render.console import plural, print_report, visible
from rag.config import load_config

if TYPE_CHECKING:
    from rich.console import Console

    from rag.app.doctor import CheckResult

_MARKS = {"pass": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "bold red")}
_NAME = 16  # columns
_INDENT = _NAME + 8  # of the message


def doctor(quiet: Quiet = False, json: Json = False, config_file: ConfigFile = None) -> None:
    """Check settings, vaults, index, models and servers, and say what mends what is wrong.

    Each line is pass, warn (search does without) or fail (something does not work, or results
    would be wrong). The exit code is 1 when a check failed. Nothing is changed.

    \b
    rag doctor
    rag doctor -q                  only what is wrong
    rag doctor --json
    """
    from rag.app.doctor import DoctorReport
    from rag.app.workspace import Workspace
    from rag.cli.render.terminal import make_console

    config = load_config(config_file)
    say_key(config)
    console = make_console()
    report = DoctorReport([])
    for check in Workspace(config).checks():
        report.checks.append(check)
        if not json and not (quiet and check.status == "pass"):
            _print(console, check)
    counts = report.counts
    if json:
        print_report(report)
    elif not quiet:
        wrong = f"{plural(counts['warn'], 'warning')}, {plural(counts['fail'], 'failure')}"
        console.print(f"{counts['pass']} passed, {wrong}")
    if counts["fail"]:
        raise typer.Exit(1)


def _print(console: Console, check: CheckResult) -> None:
    from rich.text import Text

    from rag.cli.render.terminal import print_between_words

    mark, style = _MARKS[check.status]
    line = Text(f"{mark} {check.status}", style=style)
    line = Text.assemble(line, (f"  {check.name:{_NAME}}", "bold"), visible(check.message))
    print_between_words(console, line, indent=_INDENT)
    if check.hint:
        hint = f"{'':{_INDENT}}{visible(check.hint)}"
        print_between_words(console, hint, "dim", _INDENT)
