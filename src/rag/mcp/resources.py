"""Notes as resources: reading one by its address, and completing names while they are typed."""

from __future__ import annotations

from typing import Any

from rag.exceptions import NotFoundError, RAGError
from rag.mcp.arguments import ArgumentError
from rag.mcp.library import Library
from rag.mcp.results import clean, uri_of
from rag.mcp.uris import read_uri
from rag.text.normalize import name_key

_LONGEST = 100_000  # characters of a note
_MOST = 100  # completions, which the protocol allows


class MissingResourceError(Exception):
    """There is no such note."""


def read_resource(library: Library, uri: str) -> dict[str, Any]:
    """Return the result of `resources/read`: the whole note, without what instructs a model.

    :raises MissingResourceError: when no note has the address.
    :raises RAGError: when there is no index.
    """
    try:
        vault, path = read_uri(uri)
        with library.reader() as workspace:
            report = workspace.get_note(f"{vault}/{path}", [vault])
    except ArgumentError as error:
        raise MissingResourceError(str(error)) from error
    except NotFoundError as error:
        raise MissingResourceError(str(error)) from error
    except RAGError as error:
        if error.kind == "usage":  # no such vault
            raise MissingResourceError(str(error)) from error
        raise
    row = report.note.row
    if report.part or (row.vault, name_key(row.path)) != (vault, name_key(path)):
        raise MissingResourceError(f"no note has the address {uri[:200]}")
    text = clean("\n".join(report.lines))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n… {len(text) - _LONGEST:,} more characters: read them with get"
    address = uri_of(row.vault, row.path)
    return {"contents": [{"uri": address, "mimeType": "text/markdown", "text": text}]}


def complete(library: Library, name: str, typed: str, known: dict[str, str]) -> dict[str, Any]:
    """Return the result of `completion/complete`: what begins with what was typed, then what holds
    it.

    :param name: of the argument: `vault`, `path` of a note, or `note` (its title).
    :param known: the arguments that are known already.
    :raises RAGError: when there is no index.
    """
    with library.reader() as workspace:
        names = workspace.note_names()
    if name == "vault":
        values = sorted({one.vault for one in names})
    elif name == "path":
        vault = known.get("vault")
        values = [one.path for one in names if not vault or name_key(one.vault) == name_key(vault)]
    elif name == "note":
        values = [one.title for one in names]
    else:
        values = []
    wanted = name_key(typed)
    keys = {value: name_key(value) for value in values}
    found = [value for value, key in keys.items() if key.startswith(wanted)]
    found += [value for value, key in keys.items() if wanted in key and not key.startswith(wanted)]
    shown = {"values": found[:_MOST], "total": len(found), "hasMore": len(found) > _MOST}
    return {"completion": shown}
