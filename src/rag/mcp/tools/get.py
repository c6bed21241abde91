"""The tool `get`: lines of a note and how to go on, or its outline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag.app.notes import Limits
from rag.exceptions import Message
from rag.mcp.library import Library
from rag.mcp.protocol import ArgumentError, Call, note_name
from rag.mcp.remedies import worded
from rag.mcp.results import ROOM, Line, Result, clean_line, clean_lines, listed
from rag.text.messages import brief
from rag.vault.frontmatter import split_front_matter
from rag.vault.markdown import outline

if TYPE_CHECKING:
    from rag.app.notes import NoteReport
    from rag.app.workspace import Workspace
    from rag.index.note_rows import NoteRow
    from rag.mcp.requests import Get

_LINK = re.compile(r"!?\[\[(?P<target>[^\[\]|#]+)[^\[\]]*\]\]$")
_HEADER = 1_500  # characters for what is said of a note
_LAST_LINE = 999_999_999  # as a name of a note can hold
_MOST_LINES = 2_000


def run(library: Library, asked: Get, call: Call) -> Result:
    """Read a note.

    :raises ArgumentError: for a heading and a line at once.
    :raises RAGError: as `Workspace.get_note`.
    """
    heading = asked.heading.strip()
    if heading and asked.from_line:
        raise ArgumentError("give heading or from_line, not both")
    name, part = note_name(asked.note), ""
    if heading:
        part = f"#{heading.lstrip('#').strip()}"
    elif asked.from_line:
        part = f":{min(asked.from_line, _LAST_LINE)}"
    with library.reader() as workspace:
        if asked.outline:
            return _outline(workspace.get_note(name))
        lines, report = read(workspace, name, part)
    return shown(lines[: min(asked.max_lines, _MOST_LINES)], report, ROOM - _HEADER)


def read(workspace: Workspace, name: str, part: str = "") -> tuple[list[Line], NoteReport]:
    """Read a note, or a part of it, without what instructs a model.

    :param part: a heading or a line, as it is written after a name.
    """
    link = _LINK.match(name) if part else None
    name = link["target"] if link else name
    report = workspace.get_note(f"{name}{part}")
    before: list[str] = []  # of the paragraph that the part begins in: an order may begin there
    if report.first > 1 and part:
        row = report.note.row
        above = workspace.get_note(f"{row.vault}/{row.path}", limits=Limits(report.first - 1)).lines
        while above and above[-1].strip():
            before.insert(0, above.pop())
    lines = clean_lines([*before, *report.lines], report.first - len(before))
    return [line for line in lines if line.number >= report.first], report


def shown(lines: list[Line], report: NoteReport, most: int) -> Result:
    """Return a note as far as there is room.

    :param most: characters of its lines.
    """
    kept, is_cut = _that_fit(lines, most) if report.lines else ([], False)
    last = end = report.first + len(report.lines) - 1
    if kept:
        following = [line.number for line in lines if line.number > kept[-1].number]
        last = following[0] - 1 if following else kept[-1].number
        if lines[-1].number <= kept[-1].number and last < end:
            last = kept[-1].number
    facts = [f"lines {report.first}-{last} of {report.note.row.lines}", *_facts(report.note.row)]
    wide = len(str(kept[-1].number)) if kept else 1
    body = [f"{line.number:>{wide}}  {line.text}" for line in kept] or ["(no lines)"]
    if report.notice:
        body.append(f"Note: {worded(Message(report.notice))}")
    tail = [f"Line {last} is longer than there is room for, and cut."] if is_cut else []
    if last < end:
        tail.append(f"There is more, up to line {end}: go on with from_line {last + 1}.")
    return Result("", "\n".join([*_head(report), " · ".join(facts), *body]), "\n".join(tail))


def _outline(report: NoteReport) -> Result:
    """Return the headings of a note with their lines, and what its front matter says."""
    row, lines = report.note.row, report.lines
    headings = outline(lines, split_front_matter(lines)).headings
    shown = [
        f"{one.line + 1}  {'#' * one.level} {brief(clean_line(one.text), 200)}" for one in headings
    ]
    facts = [f"{len(lines)} lines", *_facts(row)]
    facts += [f"modified {row.modified[:10]}"] if row.modified else []
    properties = [
        brief(clean_line(f"{name}: {', '.join(values)}"), 200)
        for name, values in [*row.fields.items()][:20]
    ]
    head = [*_head(report), " · ".join(facts), *properties]
    return Result("", "\n".join([*head, listed(shown) or "(no headings)"]))


def _head(report: NoteReport) -> list[str]:
    row = report.note.row
    return [brief(clean_line(row.title), 300), clean_line(f"{row.vault}/{row.path}")]


def _facts(row: NoteRow) -> list[str]:
    tags = [f"#{brief(clean_line(tag), 40)}" for tag in row.tags[:12]]
    more = [f"… and {len(row.tags) - 12} more"] if len(row.tags) > 12 else []
    facts = [" ".join(["tags", *tags, *more])] if tags else []
    return facts + ([f"created {row.created[:10]}"] if row.created else [])


def _that_fit(lines: list[Line], most: int) -> tuple[list[Line], bool]:
    """Return the first lines that fit into a number of characters, at least one.

    :returns: also whether the first was cut, since it is too long by itself.
    """
    wide, size = len(str(lines[-1].number)) + 3, 0
    for kept, line in enumerate(lines):
        size += len(line.text) + wide
        if size > most:
            if kept:
                return lines[:kept], False
            return [Line(line.number, line.text[: max(0, most - wide)] + "…")], True
    return lines, False
