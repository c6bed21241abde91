"""The index as its manifest knows it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rag.app.doctor.check import Check, Examination, IndexView
from rag.app.index_state import count_changed, open_index
from rag.config import RAGConfig
from rag.exceptions import Message, Remedy
from rag.index.embedding_space import read_embedded
from rag.index.fingerprint import fingerprint
from rag.index.manifest import Manifest
from rag.support.sparse_files import disk_usage
from rag.text.messages import plural

_SECONDS = 5.0  # for looking at every file


def check_index(examination: Examination) -> Iterator[Check]:
    """Say what the index holds, whether it is as the settings want it, and how old it is.

    :raises IndexUnavailableError: when there is none, or one that cannot be read.
    """
    config = examination.config
    with open_index(config) as manifest:
        examination.index = IndexView(read_embedded(manifest))
        yield _check_settings(config, manifest)
        yield _check_freshness(config, manifest)
        bad = sum(1 for _ in manifest.notes("problems != '[]'"))
    if bad:
        message = f"{plural(bad, 'note')} could not be read as meant"
        yield Check("notes", "warn", message, Message(remedy=Remedy.LIST_PROBLEMS), {"notes": bad})


def _check_settings(config: RAGConfig, manifest: Manifest) -> Check:
    notes, chunks = manifest.totals()
    size = disk_usage(config.index_dir)
    facts = {"path": str(config.index_dir), "notes": notes, "chunks": chunks, "bytes": size}
    message = f"{plural(notes, 'note')}, {plural(chunks, 'chunk')}, {size / 1e6:,.1f} MB"
    if not chunks:
        hint = Message(remedy=Remedy.ADD_NOTES)
        return Check("index", "warn", f"it holds nothing ({config.index_dir})", hint, facts)
    made, wanted = json.loads(manifest.get("fingerprint")), json.loads(fingerprint(config))
    changed = sorted(name for name in wanted if made.get(name) != wanted[name])
    if changed:
        message = f"it was made with other settings ({', '.join(changed)})"
        return Check("index", "warn", message, Message(remedy=Remedy.INDEX_ANEW), facts)
    return Check("index", "pass", message, facts=facts)


def _check_freshness(config: RAGConfig, manifest: Manifest) -> Check:
    stale, since = count_changed(manifest, config, _SECONDS), manifest.get("indexed_at")
    facts = {"indexed_at": since, "changed": stale}
    if stale:
        message = f"{plural(stale, 'note')} changed since {since}"
        return Check("freshness", "warn", message, Message(remedy=Remedy.RUN_INDEX), facts)
    if stale is None:
        message = f"indexed {since}; whether notes changed since is not known here"
        return Check("freshness", "pass", message, facts=facts)
    return Check("freshness", "pass", f"nothing changed since {since}", facts=facts)
