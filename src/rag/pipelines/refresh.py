"""Bringing an index up to date: one writer, small steps, and a whole generation at the end.

Every step may be the last one: a killed run leaves the published generation as it was and its
own working copy in a state that the next run completes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.config import RAGConfig
from rag.exceptions import IndexingError, IndexUnavailableError
from rag.pipelines.changes import Changes, find_changes
from rag.pipelines.fingerprint import fingerprint
from rag.pipelines.reading import ReadNote, failed_row, read_file
from rag.stores.generations import MANIFEST, SHARD, IndexDirectory
from rag.stores.manifest import Manifest, NoteRow, published_manifest
from rag.vault.files import NoteFile

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.stores.edge import QdrantEdgeDocumentStore

_BATCH_CHUNKS = 1000

Progress = Callable[[int, int], None]


@dataclass
class VaultReport:
    """What a run did to one vault; `failed` and `problems` map paths to what was wrong."""

    vault: str
    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    chunks: int = 0
    kept: int = 0
    problem: str = ""
    failed: dict[str, str] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The notes that the vault's folder holds."""
        return self.added + self.changed + self.unchanged


@dataclass
class RunReport:
    """What a run did."""

    vaults: dict[str, VaultReport] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    published: bool = False
    notes: int = 0
    chunks: int = 0

    @property
    def touched(self) -> bool:
        """Whether any note was added, changed or deleted."""
        return any(r.added or r.changed or r.deleted for r in self.vaults.values())

    @property
    def incomplete(self) -> bool:
        """Whether some note or folder could not be read."""
        return any(r.failed or r.problem for r in self.vaults.values())


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
        self.directory = directory or IndexDirectory(config.index_dir)
        self.report = RunReport()
        self._pipeline = pipeline
        self._prepared = False
        self._rebuild = rebuild
        self._asked: dict[str, tuple[Path, bool]] = {}  # vault -> folder, prune
        self._seen: list[NoteRow] = []  # notes as they were, to be recorded together
        self._touched: list[NoteRow] = []  # the same text in a file with another time
        self._words: set[str] = set()  # those known to be in the working copy
        self._settled: set[str] = set()  # vaults that the working copy holds as they are now
        self._lock = self.directory.writing(wait)

    def __enter__(self) -> IndexRun:
        self._lock.__enter__()
        try:
            self.manifest = self._open_manifest()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.manifest.close()
        if self._pipeline is not None:
            self._store.close()
        self._lock.__exit__(None, None, None)

    # -- the working copy --------------------------------------------------------------

    def _open_manifest(self) -> Manifest:
        """Open the working copy's manifest; start anew when it does not fit or is damaged."""
        if self._rebuild:
            self.directory.clear_work()
        try:
            manifest = Manifest.open_work(self.directory.work / MANIFEST)
            known = manifest.get("fingerprint")
        except sqlite3.DatabaseError as error:
            return self._start_anew(f"the index's manifest was damaged ({error})")
        mine = fingerprint(self.config)
        if known and known != mine:
            manifest.close()
            return self._start_anew("the settings or the program changed how notes are indexed")
        if not known:
            self._begin(manifest)
        return manifest

    def _begin(self, manifest: Manifest) -> None:
        """A new working copy counts on from the generations there are, and is `anew` until it
        was published: readers must not take an old generation for it."""
        manifest.set(fingerprint=fingerprint(self.config), anew="yes")
        manifest.raise_revision(at_least=self.directory.newest())

    def _start_anew(self, why: str) -> Manifest:
        self.report.notices.append(f"{why}: the index is made anew")
        self.directory.clear_work()
        manifest = Manifest.open_work(self.directory.work / MANIFEST)
        self._begin(manifest)
        self._settled.clear()
        self._words.clear()
        return manifest

    @property
    def _store(self) -> QdrantEdgeDocumentStore:
        assert self._pipeline is not None
        writer: Any = self._pipeline.get_component("writer")
        store: QdrantEdgeDocumentStore = writer.document_store
        return store

    def _prepare(self) -> None:
        """Load what writing needs, once, and make sure that manifest and shard agree."""
        if self._prepared:
            return
        from rag.pipelines.writing import create_indexing_pipeline
        from rag.stores import get_document_store

        if self._pipeline is None:
            store = get_document_store(self.config, self.directory)
            self._pipeline = create_indexing_pipeline(store)
        self._store.begin_writing()
        self._prepared = True
        expected = self.manifest.expected_points()
        if expected is None or (not expected and not (self.directory.work / SHARD).exists()):
            return
        found = self._count_points()
        if found != expected:
            self._store.access.close_work()
            self.manifest.close()
            what = "could not be opened" if found is None else f"held {found} of {expected} chunks"
            self.manifest = self._start_anew(f"the working copy {what}")

    def _count_points(self) -> int | None:
        from rag.stores.engine import StoreError

        if not (self.directory.work / SHARD).exists():
            return 0
        try:
            return self._store.count_documents()
        except StoreError:
            return None

    # -- one vault ---------------------------------------------------------------------

    def find_changes(self, vault: str, root: Path, prune: bool = False) -> Changes:
        """Compare a vault's folder with the index."""
        return find_changes(self.manifest, vault, root, self.config.index.ignore, prune)

    def index_vault(
        self, vault: str, root: Path, prune: bool = False, progress: Progress | None = None
    ) -> VaultReport:
        """Bring one vault up to date in the working copy."""
        changes = self.find_changes(vault, root, prune)
        if changes and not self._prepared:
            self._prepare()
            changes = self.find_changes(vault, root, prune)  # it may have been made anew
        report = VaultReport(vault, kept=changes.kept, problem=changes.problem)
        self.report.vaults[vault] = report
        report.unchanged = changes.unchanged
        if not changes.problem:
            self.manifest.set_vault(vault, str(root))
        self._write(changes, report, progress or (lambda done, total: None))
        self._delete(changes, report)
        self._record_unlisted(changes, report)
        self._record_twins(changes, report)
        self._asked[vault] = root, prune
        self._settled.add(vault)
        if prune and changes.deleted and not self.manifest.stats(vault):
            self.manifest.drop_vault(vault)
        return report

    def remove_vault(self, vault: str) -> int:
        """Take a vault's notes out of the index and return how many there were."""
        self._asked.pop(vault, None)
        self._settled.add(vault)
        paths = list(self.manifest.stats(vault))
        if paths:
            self._prepare()
            self._delete(Changes(vault, "", deleted=paths), VaultReport(vault))
        self.manifest.drop_vault(vault)
        return len(paths)

    def _write(self, changes: Changes, report: VaultReport, progress: Progress) -> None:
        files = [*((f, False) for f in changes.added), *((f, True) for f in changes.changed)]
        batch: list[tuple[ReadNote, NoteRow | None]] = []
        size = 0
        for done, (file, known) in enumerate(files):
            progress(done, len(files))
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
            self.manifest.finish(self._touched)
        self._seen, self._touched = [], []
        progress(len(files), len(files))

    def _read(
        self, changes: Changes, file: NoteFile, before: NoteRow | None, report: VaultReport
    ) -> ReadNote | None:
        """Read one file; `None` when there is nothing to write for it."""
        try:
            read = read_file(changes.root, changes.vault, file, self.config.index)
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
                is_touched = before.mtime_ns != read.row.mtime_ns
                (self._touched if is_touched else self._seen).append(read.row)
                return None
        elif before:
            report.changed += 1
        else:
            report.added += 1
        return read

    def _store_row(self, row: NoteRow) -> None:
        """Record a row that has the chunks it had; without a change the revision stays."""
        if self.manifest.note(row.vault, row.path) != row:
            self.manifest.finish([row])

    def _write_batch(
        self, batch: list[tuple[ReadNote, NoteRow | None]], report: VaultReport
    ) -> None:
        """Write the changed chunks of some notes: intent, points, then the fact."""
        from rag.pipelines.writing import to_documents, write_documents

        documents = []
        gone: list[str] = []
        intents: list[NoteRow] = []
        for read, before in batch:
            old = {key.id: key for key in before.chunks} if before else {}
            new = {key.id for key in read.row.chunks}
            known = set() if before and before.pending else set(old.values())
            documents += to_documents(read, {key.id for key in read.row.chunks if key not in known})
            stale = [key for key in old.values() if key.id not in new]
            gone += [key.id for key in stale]
            intents.append(replace(read.row, chunks=[*read.row.chunks, *stale]))
        self.manifest.intend(intents)
        assert self._pipeline is not None
        words = set(write_documents(self._pipeline, documents)) - self._words
        self.manifest.vocabulary.add(words)
        self._words |= words
        self._store.delete_documents(gone)
        self.manifest.finish(read.row for read, _ in batch)
        report.chunks += len(documents)

    def _delete(self, changes: Changes, report: VaultReport) -> None:
        for start in range(0, len(changes.deleted), _BATCH_CHUNKS):
            paths = changes.deleted[start : start + _BATCH_CHUNKS]
            rows = [row for path in paths if (row := self.manifest.note(changes.vault, path))]
            if not rows:
                continue
            # Half a deletion must not look like a whole note.
            self.manifest.intend(rows)
            self._store.delete_documents([key.id for row in rows for key in row.chunks])
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
                self.manifest.finish([row])
                report.problems[path] = row.problems

    # -- the end -----------------------------------------------------------------------

    def publish(self) -> None:
        """Make what was written the generation that readers see, unless it is already."""
        if not self._is_published():
            self._prepare()
        self._complete()
        counts = self.manifest.counts().values()
        self.report.notes = sum(notes for notes, _ in counts)
        self.report.chunks = sum(chunks for _, chunks in counts)
        if self._is_published():
            return
        self._prepare()
        number = self.manifest.raise_revision(at_least=self.directory.newest())
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self.manifest.set(indexed_at=now, anew="")
        self.manifest.close()  # its file is copied
        self._store.publish(number)
        self.manifest = Manifest.open_work(self.directory.work / MANIFEST)
        self.report.published = True

    def vaults(self) -> dict[str, Path]:
        """Return the folder of every vault in the index, of those yet to be restored too."""
        found = self.manifest.vaults()
        if self.manifest.get("anew"):
            with (
                suppress(IndexUnavailableError, sqlite3.DatabaseError),
                published_manifest(self.directory) as manifest,
            ):
                found = manifest.vaults() | found
        return {name: Path(root) for name, root in found.items()}

    def _is_published(self) -> bool:
        name = f"gen-{self.manifest.revision}"
        return (
            not self.manifest.get("anew")
            and self.directory.current() == name
            and self.directory.is_whole(name)
        )

    def _complete(self) -> None:
        """Readers must not lose what this run was not asked for: after a new start, or a run that
        was killed, the other vaults are brought up to date too."""
        if self.manifest.get("anew") or self.manifest.expected_points() is None:
            known = {vault: (root, False) for vault, root in self.vaults().items()}
            for vault, (root, prune) in (known | self._asked).items():
                if vault not in self._settled:
                    self.index_vault(vault, root, prune)
        if self.manifest.get("anew"):
            self._refuse_to_lose()

    def _refuse_to_lose(self) -> None:
        """An index made anew cannot keep what can be read no more; do not publish it, unless the
        user said `--prune`."""
        vaults, readable = self.vaults(), self._readable_notes()
        for name, report in self.report.vaults.items():
            if self._asked.get(name, (None, False))[1]:
                continue
            reasons = [report.problem] if report.problem and name in vaults else []
            reasons += [
                f"{path}: {why}"
                for path, why in report.failed.items()
                if any(v == name and (p == path or p.startswith(f"{path}/")) for v, p in readable)
            ]
            if reasons:
                raise IndexingError(
                    f"the index must be made anew, but vault {name!r} cannot be read as before",
                    reasons[0],
                    hint="Make it readable and run `rag index`, or go on without with `rag index"
                    " --prune`. Until then searches use the old index.",
                )

    def _readable_notes(self) -> list[tuple[str, str]]:
        """Return vault and path of every note that readers can find now."""
        with (
            suppress(IndexUnavailableError, sqlite3.DatabaseError),
            published_manifest(self.directory) as manifest,
        ):
            return [(vault, path) for vault, path, *_ in manifest.names()]
        return []
