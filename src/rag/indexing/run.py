"""Bringing an index up to date: one writer, small steps, and a whole snapshot at the end.

Every step may be the last one: a killed run leaves the published snapshot as it was, and the next
run begins with that. On a server, where it may have changed points, that writes all of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rag.config import RAGConfig
from rag.exceptions import IndexingError, IndexUnavailableError
from rag.index.embedding_space import (
    VECTORS,
    Embedded,
    Space,
    VectorCache,
    read_embedded,
    record_embedded,
)
from rag.index.manifest import (
    DAMAGE,
    Manifest,
    NoteRow,
    VaultFacts,
    fingerprint,
    published_manifest,
    read_facts,
    record_facts,
)
from rag.index.snapshots import IndexDirectory
from rag.indexing.changes import Changes, find_changes, record_found
from rag.indexing.note_reader import NoteChunk, NoteReader, ReadNote, failed_row
from rag.indexing.reports import Progress, RunReport, VaultReport, unseen
from rag.stores import open_directory
from rag.support.disk_space import is_of_full_disk
from rag.support.pipeline_parts import own_errors
from rag.vault.discovery import NoteFile

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.indexing.bulk_build import SegmentWriter
    from rag.stores.base.document_store import BaseDocumentStore

T = TypeVar("T")
ReadAgain = tuple[ReadNote, NoteRow | None]  # a note as it is, and as it was
WriteChunks = Callable[[Sequence[NoteChunk]], list[str]]

_BATCH_CHUNKS = 1000
MANY = 1_000_000  # bytes of new notes, which are written as segments
REPORTED = (IndexUnavailableError, *DAMAGE)  # what the engine and SQLite raise on damage


class IndexRun:
    """One visit of the writer, which brings vaults up to date; a context manager that holds the
    index's lock.

    :param pipeline: the pipeline that embeds and writes; made when first needed.
    :param rebuild: forget what is there and read every note again.
    :param wait: wait for another writer instead of failing with a `LockedError`.
    """

    _store: BaseDocumentStore | None
    _resources: ExitStack

    def __init__(
        self,
        config: RAGConfig,
        directory: IndexDirectory | None = None,
        pipeline: Pipeline | None = None,
        rebuild: bool = False,
        wait: bool = False,
    ) -> None:
        self.config = config
        self.directory = directory or open_directory(config)
        self.report = RunReport()
        self.is_open = False
        self._users_pipeline = pipeline
        self._rebuild, self._wait = rebuild, wait
        self._is_on_server = bool(config.store.url)
        self.manifest = Manifest.empty()  # of the staging index, once that is open
        self._requested: dict[str, tuple[Path, bool]] = {}  # vault -> folder, prune

    # -- opening and closing -----------------------------------------------------------

    def __enter__(self) -> Self:
        self._open(self._rebuild, self._wait)
        return self

    def __exit__(self, *error: Any) -> None:
        """Release everything; what was written stays.

        :raises DiskFullError: in the place of what failed for lack of room.
        """
        if self.is_open:
            self.is_open = False
            self._resources.__exit__(*error)

    def _open(self, rebuild: bool, wait: bool, brief: bool = False) -> None:
        """Take the lock and read the manifest."""
        pipeline = self._pipeline = self._users_pipeline
        writer: Any = pipeline.get_component("writer") if pipeline else None
        self._store = writer.document_store if writer else None
        self._is_prepared = False
        self.is_rebuilding = False  # whether nothing of the staging index was published yet
        self._settled: set[str] = set()  # vaults that the staging index holds as they are now
        self._vectors: VectorCache | None = None
        self._without_vector = 0  # chunks written without an embedding
        with ExitStack() as stack:
            stack.enter_context(self.directory.writing(wait, brief))
            stack.enter_context(self.directory.disk_in_view())
            stack.callback(lambda: self.manifest.close())
            self._open_manifest(rebuild)
            self.directory.sweep()  # after runs and searches that were killed
            if self._store is not None:
                stack.callback(self._store.close)
            self._resources = stack.pop_all()
        self.is_open = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let other processes write the index; then wait until they have."""
        if self._users_pipeline is not None:  # who may have its store open
            yield
            return
        self.publish()  # or it would be lost
        self.__exit__(None, None, None)
        yield
        self._open(rebuild=False, wait=True, brief=True)
        self.prepare()

    # -- the manifest ------------------------------------------------------------------

    def _open_manifest(self, rebuild: bool) -> None:
        """Open the manifest; make the index anew when it does not fit or is damaged."""
        if rebuild:
            self.directory.clear_work()
        why = ""
        try:
            self.manifest = Manifest.open_writer(self.directory)
            made_by = self.manifest.get("fingerprint")
            if not made_by and self.directory.has_work:
                self._begin()
            elif made_by != fingerprint(self.config):
                why = "the settings or the program changed how notes are indexed"
            elif damaged := self.directory.damage():
                why = f"the index was damaged ({damaged[0]})"
        except REPORTED as error:
            if is_of_full_disk(error, self.directory.path):
                raise
            is_ours = isinstance(error, IndexUnavailableError)
            why = str(error) if is_ours else f"the index is damaged ({error})"
        if why:
            self.rebuild(why)

    def rebuild_after(self, error: Exception) -> None:
        """Make the index anew after the engine or SQLite failed on what is there; raise the error
        again on a server, and of a full disk."""
        if self._is_on_server or is_of_full_disk(error, self.directory.path):
            raise error
        self.rebuild(str(error))

    def rebuild(self, why: str) -> None:
        """Leave what is there, and make the index anew."""
        if self._store is not None:
            with suppress(IndexUnavailableError):  # it fails on what is damaged, but is closed then
                self._store.release()
        self.report.notices.append(f"{why}: the index is rebuilt")
        self.manifest.close()
        self.directory.clear_work()
        self.manifest = Manifest.open_writer(self.directory)
        self._begin()

    def _begin(self) -> None:
        self.is_rebuilding = True
        self._settled.clear()
        self.manifest.set(fingerprint=fingerprint(self.config))
        if embedded := self._published(read_embedded):
            record_embedded(self.manifest, embedded)  # the vectors themselves are kept by text
        copied = self._published(lambda old: {v: read_facts(old, v).copied for v in old.vaults()})
        for vault, spans in copied.items():
            record_facts(self.manifest, vault, VaultFacts(spans))

    def _published(self, read: Callable[[Manifest], T]) -> T:
        """Return what is read of the manifest that readers see; of an empty one where there is none
        or it is damaged."""
        with suppress(*REPORTED, ValueError), published_manifest(self.directory) as manifest:
            return read(manifest)
        return read(Manifest.empty())

    def vaults(self) -> dict[str, Path]:
        """Return the folder of every vault in the index, of those yet to be restored too."""
        roots = self.manifest.vaults()
        if self.is_rebuilding:
            roots = self._published(Manifest.vaults) | roots
        return {name: Path(root) for name, root in roots.items()}

    # -- the points --------------------------------------------------------------------

    @property
    def store(self) -> BaseDocumentStore:
        """The store it writes to; `prepare` makes it."""
        assert self._store is not None
        return self._store

    def prepare(self) -> None:
        """Load what writing needs and make sure that manifest and shard agree, once."""
        if self._is_prepared:
            return
        if self._store is None:
            from rag.stores import get_document_store

            self._store = get_document_store(self.config, self.directory)
            self._resources.callback(self._store.close)
        self.store.begin_writing()
        self._is_prepared = True
        why = ""
        if self.store.is_unfinished:
            why = "" if self.is_rebuilding else "the last run did not end"
        elif self._is_on_server or self.directory.has_work:  # else it was published together
            why = self._missing_points()
        if why:
            self.rebuild(why)

    def _missing_points(self) -> str:
        """Return what is wrong with the store, "" where it holds all chunks. More are no harm:
        those that no note has are deleted when a run is published."""
        count, expected = self.store.count_documents(), self.manifest.totals()[1]
        return f"the index held {count} of {expected} chunks" if count < expected else ""

    # -- one vault ---------------------------------------------------------------------

    def index_vault(
        self, vault: str, root: Path, prune: bool = False, progress: Progress | None = None
    ) -> VaultReport:
        """Bring one vault up to date in the staging index."""
        changes = find_changes(self.manifest, vault, root, self.config, prune)
        self.directory.notes_size += sum(file.size for file in (*changes.added, *changes.changed))
        if changes or self._is_on_server:
            manifest = self.manifest
            self.prepare()
            if self.manifest is not manifest:  # a server had lost what it held
                changes = find_changes(self.manifest, vault, root, self.config, prune)
        report = VaultReport(
            vault, unchanged=changes.unchanged, kept=changes.kept, problem=changes.problem
        )
        self.report.vaults[vault] = report
        if not changes.problem:
            self.manifest.set_vault(vault, str(root))
        if changes:
            self._write(changes, report, progress or unseen)
            self._delete(changes, report)
        for path, why in changes.unlisted.items():
            self._record_failure(vault, NoteFile(path, path, 0, 0), why, report)
        report.notices = record_found(self.manifest, changes)
        self._requested[vault] = root, prune
        self._settled.add(vault)
        if prune and changes.deleted and not self.manifest.stats(vault):
            self.manifest.drop_vault(vault)
        return report

    def read_again(self, rows: Iterable[NoteRow]) -> None:
        """Read files again that the index holds, and whose scanned pages were read."""
        for vault, some in groupby(rows, key=lambda row: row.vault):
            files = [NoteFile(row.path, row.file, row.size, row.mtime_ns) for row in some]
            copied = read_facts(self.manifest, vault).copied
            changes = Changes(vault, self.manifest.vaults()[vault], changed=files, copied=copied)
            self._write(changes, VaultReport(vault), unseen)

    def remove_vault(self, vault: str) -> int:
        """Take a vault's notes out of the index and return how many there were."""
        self._requested.pop(vault, None)
        self._settled.add(vault)
        paths = list(self.manifest.stats(vault))
        if paths:
            self.prepare()
            self._delete(Changes(vault, "", deleted=paths), VaultReport(vault))
        self.manifest.drop_vault(vault)
        return len(paths)

    def _write(self, changes: Changes, report: VaultReport, progress: Progress) -> None:
        with ExitStack() as stack:
            write, segments = self._write_chunks, self._segment_writer(changes.added)
            if segments:
                write = stack.enter_context(segments).write
            self._write_files(changes, changes.added, write, report, progress)
            if segments:
                segments.end()
        self._write_files(changes, changes.changed, self._write_chunks, report, progress)

    def _segment_writer(self, files: list[NoteFile]) -> SegmentWriter | None:
        """Return what writes new notes as segments, where they are many. Segments hold no
        embeddings, and are for an index of our own on this machine."""
        is_plain = self._users_pipeline is None and not self._is_on_server
        size = sum(file.size for file in files)
        if not is_plain or size < MANY or read_embedded(self.manifest) is not None:
            return None
        from rag.indexing.bulk_build import SegmentWriter
        from rag.support.processes import may_start

        store: Any = self.store
        with suppress(OSError):  # the system allows no other process
            return SegmentWriter(store) if may_start() else None
        return None

    def _write_files(
        self,
        changes: Changes,
        files: list[NoteFile],
        write: WriteChunks,
        report: VaultReport,
        progress: Progress,
    ) -> None:
        """Read files and write what is new in them."""
        vault, total = changes.vault, len(changes.added) + len(changes.changed)
        batch: list[ReadAgain] = []
        unchanged: list[NoteRow] = []  # the same text, to be recorded together
        is_touched = False  # whether the file of some has another time
        size = 0
        index, folder = self.config.index, self.directory.path
        reader = NoteReader(changes.root, vault, index, changes.copied, folder)
        start = 0 if files is changes.added else len(changes.added)
        for done, (file, read) in enumerate(reader.read_all(files), start):
            progress(done, total)
            before = self.manifest.note(vault, file.path)
            if isinstance(read, str):
                self._record_failure(vault, file, read, report)
                continue
            if read is None:
                if before:
                    changes.deleted.append(file.path)
                continue
            row = read.row
            if row.problems:
                report.problems[file.path] = row.problems
            if before is None:
                report.added += 1
            elif before.failed or before.hash != row.hash:
                report.changed += 1
            else:
                report.unchanged += 1
                row.indexed_at = before.indexed_at
                if before.chunks == row.chunks:
                    is_touched |= (before.times, before.state) != (row.times, row.state)
                    unchanged.append(row)
                    continue
            batch.append((read, before))
            size += len(read.chunks)
            if size >= _BATCH_CHUNKS:
                self._write_batch(batch, write, report)
                batch, size = [], 0
        if batch:
            self._write_batch(batch, write, report)
        self.manifest.refresh(unchanged, is_touched)
        progress(start + len(files), total)

    def _write_chunks(self, chunks: Sequence[NoteChunk]) -> list[str]:
        """Write chunks, with an embedding those whose text was embedded before; return the words
        they are written with."""
        from haystack import Document

        from rag.indexing.pipeline import VECTORS as EMBEDDER
        from rag.indexing.pipeline import create_indexing_pipeline, texts_of, write_vectors
        from rag.stores.base.points import Batch

        if self._pipeline is None:  # Haystack is not imported for less
            self._pipeline = create_indexing_pipeline(self.store, self.config)
        documents = Batch(Document(id=c.id, content=c.text, meta=c.meta) for c in chunks)
        inputs = {"embedder": {"documents": documents}, EMBEDDER: {"makes": False}}
        words: list[str] = self._pipeline.run(inputs)["embedder"]["words"]
        self._without_vector += len(chunks)
        if embedded := read_embedded(self.manifest):
            texts = texts_of(documents)
            needed = dict.fromkeys(chain.from_iterable(texts.values()))
            vectors = self.vectors.get(embedded.space.key, needed)
            self._without_vector -= len(write_vectors(self.store, texts, vectors))
        return words

    def _record_failure(self, vault: str, file: NoteFile, why: str, report: VaultReport) -> None:
        """Record a note that cannot be read; its chunks stay. Without news the revision stays."""
        report.failed[file.path] = why
        row = failed_row(self.manifest.note(vault, file.path), vault, file, why)
        if self.manifest.note(vault, file.path) != row:
            self.manifest.commit_write([row])

    def _write_batch(self, batch: list[ReadAgain], write: WriteChunks, report: VaultReport) -> None:
        """Write the changed chunks of some notes: points, then rows."""
        chunks: list[NoteChunk] = []
        stale: list[str] = []
        for note, before in batch:
            old = before.chunks if before else []
            wanted = {key.id for key in {*note.row.chunks} - {*old}}
            chunks += [chunk for chunk in note.chunks if chunk.id in wanted]
            stale += {key.id for key in old} - {key.id for key in note.row.chunks}
        if chunks:
            with own_errors(IndexingError, "the indexing pipeline failed"):
                words = write(chunks)
            self.manifest.add_words(words)
        self.manifest.commit_write(note.row for note, _ in batch)
        self.store.delete_documents(stale)  # last: points that no row has are deleted some day
        report.chunks_written += len(chunks)

    def _delete(self, changes: Changes, report: VaultReport) -> None:
        notes = (self.manifest.note(changes.vault, path) for path in changes.deleted)
        if rows := [*filter(None, notes)]:
            self.manifest.forget(changes.vault, changes.deleted)
            self.store.delete_documents([key.id for row in rows for key in row.chunks])
            report.deleted += len(rows)

    # -- what readers see --------------------------------------------------------------

    @property
    def _is_published(self) -> bool:
        """Whether readers see the staging index as it is."""
        if self.directory.has_work:
            return False
        return not self._is_on_server or (self._is_prepared and self.store.is_shared)

    def publish(self) -> None:
        """Make what was written the snapshot that readers see, unless it is already."""
        if not self._is_published:
            self.prepare()
        self._complete()
        self.report.notes, self.report.chunks = self.manifest.totals()
        if self._is_published:
            return
        self.prepare()
        if missing := self._missing_points():
            # A segment that the engine did not take for what it is.
            raise IndexingError(missing, hint="Run `rag index` again: the index is rebuilt.")
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        totals = f"{self.report.notes} {self.report.chunks}"
        revision = str(self.directory.newest() + 1)
        self.manifest.set(indexed_at=now, revision=revision, totals=totals)
        self.record_embedding()
        self.manifest.close()  # its file is copied
        try:
            self.store.publish()
        finally:
            self.manifest = Manifest.open_writer(self.directory)
        self.report.published, self.is_rebuilding = True, False

    def _complete(self) -> None:
        """Bring the other vaults up to date too, after a new start: readers must not lose what this
        run was not asked for.

        :raises IndexingError: when notes that readers see cannot be read any more.
        """
        if not self.is_rebuilding:
            return
        roots = {vault: (root, False) for vault, root in self.vaults().items()}
        for vault, (root, prune) in (roots | self._requested).items():
            if vault not in self._settled:
                self.index_vault(vault, root, prune)
        readable = [(vault, f"{path}/") for vault, path, *_ in self._published(Manifest.names)]
        for name, report in self.report.vaults.items():
            if self._requested.get(name, (None, False))[1]:  # it may lose notes
                continue
            reasons = [report.problem] if report.problem and name in roots else []
            for path, why in report.failed.items():
                if any(vault == name and note.startswith(f"{path}/") for vault, note in readable):
                    reasons.append(f"{path}: {why}")
            if reasons:
                raise IndexingError(
                    f"the index must be rebuilt, but vault {name!r} cannot be read as before",
                    reasons[0],
                    hint="Make it readable and run `rag index`, or go on without with"
                    " `rag index --prune`. Until then searches use the old index.",
                )

    # -- embeddings --------------------------------------------------------------------

    @property
    def vectors(self) -> VectorCache:
        """The vectors of texts that were embedded before."""
        if self._vectors is None:
            self._vectors = VectorCache(self.directory.path / VECTORS)
            self._resources.callback(self._vectors.close)
        return self._vectors

    def begin_space(self, space: Space) -> None:
        """Make room for embeddings of a space; those of any other go."""
        self._without_vector = 0
        embedded = read_embedded(self.manifest)
        if embedded is None or embedded.space != space:
            self.store.drop_embeddings()
            record_embedded(self.manifest, Embedded(space))

    def record_embedding(self, **facts: Any) -> None:
        """Bring what the manifest says of the embeddings in step with the store; `facts` are what
        else it is to say of them."""
        if embedded := read_embedded(self.manifest):
            chunks, done = self.store.count_documents(), self.store.count_embedded()
            # What was written now and has none is not known to be unreadable.
            unreadable = min(embedded.unreadable, max(0, chunks - done - self._without_vector))
            facts = {"unreadable": unreadable, **facts}
            now = replace(embedded, chunks=chunks, embedded=done, **facts)
            record_embedded(self.manifest, now)
