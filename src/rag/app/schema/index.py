"""An index, its vaults and its notes in schema 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rag.app.schema.related import link_to_json
from rag.support.vector_digest import shortened

if TYPE_CHECKING:
    from rag.app.notes import NoteReport, NotesReport
    from rag.app.status import StatusReport
    from rag.app.vaults import VaultChange, VaultsReport
    from rag.index.embedding_space import Embedded


def note_to_json(report: NoteReport) -> dict[str, Any]:
    """Return a note as schema 1 has it."""
    row = report.note.row
    return {
        "id": row.id,
        "vault": row.vault,
        "path": row.path,
        "file": str(report.note.file),
        "title": row.title,
        "aliases": row.aliases,
        "tags": row.tags,
        "created": row.created,
        "modified": row.modified,
        "links": [*row.links],
        "backlinks": [link_to_json(link) for link in report.backlinks],
        "problems": row.problems,
        "line_start": report.first,
        "line_end": max(report.first, report.first + len(report.lines) - 1),
        "content": "\n".join(report.lines),
        "notice": report.notice,
        **({"more": report.more} if report.more else {}),
    }


def notes_to_json(report: NotesReport) -> dict[str, Any]:
    """Return several notes as schema 1 has them."""
    return {"notes": [note_to_json(note) for note in report.notes]}


def status_to_json(report: StatusReport) -> dict[str, Any]:
    """Return the state of an index as schema 1 has it."""
    return {
        "index": {
            "path": report.path,
            "bytes": report.size,
            "notes": report.notes,
            "chunks": report.chunks,
            "indexed_at": report.indexed_at,
            "stale": None if report.changed is None else report.changed > 0,
            "changed": report.changed,
            "embedding": _embedded(report.embedded) if report.embedded else None,
            "server": asdict(report.server) if report.server else None,
            "writer": asdict(report.writer) if report.writer else None,
            "fingerprint": report.fingerprint,
        },
        "vaults": {
            vault.name: {
                "path": vault.path,
                "notes": vault.notes,
                "chunks": vault.chunks,
                "notices": vault.notices,
            }
            for vault in report.vaults
        },
        "not_indexed": report.not_indexed,
        "problems": [asdict(problem) for problem in report.problems],
        **_wrong_links(report),
        **_without_vectors(report),
    }


def _wrong_links(report: StatusReport) -> dict[str, Any]:
    """Return the links that lead to no one note, where they were asked for."""
    if report.wrong_links is None:
        return {}
    return {"links": [link_to_json(link) for link in report.wrong_links]}


def _without_vectors(report: StatusReport) -> dict[str, Any]:
    """Return how many chunks of which notes have no vector, where that was asked for."""
    if report.without_vectors is None:
        return {}
    return {
        "without_vectors": [
            {"vault": vault, "path": path, "chunks": chunks}
            for (vault, path), chunks in report.without_vectors.items()
        ]
    }


def _embedded(embedded: Embedded) -> dict[str, Any]:
    """Return how far chunks are embedded, and by what, as schema 1 has it."""
    facts = embedded.to_json()
    return facts | {"digest": shortened(facts["digest"])}


def vault_change_to_json(change: VaultChange) -> dict[str, Any]:
    """Return which vault was added or removed, and how many notes went with it."""
    return {"vault": change.name, "notes": change.notes, "notice": change.notice}


def vaults_to_json(report: VaultsReport) -> dict[str, Any]:
    """Return the vaults that are known."""
    return {
        "vaults": {
            vault.name: {"path": str(vault.path), "notes": vault.notes} for vault in report.vaults
        }
    }
