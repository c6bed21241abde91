"""The state of an index and of the notes in it, and which files are indexed, which not, and why."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from json import loads
from pathlib import PurePosixPath
from typing import Any

from rag.app.watch_state import WatcherStatus, read_watcher
from rag.config import RAGConfig
from rag.exceptions import IndexingError, StoreConnectionError
from rag.index.catalog import Link
from rag.index.embedding_space import Embedded, read_embedded
from rag.index.lookup import open_manifest
from rag.index.manifest import Manifest, read_facts
from rag.index.snapshots import IndexDirectory
from rag.index.vault_registry import configured_vaults
from rag.indexing.changes import count_stale_in, scan_vault
from rag.stores import open_directory
from rag.support.disk_space import disk_usage
from rag.support.file_kinds import READ
from rag.support.json_reports import optional
from rag.support.vector_digest import shortened
from rag.vault.discovery import HIDDEN, LINK, UNREADABLE, LeftOut, Scan
from rag.vault.documents import ENCRYPTED, OCR, PARTLY, SCAN, TOO_LARGE, WITH_TEXT
from rag.vault.markdown import MARKDOWN

_PATIENCE = 5  # seconds for checking all notes
_UNDATED_NOTES = (
    "vault = ? AND mtime_ns BETWEEN ? AND ? AND '' IN (created, modified) AND length(chunks) > 0"
)
_UNDATED = (
    "the times of files that were written within a minute of each other, as by a clone or a copy,"
    " are not taken for dates"
)


@dataclass(frozen=True)
class VaultStatus:
    """A vault in the index, and sentences on what there is to know of its files; `files` is `null`
    where these could not be counted in a few seconds."""

    path: str
    notes: int
    chunks: int
    notices: list[str]
    files: VaultFiles | None


@dataclass(frozen=True)
class NoteProblems:
    """What was wrong with a note; `failed` where nothing of it could be read."""

    vault: str
    path: str
    failed: bool
    problems: list[str]


@dataclass(frozen=True)
class NoteWithoutVectors:
    """A note of which so many chunks have no vector."""

    vault: str
    path: str
    chunks: int


@dataclass(frozen=True)
class ServerAddress:
    """Where the points of an index are, when a server holds them; where that does not answer, what
    is said of the index is what was known here."""

    url: str
    collection: str
    answers: bool


@dataclass(frozen=True)
class WriterStatus:
    """Which machine writes an index that a server holds, and whether it is this one."""

    name: str
    since: str
    here: bool


@dataclass(frozen=True)
class IndexStatus:
    """An index.

    :param stale: whether notes changed since; `null` when that is not known.
    :param changed: how many did.
    :param embedding: how far its chunks are embedded, and by what.
    :param server: that which holds it, if one does.
    :param writer: the machine that writes it, where a server holds it.
    :param fingerprint: what it depends on: with another one it is rebuilt.
    """

    path: str
    bytes: int
    notes: int
    chunks: int
    indexed_at: str
    stale: bool | None
    changed: int | None
    embedding: Embedded | None
    server: ServerAddress | None
    writer: WriterStatus | None
    fingerprint: dict[str, Any]


@dataclass(frozen=True)
class StatusReport:
    """What an index holds, how old it is, and what was wrong with notes.

    :param vaults: by name.
    :param not_indexed: vaults that are configured and not in it.
    :param links: links that no note answers to, or several do, where they were asked for.
    :param without_vectors: notes of which chunks have no vector, where they were asked for.
    :param skipped: the files whose text is not indexed, where they were asked for.
    :param reader: what reads the passages that may answer a question, where it is installed.
    :param watcher: what keeps the index up to date, where `rag watch` runs or ended unexpectedly.
    """

    index: IndexStatus
    vaults: dict[str, VaultStatus]
    not_indexed: list[str]
    problems: list[NoteProblems]
    links: list[Link] | None = optional(None)
    without_vectors: list[NoteWithoutVectors] | None = optional(None)
    skipped: list[SkippedFile] | None = optional(None)
    reader: str = optional("")
    watcher: WatcherStatus | None = optional(None)

    @property
    def left_out(self) -> dict[str, int]:
        """Of how many files of all vaults no text is indexed, by reason, hidden ones aside."""
        counts = Counter[str]()
        for vault in self.vaults.values():
            counts.update(vault.files.left_out if vault.files else {})
        del counts[HIDDEN]
        return dict(counts.most_common())


def read_status(
    config: RAGConfig, links: bool = False, vectors: bool = False, skipped: bool = False
) -> StatusReport:
    """Check an index and its notes.

    :param links: resolve every link too.
    :param vectors: look up which notes have chunks without a vector too.
    :param skipped: list the files whose text is not indexed too.
    """
    store, directory, answers = config.store, IndexDirectory.of(config), True
    try:
        open_directory(config)  # its server is asked for what is new
    except StoreConnectionError:
        if directory.current() is None:
            raise
        answers = False
    vaults, left_out = dict[str, VaultStatus](), list[SkippedFile]()
    server = writer = None
    if store.url:
        from rag.stores.server.catalog import Head, is_written_here

        server = ServerAddress(store.url, store.collection, answers)
        head = Head.read(directory.path)
        if head and head.machine:
            writer = WriterStatus(head.name, head.since, is_written_here(directory))
    with open_manifest(config) as manifest:
        counts, roots, embedded = manifest.counts(), manifest.vaults(), read_embedded(manifest)
        reader = ""
        if embedded:
            from rag.clients.factory import reader_name  # an index by words does without

            reader = reader_name()
            digest = shortened(embedded.space.digest)
            embedded = replace(embedded, space=replace(embedded.space, digest=digest))
        changed = 0 if writer is None or writer.here else None
        for name, root in roots.items():
            facts, stats = read_facts(manifest, name), manifest.stats(name)
            undated = any(manifest.rows(_UNDATED_NOTES, name, *span) for span in facts.copied)
            notices = [f"{path}: {why}" for path, why in facts.notices.items()]
            notices, files = [*[_UNDATED] * undated, *notices], None
            try:
                scan = scan_vault(root, config, time.monotonic() + _PATIENCE, everything=True)
                files, not_indexed = count_files(manifest, name, stats, scan, config.index.ocr)
                left_out += not_indexed if skipped else []
                if changed is not None:
                    changed += count_stale_in(root, stats, scan)
            except IndexingError as error:
                notices.append(str(error))
                changed = None
            except TimeoutError:
                changed = None
            vaults[name] = VaultStatus(root, *counts.get(name, (0, 0)), notices, files)
        index = IndexStatus(
            path=str(config.index_dir),
            bytes=disk_usage(config.index_dir),
            notes=sum(notes for notes, _ in counts.values()),
            chunks=sum(chunks for _, chunks in counts.values()),
            indexed_at=manifest.get("indexed_at"),
            stale=None if changed is None else changed > 0,
            changed=changed,
            embedding=embedded,
            server=server,
            writer=writer,
            fingerprint=loads(manifest.get("fingerprint", "{}")),
        )
        without_vectors = list[NoteWithoutVectors]()
        if vectors and embedded and embedded.lacking + embedded.failed:
            from rag.stores import get_document_store

            with get_document_store(config) as documents:
                lacking = documents.without_embedding()
            places = Counter(
                (note.vault, note.path)
                for note in manifest.notes()
                for key in note.chunks
                if key.id in lacking
            )
            without_vectors = [NoteWithoutVectors(*note, count) for note, count in places.items()]
        return StatusReport(
            index,
            vaults=vaults,
            not_indexed=sorted(set(configured_vaults(config)) - set(roots)),
            problems=[
                NoteProblems(row.vault, row.path, row.failed, row.problems)
                for row in manifest.notes("problems != '[]'")
            ],
            links=[*manifest.catalogue.wrong_links()] if links else None,
            without_vectors=without_vectors if vectors else None,
            skipped=left_out if skipped else None,
            reader=reader,
            watcher=read_watcher(config),
        )


# -- the files of a vault ----------------------------------------------------------------

NOT_YET = "not indexed yet"
HINTS = {  # what there is to do, by reason
    ENCRYPTED: "encrypted: save a copy that needs no password beside it",
    TOO_LARGE: "too large: index.max_file_mb, or a file in parts, has more read",
    LINK: "link: what it leads to is indexed where it is, if that is in a vault",
}


@dataclass(frozen=True)
class ScanCount:
    """How many files hold scanned pages that wait for OCR, and of how many it has read all."""

    waiting: int
    read: int


@dataclass(frozen=True)
class VaultFiles:
    """The files of a vault, and the links in it; the numbers add up to `total`.

    :param indexed: how many are, by kind: `markdown`, `pdf`, …
    :param left_out: of how many no text is, by reason; one that could not be read is found by its
        name.
    :param scans: how far OCR is, where there are scans or pictures with text.
    """

    total: int
    indexed: dict[str, int]
    left_out: dict[str, int]
    scans: ScanCount | None = optional(None)


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not indexed, or a folder (with `/`) that cannot be listed, and why."""

    vault: str
    path: str
    reason: str


def count_files(
    manifest: Manifest, vault: str, indexed_paths: Collection[str], scan: Scan, ocr: bool
) -> tuple[VaultFiles, list[SkippedFile]]:
    """Count the files of a vault's folder.

    A file whose text could not be read is left out here, and found by its name alone.

    :param indexed_paths: the files that the manifest has of the vault.
    :param scan: what the folder holds, with what is left out.
    :param ocr: whether scanned pages are read.
    """
    states, left_out, kinds = manifest.states(vault), [*scan.left_out], list[str]()
    for note in scan.notes:
        if note.path not in indexed_paths:
            left_out.append(LeftOut(note.path, NOT_YET))
        elif (state := states.get(note.path, "")) not in WITH_TEXT:
            left_out.append(LeftOut(note.path, state))
        else:
            suffix = PurePosixPath(note.path).suffix.lower()
            kinds.append("markdown" if suffix in MARKDOWN else READ.get(suffix, suffix.lstrip(".")))
    # The most first, and by name where there are as many.
    indexed = dict(Counter(sorted(kinds)).most_common())
    reasons = dict(Counter(sorted(file.reason for file in left_out)).most_common())
    of = Counter(states.values())
    waiting = of[SCAN] + (of[PARTLY] if ocr else 0)  # or each cover of a book counted
    scans = ScanCount(waiting, of[OCR]) if waiting or of[OCR] else None
    listed = {note.path for note in scan.notes} | {path for path, _ in left_out}
    folders = [LeftOut(f"{path}/", UNREADABLE) for path in scan.problems if path not in listed]
    files = VaultFiles(len(kinds) + len(left_out), indexed, reasons, scans)
    return files, [SkippedFile(vault, *file) for file in sorted(left_out + folders)]
