"""`rag vault`."""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from rag.cli.options import ConfigFile, Json, Quiet
from rag.cli.output import plural, print_json, print_line
from rag.cli.settings import load_settings
from rag.exceptions import IndexUnavailableError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, add and remove vaults.")


@app.command("list")
def list_vaults(json: Json = False, config_file: ConfigFile = None) -> None:
    """List the vaults, with their folders and how many notes are indexed."""
    from rag.pipelines.lookup import open_manifest
    from rag.pipelines.vaults import known_vaults

    config = load_settings(config_file)
    counts: dict[str, tuple[int, int]] = {}
    roots: dict[str, str] = {}
    with suppress(IndexUnavailableError), open_manifest(config) as manifest:
        counts, roots = manifest.counts(), manifest.vaults()
    vaults = known_vaults(config, roots)
    found = {n: {"path": str(p), "notes": counts.get(n, (0, 0))[0]} for n, p in vaults.items()}
    if json:
        print_json({"vaults": found})
        return
    if not found:
        print_line("no vaults yet: `rag index FOLDER` makes one")
    for name, vault in found.items():
        print_line(f"{name}  {plural(int(str(vault['notes'])), 'note')}  {vault['path']}")


@app.command("add")
def add(
    folder: Annotated[Path, typer.Argument(help="A folder that holds .md files.")],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Its name; by default the folder's.")
    ] = "",
    config_file: ConfigFile = None,
) -> None:
    """Register a folder; the next `rag index` reads it."""
    from rag.pipelines.vaults import Registry
    from rag.stores.generations import IndexDirectory

    config = load_settings(config_file)
    Registry.load(config).identify(config, folder, name)
    with IndexDirectory(config.index_dir).writing():
        added = Registry.load(config).register(config, folder, name)
    print_line(f"vault {added!r} is registered; `rag index` reads it")


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The vault's name.")],
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Take a vault out of the index; its files are left alone."""
    from rag.pipelines.refresh import IndexRun
    from rag.pipelines.vaults import Registry, known_vaults, unknown_vault

    config = load_settings(config_file)
    name = unicodedata.normalize("NFC", name)
    with IndexRun(config) as run:
        known = known_vaults(config, run.vaults())
        if name not in known:
            raise unknown_vault(name, list(known))
        Registry.load(config).remove(config, name)
        gone = run.remove_vault(name)
        run.publish()
    if not quiet:
        print_line(f"vault {name!r} is removed ({plural(gone, 'note')}); its files are untouched")
