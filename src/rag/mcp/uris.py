"""The addresses of notes as resources: `rag://note/{vault}/{+path}`."""

from __future__ import annotations

from unicodedata import normalize
from urllib.parse import unquote

from rag.mcp.arguments import ArgumentError

PREFIX = "rag://"
TEMPLATE = "rag://note/{vault}/{+path}"
_NOTE = f"{PREFIX}note/"


def read_uri(uri: str) -> tuple[str, str]:
    """Return the vault and the path that an address names, in the form that the index has.

    :raises ArgumentError: for an address that is no note's.
    """
    vault, slash, path = uri.removeprefix(_NOTE).partition("/")
    if not uri.startswith(_NOTE) or not slash or not vault or not path:
        raise ArgumentError(f"a note's address is {TEMPLATE}")
    vault, path = (normalize("NFC", unquote(part, errors="replace")) for part in (vault, path))
    return vault, path


def name_of(given: str) -> str:
    """Return the name of a note that was named by its address, or by any of its names.

    :raises ArgumentError: for none, and for an address that is no note's.
    """
    name = given.strip()
    if name.startswith(PREFIX):
        vault, path = read_uri(name)
        return f"{vault}/{path}"
    if not name:
        raise ArgumentError("note is empty; give a path, a title or an id")
    return name
