"""An index on a Qdrant server: copying the embedded one there, and which machine writes it."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag.config import RAGConfig, StoreConfig
from rag.exceptions import IndexUnavailableError, UsageError
from rag.index.manifest import Manifest, readable
from rag.index.snapshots import MANIFEST, IndexDirectory
from rag.indexing.reports import Progress, unseen
from rag.stores.base.points import Page
from rag.stores.server.catalog import check_writer, claim, machine_id, open_catalog

if TYPE_CHECKING:
    from rag.stores.base.document_store import BaseDocumentStore

_PAGE = 100  # points; Ctrl-C waits until these are written


@dataclass(frozen=True)
class CopyReport:
    """What was copied, and to where."""

    url: str
    collection: str
    notes: int
    chunks: int
    embedded: int


# -- copying ---------------------------------------------------------------------------


def copy_to_server(
    config: RAGConfig, progress: Progress | None = None, wait: bool = False
) -> CopyReport:
    """Copy the embedded index, with its vectors, to the configured server, in the place of what was
    there: nothing is read or embedded again. One that is broken off is begun anew.

    :param progress: is told the chunks done and all of them.
    :raises UsageError: when no server is configured, or when the collection is another's.
    :raises IndexUnavailableError: when there is no embedded index, or one of another version.
    """
    from rag.stores import get_document_store

    if not config.store.url:
        raise UsageError(
            "no server is configured",
            hint="RAG_STORE__URL=http://127.0.0.1:6333 rag index --to-server",
        )
    embedded = replace(config, store=StoreConfig())
    with (
        get_document_store(embedded) as source,
        get_document_store(config) as target,
        source.pinned(),
    ):
        manifest = source.manifest()
        if manifest is None or not readable(manifest.get("fingerprint")):
            message = "there is no embedded index of this version of rag to copy"
            hint = "Index straight into the server with `rag index`."
            raise IndexUnavailableError(message, source.path, hint=hint)
        target.begin_writing(wait)
        # Should it be broken off, no manifest tells which text each point has: the next run
        # writes all of them again.
        target.directory.clear_work()
        _copy_points(source, target, progress or unseen)
        copied, snapshot = target.directory.work / MANIFEST, str(source.snapshot_name())
        shutil.copyfile(source.directory.path / snapshot / MANIFEST, copied)
        with Manifest.open_work(copied) as copy:
            copy.set(revision=str(target.directory.newest() + 1))
        target.publish()
        notes, chunks = manifest.totals()
        url, collection = config.store.url, config.store.collection
        return CopyReport(url, collection, notes, chunks, source.count_embedded())


def _copy_points(source: BaseDocumentStore, target: BaseDocumentStore, progress: Progress) -> None:
    """Write all points of one store into the other; the next ones are read while the server writes
    those before."""
    if target.embedding_dim not in (None, source.embedding_dim):
        target.drop_embeddings()
    if source.embedding_dim and not target.embedding_dim:
        target.add_dense_space(source.embedding_dim)
    done, total = 0, source.count_documents()
    with ThreadPoolExecutor(1, "copying") as sender:
        sent, size = sender.submit(target.upsert, ()), 0
        for points in source.point_pages(Page(_PAGE, vectors=True)):
            sent.result()
            done += size
            progress(done, total)
            sent, size = sender.submit(target.upsert, points), len(points)
        sent.result()
    progress(total, total)


# -- the machine that writes -----------------------------------------------------------


def require_writer(config: RAGConfig, directory: IndexDirectory) -> None:
    """Make sure, before anything is changed, that this machine may write the configured index.

    :raises UsageError: when another machine writes it; it says who, and since when.
    """
    with open_catalog(config.store) as catalog:
        check_writer(catalog.head(), machine_id(directory))


def take_over(config: RAGConfig, directory: IndexDirectory, wait: bool = False) -> str:
    """Let this machine write the configured index from now on; return whose it was, "" for
    nobody's.

    It goes on from the catalog on the server; a run that goes on elsewhere stops before its next
    write. After one that did not end, the next run here writes all chunks again.

    :raises LockedError: when a third machine takes over meanwhile.
    """
    with open_catalog(config.store) as catalog, directory.writing(wait):
        before, owner = catalog.head(), claim(directory)
        if before is None or before.machine in ("", owner["machine"]):
            return ""
        catalog.change(before, **owner)
        return before.name
