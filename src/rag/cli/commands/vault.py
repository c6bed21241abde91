"""`rag vault`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json, Quiet
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_json, print_line, say
from rag.exceptions import IndexUnavailableError

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.index.vault_registry import Registry

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, add and remove vaults.")


@app.command("list")
def list_vaults(json: Json = False, config_file: ConfigFile = None) -> None:
    """List the vaults, with their folders and how many notes are indexed."""
    from rag.index.lookup import open_manifest
    from rag.index.vault_registry import known_vaults

    config = load_settings(config_file)
    counts: dict[str, tuple[int, int]] = {}
    roots: dict[str, str] = {}
    with suppress(IndexUnavailableError), open_manifest(config) as manifest:
        counts, roots = manifest.counts(), manifest.vaults()
    registry = _registry(config)
    vaults = known_vaults(config, roots, registry)
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
    from rag.index.snapshots import IndexDirectory
    from rag.index.vault_registry import Registry

    config = load_settings(config_file)
    Registry.load(config).identify(config, folder, name)
    with IndexDirectory.of(config).writing():
        added = _registry(config).register(config, folder, name)
    print_line(f"vault {added!r} is registered; `rag index` reads it")


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The vault's name.")],
    quiet: Quiet = False,
    config_file: ConfigFile = None,
) -> None:
    """Take a vault out of the index; its files are left alone."""
    from rag.index.snapshots import IndexDirectory
    from rag.index.vault_registry import known_vaults, unknown_vault
    from rag.indexing.child_writer import watch
    from rag.indexing.run import IndexRun

    config = load_settings(config_file)
    name = unicodedata.normalize("NFC", name)

    def work(tell_size: Callable[[int], None]) -> int:
        with IndexRun(config) as run:
            known = known_vaults(config, run.vaults())
            if name not in known:
                raise unknown_vault(name, list(known))
            _registry(config).remove(config, name)
            gone = run.remove_vault(name)
            run.publish()
        return gone

    gone = watch(IndexDirectory.of(config), work)
    if not quiet:
        print_line(f"vault {name!r} is removed ({plural(gone, 'note')}); its files are untouched")


def _registry(config: RAGConfig) -> Registry:
    """Return the list of vaults; what is wrong with its file is said."""
    from rag.index.vault_registry import Registry

    registry = Registry.load(config)
    if registry.notice:
        say(f"rag: {registry.notice}")
    return registry
