"""The index: what its manifest says, whether its files are whole, what its store holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.app.doctor.check import (
    INDEX_ANEW,
    CheckResult,
    Checks,
    Examination,
    failure,
    passed,
    warning,
)
from rag.app.index_state import count_changed, open_index
from rag.config import RAGConfig
from rag.exceptions import INDEX_FROM_NOTES, REBUILD_INDEX, RUN_INDEX, IndexUnavailableError
from rag.index.checksums import find_damage
from rag.index.embedding_space import read_embedded
from rag.index.fingerprint import fingerprint
from rag.index.snapshots import CURRENT, IndexDirectory
from rag.support.sparse_files import disk_usage
from rag.text.messages import plural

if TYPE_CHECKING:
    from rag.index.manifest import Manifest

_WRITE_MISSING = "`rag index` writes what is missing."

_SECONDS = 5.0  # for looking whether notes changed
_SAMPLE = 40  # chunks
_NAMED = 3  # damaged files that a message names


def check_index(examination: Examination) -> Iterator[CheckResult]:
    """Tell what the index holds, whether it is as the settings want it, and how old it is."""
    config = examination.config
    with open_index(config) as manifest:
        examination.has_index, examination.embedded = True, read_embedded(manifest)
        yield _check_content(config, manifest)
        changed, since = count_changed(manifest, config, _SECONDS), manifest.get("indexed_at")
        problems = sum(1 for _ in manifest.notes("problems != '[]'"))
    facts = {"indexed_at": since, "changed": changed}
    if changed:
        message = f"{plural(changed, 'note')} changed since {since}"
        yield warning("freshness", message, RUN_INDEX, **facts)
    elif changed is None:
        message = f"indexed {since}; whether notes changed since is not known here"
        yield passed("freshness", message, **facts)
    else:
        yield passed("freshness", f"nothing changed since {since}", **facts)
    if problems:
        message = f"{plural(problems, 'note')} could not be read as meant"
        yield warning("notes", message, "`rag status --problems` lists them.", notes=problems)


def _check_content(config: RAGConfig, manifest: Manifest) -> CheckResult:
    path, (notes, chunks) = str(config.index_dir), manifest.totals()
    size = disk_usage(config.index_dir)
    facts: dict[str, Any] = {"path": path, "notes": notes, "chunks": chunks, "bytes": size}
    if not chunks:
        return warning(
            "index",
            f"it holds nothing ({path})",
            "`rag vault list` shows what should be in it; `rag index FOLDER` adds to it.",
            **facts,
        )
    indexed, wanted = json.loads(manifest.get("fingerprint")), json.loads(fingerprint(config))
    if changed := sorted(name for name in wanted if indexed.get(name) != wanted[name]):
        message = f"it was made with other settings ({', '.join(changed)})"
        return warning("index", message, INDEX_ANEW, **facts)
    message = f"{plural(notes, 'note')}, {plural(chunks, 'chunk')}, {size / 1e6:,.1f} MB"
    return passed("index", message, **facts)


def check_files(examination: Examination) -> Iterator[CheckResult]:
    """Read every file of the index, and compare it with its checksum.

    A staging index that is being written, or whose writer was killed, is left out.
    """
    directory = IndexDirectory(examination.config.index_dir)
    for file, kind in directory.strange_files():
        if file.name != CURRENT:  # without which no index is read, as is told already
            hint = f"Move {file} away, then run `rag index`."
            yield failure("files", f"{file} is {kind}, and should be a file", hint)
    try:
        snapshot = directory.open_current()
    except IndexUnavailableError:  # told already
        return
    with snapshot:
        names = find_damage(snapshot.path, all_read=True, remember=False)
    if names is None:
        message = "an older version of rag made it, and no checksums of its files"
        yield warning("files", message, _WRITE_MISSING)
        return
    damaged = [f"{snapshot.name}/{name}" for name in names]
    damaged += [f"{directory.work.name}/{name}" for name in directory.working.damage()]
    if damaged:
        message = f"damaged: {', '.join(damaged[:_NAMED])}"
        yield failure("files", message, INDEX_FROM_NOTES, damaged=damaged)
    else:
        yield passed("files", "all hold what was written into them", damaged=damaged)


def check_chunks(examination: Examination) -> Iterator[CheckResult]:
    """Count the store's chunks, and read some from all over the index, always the same."""
    from rag.stores import get_document_store

    if not examination.has_index:
        return
    on_server = bool(examination.config.store.url)
    with get_document_store(examination.config) as store, store.pinned():
        manifest, stored = store.manifest(), store.count_documents()
        expected = manifest.expected_points() if manifest else None
        facts = {"expected": expected, "found": stored}
        # More on a server are no harm: see `QdrantServerDocumentStore.missing_points`.
        surplus = stored - (expected or 0)
        if manifest is None or surplus < 0 or (surplus and not on_server):
            message = f"the store holds {plural(stored, 'chunk')}, the manifest names {expected}"
            hint = _WRITE_MISSING if on_server else REBUILD_INDEX
            yield failure("chunks", message, hint, **facts)
            return
        ids = [key.id for row in manifest.notes("length(chunks) > 0") for key in row.chunks]
        step = max(len(ids) / _SAMPLE, 1.0)
        ids = [ids[int(at * step)] for at in range(min(len(ids), _SAMPLE))]
        documents, vectors = store.get_documents(ids), store.embeddings_of(ids)
    examination.sample = [
        replace(one, embedding=vectors[one.id][0] if one.id in vectors else None)
        for one in documents
    ]
    facts["sample"] = len(ids)
    if lost := len(ids) - len(documents):
        message = f"of {plural(len(ids), 'chunk')} looked at, {lost} lost"
        yield failure("chunks", message, REBUILD_INDEX, **facts, lost=lost)
    else:
        yield passed("chunks", f"{expected:,}, as the manifest says", **facts)


CHECKS: Checks = [("index", check_index), ("files", check_files), ("chunks", check_chunks)]
