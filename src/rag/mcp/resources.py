"""Notes as resources: their addresses, reading one, and completing names while they are typed."""

from __future__ import annotations

from itertools import accumulate
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, unquote

from rag.app.notes import get_note
from rag.exceptions import NotFoundError, RAGError
from rag.mcp.calls import TEMPLATE, ArgumentError, MissingResourceError
from rag.mcp.library import Library
from rag.mcp.prompts import PROMPTS
from rag.mcp.results import LONGEST, ROOM, as_data, clean
from rag.text.normalize import name_key

_ADDRESS = "rag://note/"
_MOST = 100  # completions, which the protocol allows


class BrokenTextError(ArgumentError):
    """An address that holds half a character, or bytes that are no UTF-8."""


def read_address(uri: str) -> tuple[str, str]:
    """Return the vault and the path that the address of a note names, in the form of the index.

    :raises BrokenTextError: for one that is no text.
    :raises ArgumentError: for an address that is no note's.
    """
    try:
        uri.encode()
        parts = uri.removeprefix(_ADDRESS).split("/", 1)
        vault, path, *_ = [normalize("NFC", unquote(p, errors="strict")) for p in (*parts, "")]
    except UnicodeError as error:
        raise BrokenTextError("the address is no text in UTF-8") from error
    if not uri.startswith(_ADDRESS) or not vault or not path:
        raise ArgumentError(f"a note's address is {TEMPLATE}")
    return vault, path


def address_of(vault: str, path: str) -> str:
    """Return the address of a note as a resource."""
    return f"{_ADDRESS}{quote(vault, safe='')}/{quote(path)}"


def read_resource(library: Library, uri: object) -> dict[str, Any]:
    """Return the result of `resources/read`: the note as data, as far as a result has room for it.

    :raises ArgumentError: for what is no address, or no text.
    :raises MissingResourceError: when no note has the address.
    :raises RAGError: when there is no index.
    """
    if not isinstance(uri, str):
        raise ArgumentError("uri must be a string")
    try:
        vault, path = read_address(uri)
        with library.reader() as workspace:
            report = get_note(workspace.config, f"{vault}/{path}", [vault])
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


def complete(library: Library, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result of `completion/complete`: names that begin with what was typed, then those
    that hold it.

    :raises ArgumentError: for what is no argument of ours.
    :raises RAGError: when there is no index.
    """
    argument, typed = _typed(params)
    context = params.get("context")
    given = context.get("arguments") if isinstance(context, dict) else None
    chosen = given.get("vault") if isinstance(given, dict) else None
    vault = name_key(chosen) if isinstance(chosen, str) else ""
    with library.reader() as workspace:
        notes = workspace.note_names()
    names = {
        "vault": sorted({note.vault for note in notes}),
        "path": [note.path for note in notes if not vault or name_key(note.vault) == vault],
        "note": [note.title for note in notes],
    }.get(argument, [])
    keys = {name: key for name in names if typed in (key := name_key(name))}
    matching = sorted(keys, key=lambda name: not keys[name].startswith(typed))
    shown = matching[: sum(size <= LONGEST for size in accumulate(map(len, matching[:_MOST])))]
    more = len(shown) < len(matching)
    return {"completion": {"values": shown, "total": len(matching), "hasMore": more}}


def _typed(params: dict[str, Any]) -> tuple[str, str]:
    """Return the name of the argument that is typed, and the key of what is typed so far."""
    ref, argument = params.get("ref"), params.get("argument")
    if not isinstance(ref, dict) or not isinstance(argument, dict):
        raise ArgumentError("ref and argument must be objects")
    name, typed = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(typed, str):
        raise ArgumentError("argument must have a name and a value")
    prompts = [("ref/prompt", prompt["name"]) for prompt in PROMPTS]
    named = ref.get("type"), ref.get("uri" if ref.get("type") == "ref/resource" else "name")
    if named not in [("ref/resource", TEMPLATE), *prompts]:
        raise ArgumentError(f"ref must be of a prompt, or of the resource {TEMPLATE}")
    return name, name_key(typed.encode("utf-8", "replace").decode())
