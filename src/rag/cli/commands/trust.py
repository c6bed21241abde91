"""`rag trust`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rag.cli.framework.options import Json
from rag.cli.render.console import plural, print_line, print_report
from rag.config import project_of
from rag.config.files import nearest_file, real_path
from rag.config.trust import TrustList, forget, record, visible
from rag.exceptions import UsageError


def trust(
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]", help="A project's folder, or its file; by default here."
        ),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List the files that you trust, or said no to.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Trust the file no more, and forget what you said.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what a project's `rag.toml` asks for that takes your trust, and trust it.

    Without it such a file says only how to search, plan, chunk and print, and which folders below
    it are vaults. Addresses, models, plug-ins, keys, and folders outside are left out.
    Trust is for the file as it is: once it is changed you are asked again.

    \b
    rag trust                      the file that is read here
    rag trust ~/notes/rag.toml
    rag trust --list
    rag trust --remove
    """
    if list_all:
        if place or remove:
            raise UsageError("--list stands alone", hint="rag trust --list")
        _list(json)
    elif remove:
        _remove(place or Path(), json)
    else:
        _trust(place or Path(), json)


def _trust(place: Path, json: bool) -> None:
    project = project_of(place)
    if project is None:
        if place.is_dir():
            raise _no_file(place)
        raise UsageError(
            f"{place} is not the rag.toml of a folder" if place.exists() else f"no file {place}",
            hint="A file that `--config` or RAG_CONFIG names needs no trust.",
        )
    if project.asks:
        record(project.file, project.digest, True)
    if json:
        from rag.app.settings import TrustReport

        print_report(TrustReport(project.file, project.asks, bool(project.asks)))
        return
    if not project.asks:
        print_line(visible(f"{project.file} asks for nothing that takes trust"))
        return
    print_line(visible(f"{project.file} is trusted, as it is now, with"))
    for ask in project.asks:
        print_line(visible(f"  {ask.name} = {ask.value}"))


def _remove(place: Path, json: bool) -> None:
    file = place.expanduser()
    if file.is_dir():
        nearest = nearest_file(file.absolute())
        if nearest is None:
            raise _no_file(place)
        file = nearest[0]
    file = real_path(file)
    was_there = forget(file)
    if json:
        from rag.app.settings import TrustRemovedReport

        print_report(TrustRemovedReport(file, was_there))
    else:
        how = "is trusted no more" if was_there else "was not in the list"
        print_line(visible(f"{file} {how}"))
    if not was_there:
        raise typer.Exit(1)


def _list(json: bool) -> None:
    files = TrustList.load().files
    if json:
        from rag.app.settings import trust_list

        print_report(trust_list(files))
        return
    for path, entry in files.items():
        print_line(visible(f"{'trusted' if entry.trusted else 'refused'}  {entry.since}  {path}"))
    if not files:
        print_line("no file is trusted")
    elif gone := sum(not os.path.lexists(path) for path in files):
        print_line(f"{plural(gone, 'file')} of these {'is' if gone == 1 else 'are'} gone")


def _no_file(folder: Path) -> UsageError:
    where = folder.expanduser().absolute()
    return UsageError(f"no rag.toml is read in {where}", hint="rag trust FOLDER")
