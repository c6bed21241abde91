"""`rag get`."""

from __future__ import annotations

import re
from errno import ELOOP
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.framework.options import ConfigFile, Json, Paths, Print0, Vaults
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_file, print_json, print_text
from rag.exceptions import NotFoundError, UsageError

if TYPE_CHECKING:
    from rag.index.lookup import FoundNote

_SPAN = re.compile(r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?$")


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
    from rag.index.lookup import find_note, open_manifest
    from rag.index.vault_registry import unknown_vault

    config = load_settings(config_file)
    if not note.strip():
        raise UsageError("no note named", hint='Name one: `rag get "title"`')
    span = None
    with open_manifest(config) as manifest:
        indexed = list(manifest.vaults())
        for vault in vaults or []:
            if vault not in indexed:
                raise unknown_vault(vault, indexed)
        try:
            found = find_note(manifest, note, vaults)
        except NotFoundError:
            span = _SPAN.match(note)
            if not span:
                raise
            found = find_note(manifest, span["name"], vaults)
    lines = _read_lines(found)
    first = int(span["first"]) if span else 1
    last = int(span["last"] or len(lines)) if span else len(lines)
    if span and not 1 <= first <= max(last, 1):
        raise UsageError(f"lines {first}-{last} are no span", hint=f"The note has {len(lines)}.")
    if paths or print0:
        print_file(found.file, print0)
        return
    chosen = lines[first - 1 : last]
    if json:
        print_json(_to_json(found, chosen, first))
        return
    for line in chosen:
        print_text(line)


def _to_json(found: FoundNote, chosen: list[str], first: int) -> dict[str, Any]:
    row = found.row
    return {
        "id": row.id,
        "vault": row.vault,
        "path": row.path,
        "file": str(found.file),
        "title": row.title,
        "aliases": row.aliases,
        "tags": row.tags,
        "created": row.created,
        "modified": row.modified,
        "links": row.links,
        "problems": row.problems,
        "line_start": first,
        "line_end": max(first, first + len(chosen) - 1),
        "content": "\n".join(chosen),
    }


def _read_lines(found: FoundNote) -> list[str]:
    from rag.vault.file_reader import open_file
    from rag.vault.limits import LARGEST_PRINTED
    from rag.vault.note import decode, split_lines

    name = f"{found.row.vault}/{found.row.path}"
    try:
        if not found.file.resolve().is_relative_to(found.root.resolve()):
            raise OSError(ELOOP, "it leads out of its vault now")
        with open_file(found.file) as stream:
            raw = stream.read(LARGEST_PRINTED + 1)
    except OSError as error:
        raise NotFoundError(
            f"{name} is in the index, but its file cannot be read",
            error.strerror or "",
            hint="`rag index` brings the index up to date.",
        ) from error
    if len(raw) > LARGEST_PRINTED:
        raise UsageError(
            f"{name} is larger than {LARGEST_PRINTED // 1_000_000} MB",
            hint=f"Open it with another program: it is {found.file}.",
        )
    return split_lines(decode(raw, []))
