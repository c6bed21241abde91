"""Notes as resources: their addresses, and reading one."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize
from urllib.parse import quote, unquote

from rag.app.library import Library
from rag.app.notes import get_note
from rag.exceptions import ArgumentError, NotFoundError, UsageError
from rag.mcp.prompts import TEMPLATE
from rag.mcp.results import ROOM, as_data, clean
from rag.text.tokenizer import name_key

_ADDRESS = "rag://note/"


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


def read_resource(library: Library, uri: str) -> dict[str, Any]:
    """Return the result of `resources/read`: the note as data, as far as a result has room for it.

    :raises NotFoundError: when no note has the address.
    :raises RAGError: when there is no index.
    """
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
