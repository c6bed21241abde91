"""The state of an index, and of the notes in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from json import loads
from typing import Any

from rag.app.index_state import count_changed
from rag.config import RAGConfig
from rag.index.embedding_space import Embedded, read_embedded
from rag.index.links.tables import Link
from rag.index.lookup import open_manifest
from rag.index.manifest import Manifest
from rag.index.vault_facts import Span, read_facts
from rag.index.vault_registry import configured_vaults
from rag.support.sparse_files import disk_usage
from rag.text.messages import plural

_PATIENCE = 5  # seconds for checking all notes


@dataclass(frozen=True)
class VaultStatus:
    """A vault in the index.

    :param notices: sentences on what there is to know of its files.
    """

    name: str
    path: str
    notes: int
    chunks: int
    notices: list[str]


@dataclass(frozen=True)
class NoteProblems:
    """What was wrong with a note; `failed` when nothing of it could be read."""

    vault: str
    path: str
    failed: bool
    problems: list[str]


@dataclass(frozen=True)
class ServerAddress:
    """Where the points of an index are, when a server holds them.

    :param answers: whether it does; where not, what is said of the index is what was known here.
    """

    url: str
    collection: str
    answers: bool


@dataclass(frozen=True)
class WriterStatus:
    """Which machine writes an index that a server holds.

    :param here: whether it is this one.
    """

    name: str
    since: str
    here: bool


@dataclass(frozen=True)
class StatusReport:
    """What an index holds, how old it is, and what was wrong with notes.

    :param size: bytes on disk.
    :param changed: how many notes changed since; `None` when that is not known.
    :param not_indexed: vaults that are configured and not in it.
    :param wrong_links: links that no note answers to, or several do, where they were asked for.
    :param without_vectors: how many chunks of a note, by vault and path, have no vector, where that
        was asked for.
    """

    path: str
    size: int
    notes: int
    chunks: int
    indexed_at: str
    changed: int | None
    embedded: Embedded | None
    server: ServerAddress | None
    writer: WriterStatus | None
    fingerprint: dict[str, Any]
    vaults: list[VaultStatus]
    not_indexed: list[str]
    problems: list[NoteProblems]
    wrong_links: list[Link] | None = None
    without_vectors: dict[tuple[str, str], int] | None = None


def read_status(config: RAGConfig, links: bool = False, vectors: bool = False) -> StatusReport:
    """Check an index and its notes.

    :param links: resolve every link too.
    :param vectors: look up which notes have chunks without a vector too.
    :raises IndexUnavailableError: when there is no index.
    """
    store, answers = config.store, _refresh(config)
    with open_manifest(config) as manifest:
        counts, roots = manifest.counts(), manifest.vaults()
        return StatusReport(
            path=str(config.index_dir),
            size=disk_usage(config.index_dir),
            notes=sum(notes for notes, _ in counts.values()),
            chunks=sum(chunks for _, chunks in counts.values()),
            indexed_at=manifest.get("indexed_at"),
            changed=count_changed(manifest, config, _PATIENCE),
            embedded=read_embedded(manifest),
            server=ServerAddress(store.url, store.collection, answers) if store.url else None,
            writer=_writer(config) if store.url else None,
            fingerprint=loads(manifest.get("fingerprint", "{}")),
            vaults=[
                VaultStatus(name, root, *counts.get(name, (0, 0)), _notices(manifest, name))
                for name, root in roots.items()
            ],
            not_indexed=sorted(set(configured_vaults(config)) - set(roots)),
            problems=[
                NoteProblems(row.vault, row.path, row.failed, row.problems)
                for row in manifest.notes("problems != '[]'")
            ],
            wrong_links=[*manifest.links.wrong_links()] if links else None,
            without_vectors=_without_vectors(config, manifest) if vectors else None,
        )


def _without_vectors(config: RAGConfig, manifest: Manifest) -> dict[tuple[str, str], int]:
    """Return the notes of which a run could embed more chunks than it has, or failed to."""
    from rag.stores import get_document_store

    embedded = read_embedded(manifest)
    if embedded is None or not embedded.lacking + embedded.failed:
        return {}
    with get_document_store(config) as store:
        return manifest.notes_of(store.without_embedding())


def _notices(manifest: Manifest, vault: str) -> list[str]:
    """Return what there is to know: times of files that are no dates, and what is not followed."""
    facts = read_facts(manifest, vault)
    copied = [notice for span in facts.copied if (notice := _of_copy(manifest, vault, span))]
    return [*copied, *(f"{path}: {why}" for path, why in facts.notices.items())]


def _of_copy(manifest: Manifest, vault: str, span: Span) -> str:
    """Say how many notes have no date since their files were copied; nothing when none."""
    count = manifest.count_undated(vault, *span)
    if not count:
        return ""
    when = datetime.fromtimestamp(span[0] / 1e9).isoformat(" ", "minutes")
    return (
        f"the file times of {plural(count, 'note')} are not taken for dates: all were written"
        f" within a minute of {when}, as by a clone or a copy"
    )


def _refresh(config: RAGConfig) -> bool:
    """Ask the server of an index for what is new; return whether it answers."""
    from rag.exceptions import StoreConnectionError
    from rag.index.snapshots import IndexDirectory
    from rag.stores import open_directory

    try:
        open_directory(config)
    except StoreConnectionError:
        if IndexDirectory.of(config).current() is None:
            raise
        return False
    return True


def _writer(config: RAGConfig) -> WriterStatus | None:
    from rag.index.snapshots import IndexDirectory
    from rag.stores.server.identity import ServerMark, is_written_here

    directory = IndexDirectory.of(config)
    mark = ServerMark.read(directory.path)
    if mark is None or not mark.machine:
        return None
    return WriterStatus(mark.name, mark.since, is_written_here(directory))
