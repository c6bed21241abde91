"""Notes as resources: reading one by its address, and completing names while they are typed."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from rag.exceptions import NotFoundError, RAGError
from rag.mcp.library import Library
from rag.mcp.protocol import ArgumentError, BrokenTextError, address_of, read_address
from rag.mcp.results import LONGEST, ROOM, as_data, clean
from rag.text.normalize import name_key

_MOST = 100  # completions, which the protocol allows


class MissingResourceError(Exception):
    """There is no such note."""


def read_resource(library: Library, uri: str) -> dict[str, Any]:
    """Return the result of `resources/read`: the note as data, as far as a result has room for it.

    :raises BrokenTextError: for an address that is no text.
    :raises MissingResourceError: when no note has the address.
    :raises RAGError: when there is no index.
    """
    try:
        vault, path = read_address(uri)
        with library.reader() as workspace:
            report = workspace.get_note(f"{vault}/{path}", [vault])
    except BrokenTextError:
        raise
    except (ArgumentError, NotFoundError) as error:
        raise MissingResourceError(str(error)) from error
    except RAGError as error:
        if error.kind == "usage":  # no such vault
            raise MissingResourceError(str(error)) from error
        raise
    row = report.note.row
    if report.part or (row.vault, name_key(row.path)) != (vault, name_key(path)):
        raise MissingResourceError(f"no note has the address {uri[:200]}")
    note = clean("\n".join(report.lines))
    text = as_data(note)
    if len(note) > ROOM:
        text += f"\n{len(note) - ROOM:,} more characters: read them with get"
    address = address_of(row.vault, row.path)
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
    vault = name_key(known.get("vault", ""))
    values = {
        "vault": sorted({one.vault for one in names}),
        "path": [one.path for one in names if not vault or name_key(one.vault) == vault],
        "note": [one.title for one in names],
    }.get(name, [])
    wanted = name_key(typed)
    keys = {value: name_key(value) for value in values}
    found = [value for value, key in keys.items() if wanted in key]
    found.sort(key=lambda value: not keys[value].startswith(wanted))
    shown = found[: sum(size <= LONGEST for size in accumulate(map(len, found[:_MOST])))]
    more = len(shown) < len(found)
    return {"completion": {"values": shown, "total": len(found), "hasMore": more}}
