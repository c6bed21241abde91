"""`rag vault`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json, Quiet, complete_vaults
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, say

if TYPE_CHECKING:
    from rag.app.workspace import Workspace

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="List, add, rename and remove vaults."
)


@app.command("list")
def list_vaults(json: Json = False, config_file: ConfigFile = None) -> None:
    """List the vaults, with their folders and how many notes are indexed."""
    with _workspace(config_file) as workspace:
        report = workspace.vaults()
    _say(report.notice)
    _say(report.index_notice)
    if json:
        print_report(report)
        return
    if not report.vaults:
        print_line("no vaults yet: `rag index FOLDER` makes one")
    for vault in report.vaults:
        notes = "notes unknown" if vault.notes is None else plural(vault.notes, "note")
        print_line(f"{vault.name}  {notes}  {vault.path}")


@app.command("add")
def add(
    folder: Annotated[Path, typer.Argument(help="A folder that holds .md files.")],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Its name; by default the folder's.")
    ] = "",
    config_file: ConfigFile = None,
) -> None:
    """Register a folder; the next `rag index` reads it."""
    with _workspace(config_file) as workspace:
        added = workspace.add_vault(folder, name)
    _say(added.notice)
    print_line(f"vault {added.name!r} is registered; `rag index` reads it")


@app.command("rename")
def rename(
    name: Annotated[
        str, typer.Argument(metavar="OLD", help="The vault's name.", autocompletion=complete_vaults)
    ],
    wanted: Annotated[str, typer.Argument(metavar="NEW", help="The name it gets.")],
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Give a vault another name; its notes are indexed again under it."""
    with _workspace(config_file) as workspace:
        renamed = workspace.rename_vault(name, wanted)
    _say(renamed.notice)
    if not quiet:
        notes = plural(renamed.notes, "note")
        print_line(f"vault {name!r} is {renamed.name!r} now ({notes})")


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The vault's name.", autocompletion=complete_vaults)],
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Take a vault out of the index; its files are left alone."""
    with _workspace(config_file) as workspace:
        gone = workspace.remove_vault(name)
    _say(gone.notice)
    if not quiet:
        notes = plural(gone.notes, "note")
        print_line(f"vault {gone.name!r} is removed ({notes}); its files are untouched")


def _workspace(config_file: Path | None) -> Workspace:
    from rag.app.workspace import Workspace

    return Workspace(load_settings(config_file))


def _say(notice: str) -> None:
    if notice:
        say(f"rag: {notice}")
