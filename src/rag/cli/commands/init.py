"""`rag init`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_line, print_report
from rag.config import new_project_file, user_file
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.setup import SetupReport


_HEADING = "Written by `rag init`: what is not as by default. `rag config` lists all."


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Look for vaults only here; else here and in the usual places."),
    ] = None,
    user: Annotated[
        bool, typer.Option("--user", help="Write your own file, which counts in every folder.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file if there is one.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Look for vaults and for Ollama's models, and write a configuration of what was found.

    Vaults are folders that hold a `.obsidian` folder. They are registered, or, where several
    make up a folder of their own, that folder is written as `vaults_dir`; `rag index` reads
    them either way.

    \b
    rag init                       then `rag index`
    rag init ~/notes               look only there
    rag init --dry-run
    """
    from rag.app.setup import carry_out, plan
    from rag.support.regular_files import strange_kind

    file = user_file() if user else new_project_file(Path.cwd())
    if kind := strange_kind(file):
        raise UsageError(f"{file} is {kind}, and should be a file", hint=f"Move {file} away.")
    if file.exists() and not (force or dry_run):
        raise UsageError(
            f"there is a configuration already: {file}",
            hint="`rag init --force` replaces it; `rag init --dry-run` shows with what.",
        )
    config = load_settings(None, may_ask=False)
    report = plan(config, file, folder, Path.cwd(), _HEADING)
    if not dry_run:
        report = carry_out(config, report)
    if json:
        print_report(report)
    else:
        _print(report)


_MEANING = {
    "ollama": "by Ollama's embedding model",
    "builtin": "by the built-in model, with nothing else running",
    "": "no: search is by words",
}


def _print(report: SetupReport) -> None:
    early = "" if report.whole else ", then time was up: name a FOLDER to look in"
    print_line(f"vaults    {len(report.vaults)}{early}")
    for vault in report.vaults:
        known = "  (known already)" if vault.known else ""
        print_line(f"  {vault.name}  {vault.path}{known}")
        if vault.problem:
            print_line(f"    left out: {vault.problem}")
    ollama = report.ollama
    if ollama.error:
        print_line(f"Ollama    {ollama.error}")
    else:
        print_line(f"Ollama    {ollama.version} at {ollama.url}")
        print_line(f"  embedding model  {ollama.embedding_model or 'none'}")
        print_line(f"  chat model       {ollama.chat_model or 'none'}")
    print_line(f"answers   {f'by {report.chat_model}' if report.chat_model else 'are quotations'}")
    print_line(f"meaning   {_MEANING.get(report.embedding, report.embedding)}")
    print_line(f"{'wrote' if report.written else 'would write'} {report.file}")
    for line in report.content.splitlines():
        print_line(f"  {line}".rstrip())
    print_line("")
    for step in report.next:
        print_line(f"next: {step}")
