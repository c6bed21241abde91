"""Runs of the indexer in schema 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.sync import SyncCopy, SyncPreview, SyncReport
    from rag.indexing.embedding_facts import EmbeddingReport


def sync_to_json(report: SyncReport) -> dict[str, Any]:
    """Return what a run did."""
    run = report.run
    vaults = {
        vault.vault: {
            "added": vault.added,
            "changed": vault.changed,
            "deleted": vault.deleted,
            "unchanged": vault.unchanged,
            "chunks_written": vault.chunks,
            "kept": vault.kept,
            "problem": vault.problem,
            "failed": vault.failed,
            "problems": vault.problems,
            "notices": vault.notices,
        }
        for vault in run.vaults.values()
    }
    return {
        "vaults": vaults,
        "notes": run.notes,
        "chunks": run.chunks,
        "published": run.published,
        "embedding": _embedding(run.embedding) if run.embedding else None,
        "notices": run.notices,
        "elapsed_ms": round(report.seconds * 1000),
    }


def _embedding(report: EmbeddingReport) -> dict[str, Any]:
    return {
        "made": report.made,
        "reused": report.reused,
        "unreadable": report.unreadable,
        "failed": report.failed,
        "left": report.left,
    }


def preview_to_json(report: SyncPreview) -> dict[str, Any]:
    """Return what a run would do."""
    vaults = {
        changes.vault: {
            "added": [file.path for file in changes.added],
            "changed": [file.path for file in changes.changed],
            "deleted": sorted(changes.deleted),
            "unchanged": changes.unchanged,
            "problem": changes.problem,
        }
        for changes in report.changes
    }
    return {"dry_run": True, "vaults": vaults}


def copy_to_json(report: SyncCopy) -> dict[str, Any]:
    """Return what was copied to a server."""
    return {"copied": asdict(report.copied), "elapsed_ms": round(report.seconds * 1000)}
