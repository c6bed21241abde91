"""The state of an index, and of the notes in it."""

from __future__ import annotations

from json import loads

from rag.app.reports import NoteProblems, ServerAddress, StatusReport, VaultStatus
from rag.config import RAGConfig
from rag.index.embedding_space import read_embedded
from rag.index.lookup import open_manifest
from rag.index.vault_registry import configured_vaults
from rag.indexing.changes import count_stale
from rag.support.sparse_files import disk_usage

_PATIENCE = 5  # seconds for a look at all notes


def read_status(config: RAGConfig) -> StatusReport:
    """Look at an index and at its notes.

    :raises IndexUnavailableError: when there is no index.
    """
    store = config.store
    with open_manifest(config) as manifest:
        counts, roots = manifest.counts(), manifest.vaults()
        return StatusReport(
            path=str(config.index_dir),
            size=disk_usage(config.index_dir),
            notes=sum(notes for notes, _ in counts.values()),
            chunks=sum(chunks for _, chunks in counts.values()),
            indexed_at=manifest.get("indexed_at"),
            changed=count_stale(manifest, config.index.ignore, seconds=_PATIENCE),
            embedded=read_embedded(manifest),
            server=ServerAddress(store.url, store.collection) if store.url else None,
            fingerprint=loads(manifest.get("fingerprint", "{}")),
            vaults=[
                VaultStatus(name, root, *counts.get(name, (0, 0))) for name, root in roots.items()
            ],
            not_indexed=sorted(set(configured_vaults(config)) - set(roots)),
            problems=[
                NoteProblems(row.vault, row.path, row.failed, row.problems)
                for row in manifest.notes("problems != '[]'")
            ],
        )
