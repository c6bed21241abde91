"""Links between notes in schema 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.notes.links import LinksReport, Step
    from rag.index.links.matching import NamedNote
    from rag.index.links.tables import Link


def links_to_json(report: LinksReport) -> dict[str, Any]:
    """Return the links that were walked as schema 1 has them."""
    return {
        "note": vars(report.note),
        "direction": report.direction,
        "links": [_step_to_json(step) for step in report.steps],
        "total": report.total,
    }


def _step_to_json(step: Step) -> dict[str, Any]:
    return {"depth": step.depth, "direction": step.direction, **link_to_json(step.link)}


def link_to_json(link: Link) -> dict[str, Any]:
    """Return a link as schema 1 has it: whence, its line and target, and the notes it may mean."""
    state = "ok" if link.is_clear else "ambiguous" if link.notes else "broken"
    return {
        "from": _named_to_json(link.source),
        "line": link.line,
        "target": link.target,
        "state": state,
        "to": [_named_to_json(note) for note in link.notes],
    }


def _named_to_json(note: NamedNote) -> dict[str, Any]:
    return {"vault": note.vault, "path": note.path, "title": note.title}
