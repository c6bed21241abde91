"""`rag status`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_json, print_line

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.index.manifest import Manifest


def status(
    problems: Annotated[
        bool, typer.Option("--problems", help="List the notes that could not be read as meant.")
    ] = False,
    json: Json = False,
    config_file: ConfigFile = None,
) -> None:
    """Show what the index holds, how old it is, and what was wrong with notes.

    \b
    rag status
    rag status --problems
    """
    from rag.index.lookup import open_manifest

    config = load_settings(config_file)
    with open_manifest(config) as manifest:
        found = _facts(config, manifest)
    if json:
        print_json(found)
    elif problems:
        _print_problems(found)
    else:
        _print(found)


def _facts(config: RAGConfig, manifest: Manifest) -> dict[str, Any]:
    from json import loads

    from rag.index.embedding_space import read_embedded
    from rag.index.vault_registry import configured_vaults
    from rag.indexing.changes import count_stale
    from rag.support.sparse_files import disk_usage

    counts = manifest.counts()
    roots = manifest.vaults()
    embedded = read_embedded(manifest)
    stale = count_stale(manifest, config.index.ignore, seconds=5)
    bad = [
        {"vault": row.vault, "path": row.path, "failed": row.failed, "problems": row.problems}
        for row in manifest.notes("problems != '[]'")
    ]
    return {
        "index": {
            "path": str(config.index_dir),
            "bytes": disk_usage(config.index_dir),
            "notes": sum(notes for notes, _ in counts.values()),
            "chunks": sum(chunks for _, chunks in counts.values()),
            "indexed_at": manifest.get("indexed_at"),
            "stale": None if stale is None else stale > 0,
            "changed": stale,
            "embedding": embedded.to_json() if embedded else None,
            "server": {"url": config.store.url, "collection": config.store.collection}
            if config.store.url
            else None,
            "fingerprint": loads(manifest.get("fingerprint", "{}")),
        },
        "vaults": {
            name: {
                "path": root,
                "notes": counts.get(name, (0, 0))[0],
                "chunks": counts.get(name, (0, 0))[1],
            }
            for name, root in roots.items()
        },
        "not_indexed": sorted(set(configured_vaults(config)) - set(roots)),
        "problems": bad,
    }


def _print(found: dict[str, Any]) -> None:
    index, changed = found["index"], found["index"]["changed"]
    age = "up to date" if changed == 0 else f"{plural(changed or 0, 'note')} changed since"
    print_line(f"index     {index['path']} ({index['bytes'] / 1e6:.1f} MB)")
    if index["server"]:
        server = index["server"]
        print_line(f"server    {server['url']}, collection {server['collection']}")
    print_line(f"indexed   {index['indexed_at']}, {'unknown if stale' if changed is None else age}")
    print_line(f"notes     {index['notes']:,} in {plural(index['chunks'], 'chunk')}")
    if embedding := index["embedding"]:
        print_line(_embedding(embedding))
    for name, vault in found["vaults"].items():
        away = "" if Path(vault["path"]).is_dir() else "  (the folder is not there)"
        print_line(f"  {name}  {plural(vault['notes'], 'note')}  {vault['path']}{away}")
    for name in found["not_indexed"]:
        print_line(f"  {name}  not indexed yet (`rag index`)")
    if found["problems"]:
        print_line(f"problems  {plural(len(found['problems']), 'note')} (`rag status --problems`)")


def _embedding(facts: dict[str, Any]) -> str:
    readable = facts["chunks"] - facts["unreadable"]
    line = f"vectors   {facts['embedded']:,} of {plural(readable, 'chunk')}, by {facts['model']}"
    left = facts["unreadable"]
    return f"{line}; {left:,} more are in a script it does not read" if left else line


def _print_problems(found: dict[str, Any]) -> None:
    if not found["problems"]:
        print_line("no problems")
    for note in found["problems"]:
        mark = "not read: " if note["failed"] else ""
        for problem in note["problems"]:
            print_line(f"{note['vault']}/{note['path']}: {mark}{problem}")
