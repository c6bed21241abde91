"""Bringing an index up to date: one writer, small steps, and a whole snapshot at the end.

Every step may be the last one: a killed run leaves the published snapshot as it was, and the next
run begins with that; on a server, with what the manifest of the staging index knows of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag.clients.factory import embedding_provider, resolved
from rag.config import ModelsConfig, RAGConfig
from rag.exceptions import (
    ConnectionError,
    IndexingError,
    IndexUnavailableError,
    StoreConnectionError,
)
from rag.index.background import lacks_background
from rag.index.embedding_space import maker, may_lack_embeddings, read_embedded
from rag.index.manifest import Manifest
from rag.index.note_rows import NoteRow
from rag.index.snapshots import IndexDirectory
from rag.indexing.changes import Changes, find_changes, record_found
from rag.indexing.index_writer import IndexWriter
from rag.indexing.note_reader import ReadNote, failed_row, read_file
from rag.indexing.reports import Progress, RunReport, VaultReport, unseen
from rag.stores import open_directory
from rag.support.disk_space import disk_in_view
from rag.vault.discovery import NoteFile, Scan

if TYPE_CHECKING:
    from haystack import Pipeline

_BATCH_CHUNKS = 1000


class IndexRun:
    """One visit of the writer. Use it as a context manager; it holds the index's lock.

    :param config: the settings.
    :param pipeline: the pipeline that embeds and writes; made when first needed.
    :param directory: the index's folder.
    :param rebuild: forget what is there and read every note again.
    :param wait: wait for another writer instead of failing.
    :raises LockedError: when another process is writing.
    """

    def __init__(
        self,
        config: RAGConfig,
        directory: IndexDirectory | None = None,
        pipeline: Pipeline | None = None,
        rebuild: bool = False,
        wait: bool = False,
    ) -> None:
        self.config = config
        directory = directory or open_directory(config)
        self._pipeline = pipeline
        self.writer = IndexWriter(config, directory, pipeline, rebuild, wait)
        self.report = RunReport(notices=self.writer.notices)
        self.scans: dict[str, Scan] = {}  # what vaults held a moment ago, where somebody looked
        self._asked: dict[str, tuple[Path, bool]] = {}  # vault -> folder, prune
        self._seen: list[NoteRow] = []  # notes as they were, to be recorded together
        self._touched: list[NoteRow] = []  # the same text in a file with another time
        self._size = 0  # bytes of the notes that were to be written
        self.tell_size: Callable[[int], None] = lambda size: None  # is told the same

    def __enter__(self) -> IndexRun:
        with self._disk_in_view():
            self.writer.open()
        return self

    def __exit__(self, *_: object) -> None:
        with self._disk_in_view():
            self.writer.close()

    @contextmanager
    def _disk_in_view(self) -> Iterator[None]:
        """Say of what fails on a full disk that the disk is full."""
        directory = self.writer.directory

        def need() -> int:
            directory.clear_unfinished()  # which no run goes on with
            return directory.room_to_write(self._size)

        with disk_in_view(directory.path, need):
            yield

    @property
    def manifest(self) -> Manifest:
        """The manifest of the staging index."""
        return self.writer.manifest

    # -- one vault ---------------------------------------------------------------------

    def find_changes(self, vault: str, root: Path, prune: bool = False) -> Changes:
        """Compare a vault's folder with the index."""
        scan = self.scans.pop(vault, None)
        return find_changes(self.manifest, vault, root, self.config, prune, scan)

    def index_vault(
        self, vault: str, root: Path, prune: bool = False, progress: Progress | None = None
    ) -> VaultReport:
        """Bring one vault up to date in the staging index.

        :raises DiskFullError: when its disk has no room for it.
        """
        with self._disk_in_view():
            try:
                return self._index_vault(vault, root, prune, progress)
            except (IndexUnavailableError, sqlite3.DatabaseError) as error:
                self.writer.give_up(error)
                return self._index_vault(vault, root, prune, progress)

    def _index_vault(
        self, vault: str, root: Path, prune: bool, progress: Progress | None
    ) -> VaultReport:
        changes = self.find_changes(vault, root, prune)
        self._size += sum(file.size for file in (*changes.added, *changes.changed))
        self.tell_size(self._size)
        # A server may have lost what it held.
        if (changes or self.config.store.url) and self.writer.prepare():
            changes = self.find_changes(vault, root, prune)  # it may have been rebuilt
        report = VaultReport(vault, kept=changes.kept, problem=changes.problem)
        self.report.vaults[vault] = report
        report.unchanged = changes.unchanged
        if not changes.problem:
            self.manifest.set_vault(vault, str(root))
        if changes:
            self._write(changes, report, progress or unseen)
            self._delete(changes, report)
        self._record_unlisted(changes, report)
        self._record_twins(changes, report)
        report.notices = record_found(self.manifest, changes)
        self._asked[vault] = root, prune
        self.writer.settled.add(vault)
        if prune and changes.deleted and not self.manifest.stats(vault):
            self.manifest.drop_vault(vault)
        return report

    def remove_vault(self, vault: str) -> int:
        """Take a vault's notes out of the index and return how many there were."""
        with self._disk_in_view():
            return self._remove_vault(vault)

    def _remove_vault(self, vault: str) -> int:
        self._asked.pop(vault, None)
        self.writer.settled.add(vault)
        paths = list(self.manifest.stats(vault))
        if paths:
            self.writer.prepare()
            self._delete(Changes(vault, "", deleted=paths), VaultReport(vault))
        self.manifest.drop_vault(vault)
        return len(paths)

    def _write(self, changes: Changes, report: VaultReport, progress: Progress) -> None:
        total = len(changes.added) + len(changes.changed)
        is_bulk = self._write_in_bulk(changes, report, lambda done: progress(done, total))
        added = [] if is_bulk else changes.added
        files = [*((f, False) for f in added), *((f, True) for f in changes.changed)]
        batch: list[tuple[ReadNote, NoteRow | None]] = []
        size = 0
        for done, (file, known) in enumerate(files, total - len(files)):
            progress(done, total)
            before = self.manifest.note(changes.vault, file.path) if known else None
            read = self._read(changes, file, before, report)
            if read is None:
                continue
            batch.append((read, before))
            size += len(read.chunks)
            if size >= _BATCH_CHUNKS:
                self._write_batch(batch, report)
                batch, size = [], 0
        if batch:
            self._write_batch(batch, report)
        self.manifest.refresh(self._seen)
        if self._touched:
            self.manifest.commit_write(self._touched)
        self._seen, self._touched = [], []
        progress(total, total)

    def _write_in_bulk(
        self, changes: Changes, report: VaultReport, progress: Callable[[int], None]
    ) -> bool:
        """Write the new notes as segments where there are enough of them; tell whether it did."""
        if not (changes.added and self.writer.takes_segments):
            return False
        from rag.indexing.bulk_build import NoteBatch, split
        from rag.indexing.worker_pool import build_all

        index, home = self.config.index, str(self.writer.directory.path)
        batches = [
            NoteBatch(changes.vault, changes.root, run, index, home, changes.copied)
            for run in split(changes.added)
        ]
        if not batches:
            return False
        done = 0

        def count(more: int) -> None:
            nonlocal done
            done += more
            progress(done)

        count(0)
        try:
            # Closed here, and not when it is forgotten: no worker may outlive a Ctrl-C.
            with closing(build_all(batches, count)) as built:
                for part in built:
                    self.writer.import_segments(part)
                    for file, why in part.failed:
                        report.failed[file.path] = why
                        self._store_row(failed_row(None, changes.vault, file, why))
                    report.problems |= {r.path: r.problems for r in part.rows if r.problems}
                    report.added += len(part.rows)
                    report.chunks_written += part.chunks
        finally:
            self.writer.directory.clear_parts()
        return True

    def _read(
        self, changes: Changes, file: NoteFile, before: NoteRow | None, report: VaultReport
    ) -> ReadNote | None:
        """Read one file; `None` when there is nothing to write for it."""
        try:
            index = self.config.index
            read = read_file(changes.root, changes.vault, file, index, changes.copied)
        except FileNotFoundError:
            if before:
                changes.deleted.append(file.path)
            return None
        except OSError as error:
            why = error.strerror or type(error).__name__
            report.failed[file.path] = why
            self._store_row(failed_row(before, changes.vault, file, why))
            return None
        if read.row.problems:
            report.problems[file.path] = read.row.problems
        if before and not before.pending and not before.failed and before.hash == read.row.hash:
            report.unchanged += 1
            read.row.indexed_at = before.indexed_at
            if before.chunks == read.row.chunks:
                is_seen = before.times == read.row.times
                (self._seen if is_seen else self._touched).append(read.row)
                return None
        elif before:
            report.changed += 1
        else:
            report.added += 1
        return read

    def _store_row(self, row: NoteRow) -> None:
        """Record a row that has the chunks it had; without a change the revision stays."""
        if self.manifest.note(row.vault, row.path) != row:
            self.manifest.commit_write([row])

    def _write_batch(
        self, batch: list[tuple[ReadNote, NoteRow | None]], report: VaultReport
    ) -> None:
        """Write the changed chunks of some notes: intent, points, then the fact."""
        from rag.indexing.note_points import NoteChunk, chunks_of

        chunks: list[NoteChunk] = []
        gone: list[str] = []
        intents: list[NoteRow] = []
        for read, before in batch:
            old = {key.id: key for key in before.chunks} if before else {}
            new = {key.id for key in read.row.chunks}
            known = set() if before and before.pending else set(old.values())
            wanted = {key.id for key in read.row.chunks if key not in known}
            chunks += [chunk for chunk in chunks_of(read) if chunk.id in wanted]
            stale = [key for key in old.values() if key.id not in new]
            gone += [key.id for key in stale]
            intents.append(replace(read.row, chunks=[*read.row.chunks, *stale]))
        self.manifest.begin_write(intents)
        for start in range(0, len(chunks), _BATCH_CHUNKS):  # one note may have more
            self.writer.write(chunks[start : start + _BATCH_CHUNKS])
        self.writer.store.delete_documents(gone)
        self.manifest.commit_write(read.row for read, _ in batch)
        report.chunks_written += len(chunks)

    def _delete(self, changes: Changes, report: VaultReport) -> None:
        for start in range(0, len(changes.deleted), _BATCH_CHUNKS):
            paths = changes.deleted[start : start + _BATCH_CHUNKS]
            rows = [row for path in paths if (row := self.manifest.note(changes.vault, path))]
            if not rows:
                continue
            # Half a deletion must not look like a whole note.
            self.manifest.begin_write(rows)
            self.writer.store.delete_documents([key.id for row in rows for key in row.chunks])
            self.manifest.forget(changes.vault, paths)
            report.deleted += len(rows)

    def _record_unlisted(self, changes: Changes, report: VaultReport) -> None:
        for path, why in changes.unlisted.items():
            report.failed[path] = why
            before = self.manifest.note(changes.vault, path)
            self._store_row(failed_row(before, changes.vault, NoteFile(path, path, 0, 0), why))

    def _record_twins(self, changes: Changes, report: VaultReport) -> None:
        for path, why in changes.twins.items():
            row = self.manifest.note(changes.vault, path)
            if row and why not in row.problems:
                row.problems.append(why)
                self.manifest.commit_write([row])
                report.problems[path] = row.problems

    # -- the end -----------------------------------------------------------------------

    def publish(self) -> None:
        """Make what was written the snapshot that readers see, unless it is already."""
        with self._disk_in_view():
            try:
                self._publish()
            except (IndexUnavailableError, sqlite3.DatabaseError) as error:
                self.writer.give_up(error)
                self._publish()

    def _publish(self) -> None:
        if not self.writer.is_published:
            self.writer.prepare()
        self._complete()
        self.report.notes, self.report.chunks = self.manifest.totals()
        if not self.writer.is_published:
            self.writer.prepare()
            self.writer.publish()
            self.report.published = True

    def embed(
        self,
        reembed: bool = False,
        progress: Progress | None = None,
        seconds: float | None = None,
        models: ModelsConfig | None = None,
    ) -> None:
        """Give the chunks the embeddings that they lack, and publish, as `embed_chunks` says.

        :param models: settings that name who makes them; those of this run without.
        """
        made_by = "" if reembed else maker(read_embedded(self.manifest))
        models = resolved(models or self.config, made_by)
        provider = embedding_provider(models)
        embedded = read_embedded(self.manifest)
        is_background_lacking = embedded is not None and lacks_background(
            self.manifest, embedded.space, embedded.embedded
        )
        if not (is_background_lacking or may_lack_embeddings(self.manifest, provider, reembed)):
            return
        provider.check_listening()
        from rag.indexing.chunk_embedding import alone, embed_chunks

        with alone(self.writer.directory) as is_alone:
            if not is_alone:
                self.report.notices.append("another process makes the vectors")
                return
            try:
                with self._disk_in_view():
                    self.report.embedding = embed_chunks(self, models, reembed, progress, seconds)
            except StoreConnectionError:
                raise
            except ConnectionError:
                self.publish()
                raise
            self.publish()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let other processes write the index; then wait until they have."""
        if self._pipeline is not None:  # it is somebody's, who may have its store open
            yield
            return
        self.publish()  # or it would be lost
        before = self.writer
        before.close()
        yield
        self.writer = IndexWriter(self.config, before.directory, wait=True, brief=True)
        self.writer.notices = before.notices
        self.writer.open()
        self.writer.prepare()

    @property
    def embedded(self) -> int:
        """How many chunks of what readers see have an embedding."""
        embedded = self.writer.readable_embeddings()
        return embedded.embedded if embedded else 0

    def vaults(self) -> dict[str, Path]:
        """Return the folder of every vault in the index, of those yet to be restored too."""
        return self.writer.vaults()

    def _complete(self) -> None:
        """Readers must not lose what this run was not asked for: after a new start, or a run that
        was killed, the other vaults are brought up to date too."""
        if self.writer.is_rebuilding or self.manifest.expected_points() is None:
            known = {vault: (root, False) for vault, root in self.vaults().items()}
            for vault, (root, prune) in (known | self._asked).items():
                if vault not in self.writer.settled:
                    self.index_vault(vault, root, prune)
        # A server's points of notes that are half written and cannot be read are nobody's.
        is_unknown = bool(self.config.store.url) and self.manifest.expected_points() is None
        if self.writer.is_rebuilding or is_unknown:
            pruned = {vault for vault, (_, prune) in self._asked.items() if prune}
            _refuse_to_lose(self.report, self.vaults(), self.writer.readable_notes(), pruned)


def _refuse_to_lose(
    report: RunReport,
    vaults: Collection[str],
    readable: Collection[tuple[str, str]],
    pruned: Collection[str],
) -> None:
    """Refuse to publish an index that has lost what can be read no more.

    :param report: what became of the vaults when they were read again.
    :param vaults: the names of those in the index.
    :param readable: vault and path of the notes that readers see now.
    :param pruned: the vaults of which the user said that they may lose notes.
    :raises IndexingError: when it has.
    """
    for name, vault in report.vaults.items():
        if name in pruned:
            continue
        reasons = [vault.problem] if vault.problem and name in vaults else []
        reasons += [
            f"{path}: {why}"
            for path, why in vault.failed.items()
            if any(v == name and (p == path or p.startswith(f"{path}/")) for v, p in readable)
        ]
        if reasons:
            raise IndexingError(
                f"the index must be rebuilt, but vault {name!r} cannot be read as before",
                reasons[0],
                hint="Make it readable and run `rag index`, or go on without with"
                " `rag index --prune`. Until then searches use the old index.",
            )
