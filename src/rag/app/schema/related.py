"""Related notes in schema 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.related import RelatedNote, RelatedReport
    from rag.app.related.ranking import Passage


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
