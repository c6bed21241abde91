"""The tool `get_many`: several notes in one result, each with its share of the room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.exceptions import NotFoundError, RAGError
from rag.mcp.library import Library
from rag.mcp.protocol import ArgumentError, Call, note_name
from rag.mcp.remedies import error_lines
from rag.mcp.results import ROOM, Result, brief_text, clean_line
from rag.mcp.tools.get import read, shown

if TYPE_CHECKING:
    from rag.app.workspace import Workspace
    from rag.mcp.requests import GetMany

_MOST = 20
_HEADER = 300  # characters of a share for what is said of a note


def run(library: Library, asked: GetMany, call: Call) -> Result:
    """Read several notes, each or why it cannot be read.

    :raises ArgumentError: for neither names nor a glob, and for both.
    :raises RAGError: when there is no index.
    """
    if bool(asked.notes) == bool(asked.glob):
        raise ArgumentError("give notes or glob, one of them")
    texts: list[str] = []
    with library.reader() as workspace:
        names = workspace.notes_like(asked.glob) if asked.glob else [*dict.fromkeys(asked.notes)]
        if not names:
            raise NotFoundError(f"no note's path matches {asked.glob!r}", hint="Try another glob.")
        left, chosen = min(asked.max_chars, ROOM - 100), names[:_MOST]
        for number, name in enumerate(chosen):
            call.check()
            if left < 100:
                break
            share = max(min(left, 200), left // (len(chosen) - number))
            texts.append(brief_text(_one(workspace, name, share), share))
            left -= len(texts[-1]) + 2
    tail = ""
    if more := len(names) - len(texts):
        tail = f"… and {more} more: name a narrower glob, or fewer notes."
    return Result("", "\n\n".join(texts), tail)


def _one(workspace: Workspace, name: str, share: int) -> str:
    try:
        result = shown(*read(workspace, note_name(name)), max(100, share - _HEADER))
    except (RAGError, ArgumentError) as error:
        told = error_lines(error) if isinstance(error, RAGError) else str(error)
        return f"{clean_line(name)[:200]}: {told}"
    return "\n".join(filter(None, (result.data, result.tail)))
