"""Related notes in schema 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.related import Passage, RelatedNote, RelatedReport
    from rag.app.related.walk import LinksReport, Step
    from rag.index.links.matching import NamedNote
    from rag.index.links.tables import Link


def related_to_json(report: RelatedReport) -> dict[str, Any]:
    """Return the notes related to one as schema 1 has them."""
    row = report.note.row
    return {
        "note": {"id": row.id, "vault": row.vault, "path": row.path, "title": row.title},
        "by": report.by,
        "notices": report.notices,
        "results": [
            {"rank": rank, **_note_to_json(found)} for rank, found in enumerate(report.results, 1)
        ],
        "total": len(report.results),
        "left_out": report.left_out,
        "elapsed_ms": report.milliseconds,
        "index": report.index.to_json(),
    }


def _note_to_json(found: RelatedNote) -> dict[str, Any]:
    row, why = found.note.row, found.reasons
    return {
        "score": round(found.score, 6),
        "id": row.id,
        "vault": row.vault,
        "path": row.path,
        "file": str(found.note.file),
        "title": row.title,
        "tags": row.tags,
        "created": row.created,
        "link": found.link,
        "linked": found.linked,
        "passages": [_passage_to_json(passage) for passage in found.passages],
        "reasons": {**asdict(why), "likeness": round(why.likeness, 6)},
    }


def _passage_to_json(passage: Passage) -> dict[str, Any]:
    return {"line": passage.line, "text": passage.text, "score": round(passage.score, 6)}


def links_to_json(report: LinksReport) -> dict[str, Any]:
    """Return the links that were walked as schema 1 has them."""
    row = report.note.row
    return {
        "note": {"id": row.id, "vault": row.vault, "path": row.path, "title": row.title},
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
