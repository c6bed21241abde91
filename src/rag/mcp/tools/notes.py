"""The tools `get` and `get_many`: lines of notes, and how to go on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rag.app.notes import Limits
from rag.exceptions import NotFoundError, RAGError
from rag.mcp.arguments import ArgumentError
from rag.mcp.calls import Call
from rag.mcp.library import Library
from rag.mcp.remedies import error_details, error_text, worded
from rag.mcp.results import (
    ToolResult,
    as_data,
    clean_line,
    clean_lines,
    numbered,
    room,
    that_fit,
    uri_of,
)
from rag.mcp.uris import name_of

if TYPE_CHECKING:
    from rag.app.notes import NoteReport
    from rag.app.workspace import Workspace

_LINK = re.compile(r"!?\[\[(?P<target>[^\[\]|#]+)[^\[\]]*\]\]$")
_HEADER = 2000  # characters for what is said of a note
_LAST_LINE = 999_999_999  # as a name of a note can hold
_MOST_LINES = 2000
_MOST_NOTES = 20
_SHARED = 20_000


def run_get(library: Library, arguments: dict[str, Any], call: Call) -> ToolResult:
    """Read a note.

    :raises ArgumentError: for a heading and a line at once.
    :raises RAGError: as `Workspace.get_note`.
    """
    heading, first = arguments.get("heading", "").strip(), arguments.get("from_line")
    if heading and first:
        raise ArgumentError("give heading or from_line, not both")
    name, part = name_of(arguments["note"]), ""
    if heading:
        part = f"#{heading.lstrip('#').strip()}"
    elif first:
        part = f":{min(first, _LAST_LINE)}"
    most = min(_MOST_LINES, arguments.get("max_lines", _MOST_LINES))
    with library.reader() as workspace:
        report = _read(workspace, name, part, most)
    text, structured = _shown(report, room() - _HEADER)
    return ToolResult(text, structured)


def run_get_many(library: Library, arguments: dict[str, Any], call: Call) -> ToolResult:
    """Read several notes, each with its share of the room, or with its error.

    :raises ArgumentError: for neither names nor a glob, and for both.
    :raises RAGError: when there is no index.
    """
    names, glob = arguments.get("notes"), arguments.get("glob")
    if bool(names) == bool(glob):
        raise ArgumentError("give notes or glob, one of them")
    texts: list[str] = []
    found: list[dict[str, Any]] = []
    with library.reader() as workspace:
        matched = workspace.notes_like(glob) if glob else list(dict.fromkeys(names or ()))
        if not matched:
            raise NotFoundError(f"no note's path matches {glob!r}", hint="Try another glob.")
        left = min(arguments.get("max_chars", _SHARED), room() - _MOST_NOTES * 100)
        chosen = matched[:_MOST_NOTES]
        for number, name in enumerate(chosen):
            call.check()
            share = max(200, left // (len(chosen) - number))
            text, structured = _one_of_many(workspace, name, share)
            left -= len(text)
            texts.append(text)
            found.append(structured)
    text = "\n\n".join(texts)
    if len(matched) > len(chosen):
        text += f"\n\n{len(matched) - len(chosen)} more match; name a narrower glob."
    return ToolResult(text, {"notes": found, "total": len(matched)})


def _one_of_many(workspace: Workspace, name: str, share: int) -> tuple[str, dict[str, Any]]:
    try:
        return _shown(_read(workspace, name_of(name), "", _MOST_LINES), max(100, share - 500))
    except (RAGError, ArgumentError) as error:
        told = error_details(error) if isinstance(error, RAGError) else {"message": str(error)}
        text = error_text(error) if isinstance(error, RAGError) else str(error)
        return f"{clean_line(name)[:200]}: {text}"[:1000], {"note": name, "error": told}


def _read(workspace: Workspace, name: str, part: str, most: int) -> NoteReport:
    link = _LINK.match(name) if part else None
    return workspace.get_note(f"{link['target'] if link else name}{part}", limits=Limits(most))


def _shown(report: NoteReport, most: int) -> tuple[str, dict[str, Any]]:
    """Return a note as text and as data.

    :param most: characters of its lines.
    """
    row = report.note.row
    lines = clean_lines(report.lines, report.first) if report.lines else []
    kept, is_cut = that_fit(lines, most)
    last = report.first + len(report.lines) - 1
    total = last + report.more  # the last line of what was asked for
    if len(kept) < len(lines):
        last = lines[len(kept)].number - 1
    following = last + 1 if last < total else 0
    head = f"{clean_line(row.title)}\n{clean_line(f'{row.vault}/{row.path}')}"
    facts = [f"id {row.id[:8]}", f"{row.lines} lines", f"lines {report.first}-{last} here"]
    facts += (
        [f"tags {' '.join(f'#{clean_line(tag)}' for tag in row.tags[:12])}"] if row.tags else []
    )
    facts += [f"created {row.created[:10]}"] if row.created else []
    body = numbered(kept) if kept else "(no lines)"
    parts = [as_data(f"{head}\n{' · '.join(facts)}\n{body}")]
    parts += [f"Note: {worded(report.notice)}"] if report.notice else []
    parts += [f"Line {last} is longer than there is room for, and cut."] if is_cut else []
    if following:
        parts.append(f"There is more, up to line {total}: go on with from_line {following}.")
    structured = {
        "id": row.id,
        "vault": row.vault,
        "path": row.path,
        "title": clean_line(row.title),
        "uri": uri_of(row.vault, row.path),
        "line_start": report.first,
        "line_end": last,
        "content": "\n".join(line.text for line in kept),
        **({"next_line": following} if following else {}),
    }
    return "\n".join(parts), structured
