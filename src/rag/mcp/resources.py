"""Notes as resources: their addresses, reading one, and completing names while they are typed."""

from __future__ import annotations

from itertools import accumulate
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, unquote

from rag.app.library import Library
from rag.app.notes import get_note
from rag.exceptions import ArgumentError, NotFoundError, UsageError
from rag.mcp.prompts import PROMPTS, TEMPLATE
from rag.mcp.results import LONGEST, ROOM, as_data, clean
from rag.text.tokenizer import name_key

_ADDRESS = "rag://note/"
_MOST = 100  # completions, which the protocol allows


def read_address(uri: str) -> tuple[str, str]:
    """Return the vault and the path that the address of a note names, in the form of the index.

    :raises ArgumentError: for one that holds half a character, or bytes that are no UTF-8.
    :raises NotFoundError: for an address that is no note's.
    """
    try:
        uri.encode()
        parts = uri.removeprefix(_ADDRESS).split("/", 1)
        vault, path, *_ = [normalize("NFC", unquote(p, errors="strict")) for p in (*parts, "")]
    except UnicodeError as error:
        raise ArgumentError("the address is no text in UTF-8") from error
    if not uri.startswith(_ADDRESS) or not vault or not path:
        raise NotFoundError(f"a note's address is {TEMPLATE}")
    return vault, path


def address_of(vault: str, path: str) -> str:
    """Return the address of a note as a resource."""
    return f"{_ADDRESS}{quote(vault, safe='')}/{quote(path)}"


def read_resource(library: Library, uri: object) -> dict[str, Any]:
    """Return the result of `resources/read`: the note as data, as far as a result has room for it.

    :raises ArgumentError: for what is no text.
    :raises NotFoundError: when no note has the address.
    :raises RAGError: when there is no index.
    """
    if not isinstance(uri, str):
        raise ArgumentError("uri must be a string")
    vault, path = read_address(uri)
    try:
        with library.reader() as workspace:
            report = get_note(workspace.config, f"{vault}/{path}", [vault])
    except UsageError as error:
        raise NotFoundError("there is no such vault") from error
    row = report.note.row
    if report.part or (row.vault, name_key(row.path)) != (vault, name_key(path)):
        raise NotFoundError("no note has this address")
    note = clean("\n".join(report.lines))
    text = as_data(note)
    if len(note) > ROOM:
        text += f"\n{len(note) - ROOM:,} more characters: read them with get"
    address = address_of(row.vault, row.path)
    return {"contents": [{"uri": address, "mimeType": "text/markdown", "text": text}]}


def complete(library: Library, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of `completion/complete`: names that begin with what was typed, then those
    that hold it.

    :raises ArgumentError: for what is no argument of ours.
    :raises RAGError: when there is no index.
    """
    ref, argument, context = (params.get(name) or {} for name in ("ref", "argument", "context"))
    named = [{"type": "ref/resource", "uri": TEMPLATE}]
    named += [{"type": "ref/prompt", "name": prompt["name"]} for prompt in PROMPTS]
    if not isinstance(ref, dict) or not any(one.items() <= ref.items() for one in named):
        raise ArgumentError(f"ref must be of a prompt, or of the resource {TEMPLATE}")
    name, typed = map(argument.get, ("name", "value")) if isinstance(argument, dict) else (0, 0)
    if not isinstance(name, str) or not isinstance(typed, str):
        raise ArgumentError("argument must have a name and a value")
    given = context.get("arguments") if isinstance(context, dict) else None
    chosen = given.get("vault") if isinstance(given, dict) else None
    vault = name_key(chosen) if isinstance(chosen, str) else ""
    key = name_key(typed.encode("utf-8", "replace").decode())
    with library.reader() as workspace:
        notes = workspace.note_names()
    names = {
        "vault": sorted({note.vault for note in notes}),
        "path": [note.path for note in notes if not vault or name_key(note.vault) == vault],
        "note": [note.title for note in notes],
    }.get(name, [])
    keys = {one: name_key(one) for one in names if key in name_key(one)}
    matching = sorted(keys, key=lambda one: not keys[one].startswith(key))
    shown = matching[: sum(size <= LONGEST for size in accumulate(map(len, matching[:_MOST])))]
    more = len(shown) < len(matching)
    return {"completion": {"values": shown, "total": len(matching), "hasMore": more}}
