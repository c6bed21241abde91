"""Copying an embedded index to a Qdrant server: the same points, nothing read or embedded again."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace

from rag.config import RAGConfig, StoreConfig
from rag.exceptions import IndexUnavailableError, UsageError
from rag.index.manifest import Manifest, readable
from rag.index.snapshots import MANIFEST
from rag.indexing.reports import Progress, unseen
from rag.stores.base.document_store import BaseDocumentStore

_PAGE = 100  # points; Ctrl-C waits until these are written
_PROGRESS = "COPIED"  # what was copied by a run that was broken off, in the folder of the target


@dataclass(frozen=True)
class CopyReport:
    """What was copied, and to where; `resumed` chunks were there from a run broken off."""

    url: str
    collection: str
    notes: int
    chunks: int
    embedded: int
    resumed: int


def copy_to_server(
    config: RAGConfig, progress: Progress | None = None, wait: bool = False
) -> CopyReport:
    """Copy the embedded index, with its vectors, to the configured server.

    It may be broken off and run again: it goes on where it was. The server's index takes the
    place of the one that was there, and is searched from now on wherever `store.url` is set.

    :param progress: is told the chunks done and all of them.
    :param wait: wait for another writer instead of failing.
    :raises UsageError: when no server is configured, or when the collection is another's.
    :raises IndexUnavailableError: when there is no embedded index, or one of another version.
    :raises ConnectionError: when the server does not answer.
    :raises LockedError: when another process writes the server's index.
    """
    from rag.stores import get_document_store

    if not config.store.url:
        raise UsageError(
            "no server is configured",
            hint="RAG_STORE__URL=http://127.0.0.1:6333 rag index --to-server",
        )
    embedded = replace(config, store=StoreConfig())
    with get_document_store(embedded) as source, get_document_store(config) as target:
        if not source.is_readable:
            raise IndexUnavailableError(
                "there is no embedded index to copy",
                source.path,
                hint="Index straight into the server with `rag index`.",
            )
        with source.pinned():
            manifest = source.manifest()
            if manifest is None or not readable(manifest.get("fingerprint")):
                raise IndexUnavailableError(
                    "the embedded index was made by another version of rag",
                    source.path,
                    hint="Index straight into the server with `rag index`.",
                )
            target.begin_writing(wait)
            resumed = _copy_points(source, manifest, target, progress or unseen)
            _publish(manifest, target)
            notes, chunks = manifest.totals()
            return CopyReport(
                url=config.store.url,
                collection=config.store.collection,
                notes=notes,
                chunks=chunks,
                embedded=source.count_embedded(),
                resumed=resumed,
            )


def _copy_points(
    source: BaseDocumentStore, manifest: Manifest, target: BaseDocumentStore, progress: Progress
) -> int:
    """Write all points of one store into the other; return how many were there already.

    The next points are read while the server writes those before.
    """
    snapshot = f"{manifest.revision} {manifest.get('indexed_at')}"
    _forget_what_was_there(target)
    _fit_embeddings(source, target)
    done, offset = _resume(target, snapshot)
    resumed, total = done, source.count_documents()
    with ThreadPoolExecutor(1, "copying") as sender:
        sent, size = sender.submit(target.upsert, ()), 0
        for points, following in source.point_pages(_PAGE, offset, vectors=True):
            sent.result()
            done += size
            state = {"generation": snapshot, "done": done, "next": offset}
            (target.directory.path / _PROGRESS).write_text(json.dumps(state), "utf-8")
            progress(done, total)
            sent = sender.submit(target.upsert, points)
            size, offset = len(points), following
        sent.result()
    target.counts.take(source.frequencies())
    progress(total, total)
    return resumed


def _fit_embeddings(source: BaseDocumentStore, target: BaseDocumentStore) -> None:
    """Make room for the embeddings of the source in the target, where it has none of this size."""
    wanted, found = source.embedding_dim, target.embedding_dim
    if found not in (None, wanted):
        (target.directory.path / _PROGRESS).unlink(missing_ok=True)
        target.drop_embeddings()
        found = None
    if wanted and not found:
        target.add_dense_space(wanted)


def _forget_what_was_there(target: BaseDocumentStore) -> None:
    """Make ready to overwrite the points: should the copy be broken off, `rag index` must write
    them all again, since no manifest tells any more which text each of them has."""
    directory = target.directory
    if (directory.work / MANIFEST).exists():  # `rag index` wrote since a copy was broken off
        (directory.path / _PROGRESS).unlink(missing_ok=True)
    directory.clear_work()


def _resume(target: BaseDocumentStore, snapshot: str) -> tuple[int, str | None]:
    """Return how many points of this snapshot the server has, and where to go on."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        state = json.loads((target.directory.path / _PROGRESS).read_text("utf-8"))
        is_there = target.count_documents() >= state["done"]
        if state["generation"] == snapshot and state["next"] and is_there:
            return int(state["done"]), str(state["next"])
    return 0, None


def _publish(manifest: Manifest, target: BaseDocumentStore) -> None:
    """Give the points copied their manifest; the next `rag index` goes on from it."""
    directory = target.directory
    # Should the server not hold them all, the next copy must not go on where this one ended.
    (directory.path / _PROGRESS).unlink(missing_ok=True)
    manifest.copy_to(directory.work / MANIFEST)
    with Manifest.open_work(directory.work / MANIFEST) as copy:
        number = copy.raise_revision(at_least=directory.newest())
    target.publish(number)
