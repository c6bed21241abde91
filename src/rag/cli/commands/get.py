"""`rag get`."""

from __future__ import annotations

from typing import Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json, Paths, Print0, Vaults
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_file, print_report, print_text, say
from rag.exceptions import UsageError


def get(
    note: Annotated[
        str, typer.Argument(help="Path, vault/path, title, alias or id; `:10-20` picks lines.")
    ],
    vaults: Vaults = None,
    json: Json = False,
    paths: Paths = False,
    print0: Print0 = False,
    config_file: ConfigFile = None,
) -> None:
    """Print a note.

    \b
    rag get "On-call handover"
    rag get engineering/Glossary.md:10-20
    rag get 用語集 --paths               print where it is
    """
    from rag.app.workspace import Workspace

    config = load_settings(config_file)
    if not note.strip():
        raise UsageError("no note named", hint='Name one: `rag get "title"`')
    with Workspace(config) as workspace:
        report = workspace.get_note(note, vaults)
    if json:  # which has the file too, as with a search
        print_report(report)
    elif paths or print0:
        print_file(report.note.file, print0)
    else:
        if report.notice:
            say(f"rag: {report.notice}")
        for line in report.lines:
            print_text(line)
