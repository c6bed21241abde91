"""`rag get`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.formats import NOTE_FORMATS, NoteFormat, chosen_output
from rag.cli.framework.options import ConfigFile, Json, Paths, Vaults, complete_notes
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_file, print_line, print_report, print_text, say
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.app.notes import NoteReport


def get(
    notes: Annotated[
        list[str],
        typer.Argument(
            metavar="NOTE",
            autocompletion=complete_notes,
            help="Path, vault/path, title, alias, id or [[link]]; `#heading` picks a section,"
            " `:10-20` or `:10:5` lines; a pattern such as `daily/2026-11-*` several notes.",
        ),
    ],
    vaults: Vaults = None,
    max_lines: Annotated[
        int | None,
        typer.Option("--max-lines", min=0, metavar="N", help="At most N lines of each note."),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            "--max-bytes", min=0, metavar="N", help="At most N bytes of each note, in whole lines."
        ),
    ] = None,
    json: Json = False,
    output_format: NoteFormat = "text",
    paths: Paths = False,
    config_file: ConfigFile = None,
) -> None:
    """Print a note, or several, each under a line that names it.

    A path may begin at the vault or at the working folder. What a limit leaves out is counted in
    a last line. With --json several notes are one object with the list `notes`; so are those of a
    pattern, however many they are.

    \b
    rag get "On-call handover"
    rag get engineering/Glossary.md:10-20
    rag get "Glossary#Error budget"      print a section
    rag get '[[Glossary#Holds|holds]]'   as a link has it
    rag get 'daily/2026-11-*' Glossary --max-lines 40
    rag get 用語集 --paths               print where it is
    """
    from rag.app.notes import Limits
    from rag.app.workspace import Workspace

    out = chosen_output(output_format, json=json, paths=paths, among=NOTE_FORMATS)
    config = load_settings(config_file)
    if not all(note.strip() for note in notes):
        raise UsageError("no note named", hint='Name one: `rag get "title"`')
    with Workspace(config) as workspace:
        report = workspace.get_notes(notes, vaults, Path.cwd(), Limits(max_lines, max_bytes))
    if out.as_json:  # which has the file too, as with a search
        print_report(report if report.several else report.notes[0])
    elif out.names_files:
        for file in dict.fromkeys(one.note.file for one in report.notes):
            print_file(file, nul=out.format == "paths0")
    else:
        for number, one in enumerate(report.notes):
            if number:
                print_text("")
            _print(one, is_headed=report.several)


def _print(report: NoteReport, *, is_headed: bool) -> None:
    if is_headed:
        row = report.note.row
        print_line(f"==> {row.vault}/{row.path}{report.part} <==")
    if report.notice:
        say(f"rag: {report.notice}")
    for line in report.lines:
        print_text(line)
    if report.more:
        print_line(f"… {plural(report.more, 'more line')}")
