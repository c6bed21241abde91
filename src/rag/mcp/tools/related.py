"""The tool `related`: notes related to a note, or those that links lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.app.requests import LinksRequest, RelatedRequest
from rag.mcp.library import Library
from rag.mcp.protocol import ArgumentError, Call, note_name
from rag.mcp.remedies import worded
from rag.mcp.results import Result, clean, clean_line, listed, noted
from rag.text.messages import brief, plural

if TYPE_CHECKING:
    from rag.app.related import RelatedNote, RelatedReport
    from rag.app.related.walk import LinksReport, Step
    from rag.mcp.requests import Related

_PASSAGE = 300  # characters


def run(library: Library, asked: Related, call: Call) -> Result:
    """Return the notes related to a note; with `links`, those that its links lead to.

    :raises ArgumentError: for a name that is none, and for arguments that do not go together.
    :raises RAGError: as `Workspace.related` and `Workspace.links`.
    """
    name = note_name(asked.note)
    if asked.depth and not asked.links:
        raise ArgumentError("depth goes with links")
    if asked.links and (asked.include_linked or asked.min_score):
        other = "include_linked" if asked.include_linked else "min_score"
        raise ArgumentError(f"{other} does not go with links")
    with library.reader() as workspace:
        call.check()
        if asked.links:
            walk = LinksRequest(name, asked.links, asked.depth or 1)
            return _linked(workspace.links(walk))
        request = RelatedRequest(
            name,
            limit=asked.limit,
            include_linked=asked.include_linked,
            min_score=asked.min_score,
        )
        return _related(workspace.related(request))


def _related(report: RelatedReport) -> Result:
    title = brief(clean_line(report.note.row.title), 200)
    notices = [worded(notice) for notice in report.notices]
    if report.left_out:
        notices.append(f"{plural(report.left_out, 'note')} that it is linked with left out")
    blocks = [_block(number, one) for number, one in enumerate(report.results, 1)]
    head = f"Related notes, by {report.by}, best first." if blocks else "No note is related to it."
    return Result(head, "\n".join(filter(None, [f"of {title}", listed(blocks), noted(notices)])))


def _block(number: int, found: RelatedNote) -> str:
    """Return a related note as text: title, place, why, passages."""
    row, why = found.note.row, found.reasons
    parts = [f"words {', '.join(why.words)}" if why.words else ""]
    parts += [f"meaning {why.likeness:.2f}" if round(why.likeness, 2) else ""]
    parts += [f"tags {' '.join(f'#{brief(tag, 40)}' for tag in why.tags[:8])}" if why.tags else ""]
    if linking := len(why.linked_by):
        parts.append(f"{plural(linking, 'note')} {'links' if linking == 1 else 'link'} to both")
    score = f"  ({found.score:.2f})" if round(found.score, 2) else ""
    lines = [
        f"{number}. {brief(clean_line(row.title), 200)}{score}",
        f"{clean_line(f'{row.vault}/{row.path}')}  {brief(clean_line(found.link), 300)}",
        brief(clean_line(" · ".join(filter(None, parts))), 300),
        *(f"{one.line}: {brief(clean(one.text), _PASSAGE)}" for one in found.passages),
    ]
    return "\n   ".join(filter(None, lines))


def _linked(report: LinksReport) -> Result:
    if not report.steps:
        return Result("The note has no such links.")
    blocks = [_link_block(step) for step in report.steps]
    return Result("Links of the note, the nearest first.", listed(blocks, report.total))


def _link_block(step: Step) -> str:
    """Return a link as text: from where, and to what."""
    link = step.link
    source = f"{link.source.vault}/{link.source.path}:{link.line}"
    ends = ", ".join(f"{one.vault}/{one.path}" for one in link.notes) or link.target
    state = "" if link.is_clear else " (ambiguous)" if link.notes else " (broken)"
    return brief(clean_line(f"{step.depth}. {step.direction}: {source} → {ends}{state}"), 600)
