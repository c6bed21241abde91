"""Bringing an index up to date: one writer, small steps, and a whole snapshot at the end.

Every step may be the last one: a killed run leaves the published snapshot as it was, and the next
run begins with that; on a server, with what the manifest of the staging index knows of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rag.clients.factory import embedding_provider, resolved
from rag.config import ModelsConfig
from rag.exceptions import ConnectionError, IndexingError, StoreConnectionError
from rag.index.background import lacks_background
from rag.index.embedding_space import Embedded, maker, may_lack_embeddings, read_embedded
from rag.index.manifest import UNEMBEDDED, Manifest
from rag.index.note_rows import NoteRow
from rag.indexing.changes import Changes, find_changes, record_found
from rag.indexing.index_writer import IndexWriter
from rag.indexing.note_reader import NoteChunk, ReadNote, failed_row, read_file
from rag.indexing.reports import Progress, VaultReport, unseen
from rag.support.memory_limits import give_back
from rag.vault.discovery import NoteFile, Scan

_BATCH_CHUNKS = 1000


class IndexRun(IndexWriter):
    """One visit of the writer, which brings vaults up to date; parameters as for it."""

    # -- one vault ---------------------------------------------------------------------

    def index_vault(
        self,
        vault: str,
        root: Path,
        prune: bool = False,
        progress: Progress | None = None,
        scan: Scan | None = None,
    ) -> VaultReport:
        """Bring one vault up to date in the staging index.

        :param scan: what its folder held a moment ago, where somebody looked.
        :raises DiskFullError: when its disk has no room for it.
        """
        return self._attempt(lambda: self._index_vault(vault, root, prune, progress, scan))

    def _index_vault(
        self, vault: str, root: Path, prune: bool, progress: Progress | None, scan: Scan | None
    ) -> VaultReport:
        changes = find_changes(self.manifest, vault, root, self.config, prune, scan)
        self._size += sum(file.size for file in (*changes.added, *changes.changed))
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
        for path, why in changes.twins.items():
            row = self.manifest.note(vault, path)
            if row and why not in row.problems:
                row.problems.append(why)
                self.manifest.commit_write([row])
                report.problems[path] = row.problems
        report.notices = record_found(self.manifest, changes)
        self._requested[vault] = root, prune
        self._settled.add(vault)
        if prune and changes.deleted and not self.manifest.stats(vault):
            self.manifest.drop_vault(vault)
        return report

    def remove_vault(self, vault: str) -> int:
        """Take a vault's notes out of the index and return how many there were."""
        with self._disk_in_view():
            self._requested.pop(vault, None)
            self._settled.add(vault)
            paths = list(self.manifest.stats(vault))
            if paths:
                self.prepare()
                self._delete(Changes(vault, "", deleted=paths), VaultReport(vault))
            self.manifest.drop_vault(vault)
            return len(paths)

    def _write(self, changes: Changes, report: VaultReport, progress: Progress) -> None:
        """Write the notes that are new or changed."""
        vault, total = changes.vault, len(changes.added) + len(changes.changed)
        is_bulk = self._write_in_bulk(changes, report, lambda done: progress(done, total))
        files = [*(() if is_bulk else changes.added), *changes.changed]
        batch: list[tuple[ReadNote, NoteRow | None]] = []
        looked_at: list[NoteRow] = []  # notes as they were, to be recorded together
        touched: list[NoteRow] = []  # the same text in a file with another time
        size = 0
        for done, file in enumerate(files, total - len(files)):
            progress(done, total)
            before = self.manifest.note(vault, file.path)
            try:
                read = read_file(changes.root, vault, file, self.config.index, changes.copied)
            except FileNotFoundError:
                if before:
                    changes.deleted.append(file.path)
                continue
            except OSError as error:
                why = error.strerror or type(error).__name__
                self._record_failure(vault, file, why, report)
                continue
            row = read.row
            if row.problems:
                report.problems[file.path] = row.problems
            if before is None:
                report.added += 1
            elif before.pending or before.failed or before.hash != row.hash:
                report.changed += 1
            else:
                report.unchanged += 1
                row.indexed_at = before.indexed_at
                if before.chunks == row.chunks:
                    (looked_at if before.times == row.times else touched).append(row)
                    continue
            batch.append((read, before))
            size += len(read.chunks)
            if size >= _BATCH_CHUNKS:
                self._write_batch(batch, report)
                batch, size = [], 0
        if batch:
            self._write_batch(batch, report)
        self.manifest.refresh(looked_at)
        if touched:
            self.manifest.commit_write(touched)
        progress(total, total)

    def _write_in_bulk(
        self, changes: Changes, report: VaultReport, progress: Callable[[int], None]
    ) -> bool:
        """Write the new notes as segments where there are enough of them; return whether it did.

        Segments hold no embeddings, and are for an index of our own on this machine.
        """
        is_plain = self._users_pipeline is None and not self._is_on_server
        if not (changes.added and is_plain) or read_embedded(self.manifest) is not None:
            return False
        from rag.indexing.bulk_build import NoteBatch, build_all, split
        from rag.stores.edge.segments import SegmentHome

        index, home = self.config.index, str(self.directory.path)
        batches = [
            NoteBatch(changes.vault, changes.root, files, index, home, changes.copied)
            for files in split(changes.added)
        ]
        if not batches:
            return False
        if self._home is None:
            store: Any = self.store
            self._home = SegmentHome(store)
        self.manifest.set(**{UNEMBEDDED: "yes"})
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
                    self._home.import_segments(part.folder)
                    self._add_words(part.words)
                    self.manifest.commit_write(part.rows)
                    for file, why in part.failed:
                        self._record_failure(changes.vault, file, why, report)
                    report.problems |= {r.path: r.problems for r in part.rows if r.problems}
                    report.added += len(part.rows)
                    report.chunks_written += part.chunks
                    give_back()
        finally:
            self.directory.clear_parts()
        return True

    def _record_failure(self, vault: str, file: NoteFile, why: str, report: VaultReport) -> None:
        """Record a note that cannot be read; its chunks stay. Without news the revision stays."""
        report.failed[file.path] = why
        row = failed_row(self.manifest.note(vault, file.path), vault, file, why)
        if self.manifest.note(vault, file.path) != row:
            self.manifest.commit_write([row])

    def _write_batch(
        self, batch: list[tuple[ReadNote, NoteRow | None]], report: VaultReport
    ) -> None:
        """Write the changed chunks of some notes: intent, points, then the fact."""
        chunks: list[NoteChunk] = []
        stale_ids: list[str] = []
        intents: list[NoteRow] = []
        for read, before in batch:
            new = {key.id for key in read.row.chunks}
            old = before.chunks if before else []
            written = set() if before and before.pending else set(old)
            wanted = {key.id for key in read.row.chunks if key not in written}
            chunks += [chunk for chunk in read.chunks if chunk.id in wanted]
            stale = [key for key in old if key.id not in new]
            stale_ids += [key.id for key in stale]
            intents.append(replace(read.row, chunks=[*read.row.chunks, *stale]))
        self.manifest.begin_write(intents)
        for start in range(0, len(chunks), _BATCH_CHUNKS):  # one note may have more
            self._write_chunks(chunks[start : start + _BATCH_CHUNKS])
        self.store.delete_documents(stale_ids)
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
            self.store.delete_documents([key.id for row in rows for key in row.chunks])
            self.manifest.forget(changes.vault, paths)
            report.deleted += len(rows)

    # -- what readers see --------------------------------------------------------------

    @property
    def _is_published(self) -> bool:
        """Whether readers see the staging index as it is, and undamaged."""
        announced = self.directory.announced()
        if not self._is_on_server:
            return announced == self.directory.current() and not self.directory.has_work
        if self.is_rebuilding or self._is_suspect or announced != f"gen-{self.manifest.revision}":
            return False
        return self._is_prepared and self.store.is_shared

    def publish(self) -> None:
        """Make what was written the snapshot that readers see, unless it is already."""
        self._attempt(self._publish)

    def _publish(self) -> None:
        if not self._is_published:
            self.prepare()
        self._complete()
        self.report.notes, self.report.chunks = self.manifest.totals()
        if self._is_published:
            return
        self.prepare()
        expected = self.manifest.expected_points()
        if self._home and expected is not None and (wrong := self.store.missing_points(expected)):
            # No segment that the engine did not take for what it is.
            raise IndexingError(wrong, hint="Run `rag index` again: the index is rebuilt.")
        number = self.manifest.raise_revision(at_least=self.directory.newest())
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self.manifest.set(indexed_at=now, anew="")
        self.manifest.keep_totals()
        self._count_embedded()
        self.manifest.close()  # its file is copied
        try:
            self.store.publish(number)
            self._is_suspect = False
        finally:
            self.manifest = Manifest.open_writer(self.directory, self._is_on_server)
        self.report.published = True

    def _complete(self) -> None:
        """Readers must not lose what this run was not asked for: after a new start, or a run that
        was killed, the other vaults are brought up to date too.

        :raises IndexingError: when notes that readers see cannot be read any more.
        """
        is_unfinished = self.manifest.expected_points() is None
        if not (self.is_rebuilding or is_unfinished):
            return
        roots = {vault: (root, False) for vault, root in self.vaults().items()}
        for vault, (root, prune) in (roots | self._requested).items():
            if vault not in self._settled:
                self.index_vault(vault, root, prune)
        # A server's points of notes that are half written and cannot be read are nobody's.
        is_unknown = self._is_on_server and self.manifest.expected_points() is None
        if self.is_rebuilding or is_unknown:
            self._refuse_to_lose()

    def _refuse_to_lose(self) -> None:
        readable: list[tuple[str, str]] = self._published(
            lambda manifest: [(vault, path) for vault, path, *_ in manifest.names()], []
        )
        vaults = self.vaults()
        for name, vault in self.report.vaults.items():
            if self._requested.get(name, (None, False))[1]:  # it may lose notes
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

    # -- embeddings --------------------------------------------------------------------

    @property
    def embedded(self) -> int:
        """How many chunks of what readers see have an embedding."""
        embedded: Embedded | None = self._published(read_embedded, None)
        return embedded.embedded if embedded else 0

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
        embedded = read_embedded(self.manifest)
        models = resolved(models or self.config, "" if reembed else maker(embedded))
        provider = embedding_provider(models)
        lacks_texts = embedded and lacks_background(
            self.manifest, embedded.space, embedded.embedded
        )
        if not (lacks_texts or may_lack_embeddings(self.manifest, provider, reembed)):
            return
        provider.check_listening()
        from rag.indexing.chunk_embedding import alone, embed_chunks

        with alone(self.directory) as is_alone:
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
