"""Bringing an index up to date: registering, reading, embedding, forgetting, copying; and before a
search, where that is done in a moment.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from rag.app.index_state import count_changed, open_index, open_to_write
from rag.app.requests import SyncRequest
from rag.clients.factory import embedding_provider, resolved
from rag.config import AUTO, RAGConfig
from rag.exceptions import (
    EMBED_REST,
    INDEX_AGAIN,
    ConnectionError,
    IndexUnavailableError,
    LockedError,
    ModelError,
    RAGError,
    RunInterruptedError,
    Standing,
    StoreConnectionError,
    UsageError,
)
from rag.index.embedding_space import maker, read_embedded
from rag.index.snapshots import IndexDirectory
from rag.index.vault_registry import (
    Registry,
    check_collision,
    configured_vaults,
    known_vaults,
    overlaps,
    vaults_passed_over,
)
from rag.stores import open_directory
from rag.support.json_reports import inline, optional
from rag.text.messages import plural

if TYPE_CHECKING:
    from rag.indexing.reports import Progress, RunReport
    from rag.indexing.run import IndexRun
    from rag.indexing.server import CopyReport

_LOCAL = ("builtin", "onnx")
# Given what is worked on and the noun of its items; shows how far it is while it is open.
ShowProgress = Callable[[str, str], "AbstractContextManager[Progress | None]"]


@dataclass(frozen=True, kw_only=True)
class SyncReport:
    """What a run of the indexer did, or would do.

    :param dry_run: whether it only looked.
    """

    dry_run: bool = optional(False)
    run: RunReport = inline()
    elapsed_ms: int


@dataclass(frozen=True)
class SyncCopy:
    """What was copied to the Qdrant server, and how long it took."""

    copied: CopyReport
    elapsed_ms: int


def no_progress(what: str, noun: str) -> AbstractContextManager[Progress | None]:
    """Show nothing."""
    return nullcontext(None)


def sync(
    config: RAGConfig, request: SyncRequest, show_progress: ShowProgress = no_progress
) -> SyncReport:
    """Bring the index up to date."""
    from rag.indexing.run import IndexRun

    started, directory, notice = time.monotonic(), IndexDirectory.of(config), ""
    if request.take_over and not config.store.url:
        hint = "Name the server whose index is meant in store.url."
        raise UsageError("--take-over is for an index on a server", hint=hint)
    if config.store.url:
        from rag.indexing.server import require_writer, take_over

        if not request.take_over:
            require_writer(config, directory)
        elif before := take_over(config, directory, request.wait):
            notice = f"this machine writes the index now; {before} did before"
    try:
        directory = open_directory(config)
    except IndexUnavailableError:
        if not request.rebuild:
            raise  # what cannot be read of it is needed
    registry = Registry.load(config)
    # A bad one is refused before the index is made or locked.
    registry.identify_all(config, request.folders, request.name)
    try:
        with IndexRun(config, directory, rebuild=request.rebuild, wait=request.wait) as run:
            run.report.notices += [notice] if notice else []
            _index_vaults(run, request, show_progress)
            if request.embed is not False:
                embeds = _embed(run, request, show_progress)
                if config.index.ocr:
                    _read_scans(run, request, show_progress, embeds)
    except KeyboardInterrupt:
        raise RunInterruptedError("interrupted", hint=INDEX_AGAIN) from None
    return SyncReport(run=run.report, elapsed_ms=round((time.monotonic() - started) * 1000))


def preview_sync(config: RAGConfig, request: SyncRequest) -> SyncReport:
    """Return what `sync` would do; nothing is written."""
    from rag.index.lookup import open_manifest
    from rag.indexing.changes import preview
    from rag.indexing.reports import RunReport, VaultReport

    started, run = time.monotonic(), RunReport()
    registry, roots = Registry.load(config), dict[str, str]()
    wanted = registry.identify_all(config, request.folders, request.name)
    with suppress(IndexUnavailableError), open_manifest(config) as manifest:
        roots = manifest.vaults()
        run.notes, run.chunks = manifest.totals()
    wanted = wanted or known_vaults(config, roots, registry)
    _check_any(wanted, config)
    for changes in preview(IndexDirectory.of(config), wanted, config, request.prune):
        paths = {
            "added": [file.path for file in changes.added],
            "changed": [file.path for file in changes.changed],
            "deleted": sorted(changes.deleted),
        }
        names = ("vault", "unchanged", "kept", "problem", "notices")
        facts: dict[str, Any] = {name: getattr(changes, name) for name in names}
        facts |= {what: len(listed) for what, listed in paths.items()}
        run.vaults[changes.vault] = VaultReport(**facts, failed=changes.unlisted, paths=paths)
    return SyncReport(dry_run=True, run=run, elapsed_ms=round((time.monotonic() - started) * 1000))


def copy_index(
    config: RAGConfig, wait: bool = False, show_progress: ShowProgress = no_progress
) -> SyncCopy:
    """Copy the index to the server that the settings name, as `copy_to_server` says."""
    from rag.indexing.server import copy_to_server

    started = time.monotonic()
    with show_progress(config.store.collection, "chunks") as progress:
        report = copy_to_server(config, progress, wait)
    return SyncCopy(report, round((time.monotonic() - started) * 1000))


def _index_vaults(run: IndexRun, request: SyncRequest, show_progress: ShowProgress) -> None:
    from rag.indexing.run import REPORTED

    config, notices = run.config, run.report.notices
    registry = Registry.load(config)
    named = registry.identify_all(config, request.folders, request.name)
    is_changed = bool(named) and registry.add(config, named)
    if config.vaults_dir and not named:  # take out what the configuration leaves out now
        parent, configured = config.vaults_dir.resolve(), configured_vaults(config, registry)
        for vault, root in run.vaults().items():
            if root.parent == parent and vault not in configured and root.is_dir():
                gone = run.remove_vault(vault)
                notices.append(f"vault {vault!r} is gone: {plural(gone, 'note')} removed")
    indexed = run.vaults()
    all_vaults = known_vaults(config, indexed, registry)
    wanted = named or all_vaults
    _check_any(wanted, config)
    for vault, root in wanted.items():
        if not request.take_over:  # the notes of another machine lay where they lay there
            check_collision(vault, root, indexed)
    if registry.notice:
        notices.append(registry.notice)
    if is_changed or registry.notice:  # all folders at once, and only when none is refused
        registry.save()
    if not named:
        notices += vaults_passed_over(config, registry)
    notices += [  # of the vaults named alone, or each run would say it
        f"vault {inner!r} lies in {outer!r}, so that its notes are found twice:"
        f" `rag vault remove {quote(inner)}` takes it out"
        for inner, outer in (overlaps(all_vaults) if named else ())
        if inner in named or outer in named
    ]
    try:
        _bring_up_to_date(run, wanted, request, show_progress)
    except REPORTED as error:
        run.rebuild_after(error)
        _bring_up_to_date(run, wanted, request, show_progress)
    for vault, root in wanted.items() if request.prune else ():
        if not root.is_dir():
            registry.remove(config, vault)
            registry.save()
            notices.append(f"vault {vault!r} is gone, and forgotten")


def _bring_up_to_date(
    run: IndexRun, vaults: Mapping[str, Path], request: SyncRequest, show_progress: ShowProgress
) -> None:
    for vault, root in vaults.items():
        with show_progress(vault, "notes") as progress:
            run.index_vault(vault, root, request.prune, progress)
        if request.prune and not root.is_dir():
            run.remove_vault(vault)
    run.publish()


def _embed(run: IndexRun, request: SyncRequest, show_progress: ShowProgress) -> bool:
    """Give the chunks that lack one an embedding; return whether that was possible."""
    config, required = run.config, bool(request.embed)
    models = resolved(config, "" if required else maker(read_embedded(run.manifest)))
    provider = embedding_provider(models)
    if required:
        provider.check_configured()
    elif not provider.is_configured:
        if config.embedding.provider in _LOCAL:  # a server may be off on purpose
            run.report.notices.append(f"no embeddings: they need {provider.lacking}")
        return False
    try:
        from rag.indexing.chunk_embedding import embed_chunks

        with show_progress("embeddings", "chunks") as progress:
            embed_chunks(run, required, progress, None if required else request.seconds, models)
        return True
    except (ConnectionError, IndexUnavailableError) as error:
        from rag.stores.base.points import StoreError

        if isinstance(error, (StoreError, StoreConnectionError)):
            raise
        is_local = models.embedding.provider in _LOCAL and isinstance(error, ModelError)
        if is_local:
            again = "The notes are found by words; `rag index --embed` tries again."
            error.hint = f"{again} {error.hint}"
        if required:
            raise
        run.report.model_failed = is_local
        embedded, is_named = read_embedded(run.manifest), config.embedding.provider != AUTO
        has_some = bool(embedded and embedded.embedded)
        may_be_silent = request.quiet and isinstance(error, ConnectionError) and not is_local
        if has_some or is_named or not may_be_silent:
            what = "some chunks have no embedding" if has_some else "no embeddings"
            run.report.notices.append(Standing(error.as_notice(f"{what}: ")))
        return False


def _read_scans(
    run: IndexRun, request: SyncRequest, show_progress: ShowProgress, embeds: bool
) -> None:
    """Read what waits for OCR; the pages are embedded too, where the rest was."""
    from rag.indexing.scanned_pages import read_scans

    with show_progress("OCR", "pages") as progress:
        read_scans(run, progress, request.seconds)
    before = run.report.embedding
    if embeds and run.report.scans:
        _embed(run, request, show_progress)
        after = run.report.embedding
        if before and after and after is not before:
            after.made, after.reused = after.made + before.made, after.reused + before.reused


def _check_any(vaults: Mapping[str, Path], config: RAGConfig) -> None:
    if not vaults:
        where = f" ({config.vaults_dir} holds no folders)" if config.vaults_dir else ""
        hint = "Name a folder that holds your .md files: `rag index FOLDER`"
        raise UsageError(f"there is nothing to index{where}", hint=hint)


# -- before a search: no vault comes or goes, nothing is rebuilt, and no model is asked ------------

MOST = 100  # changed notes; more are left to a run of the indexer, which shows how far it is
_GLANCE = 0.2  # seconds for looking what changed: those of about 20,000 notes
_PATIENCE = 10.0  # times as long where other work goes on, before what was saved is not found


class Refreshed(NamedTuple):
    """How many notes the index still knows as they were, if that is known, and notices."""

    changed: int | None = None
    notices: tuple[str, ...] = ()


def refresh(config: RAGConfig) -> Refreshed:
    """Index what changed, where it is little and nobody else writes the index. Whatever goes wrong
    is a notice, and so is Ctrl-C: the index can be searched as it was."""
    from rag.index.manifest import fingerprint
    from rag.indexing.run import IndexRun

    changed: int | None = None
    try:
        with open_index(config) as manifest:
            changed = count_changed(manifest, config, _GLANCE, _PATIENCE)
            is_rebuilt = manifest.get("fingerprint") != fingerprint(config)
            vaults = manifest.vaults()
        if not changed or changed > MOST or is_rebuilt or not os.access(config.index_dir, os.W_OK):
            return Refreshed(changed)
        with IndexRun(config, open_to_write(config)) as run:
            run.prepare()
            if run.is_rebuilding:  # all notes would have to be read again
                return Refreshed(changed)
            for vault, root in vaults.items():
                run.index_vault(vault, Path(root))
            run.publish()
            return Refreshed(0, tuple(_notices(run)))
    except LockedError:  # that it is not up to date is told as ever
        return Refreshed(changed)
    except KeyboardInterrupt:
        return Refreshed(changed, ("interrupted: the index is searched as it was",))
    except (RAGError, OSError, sqlite3.Error) as error:
        if changed is None:  # the search says what is wrong with the index
            return Refreshed()
        return Refreshed(changed, (f"the index could not be brought up to date: {error}",))


def _notices(run: IndexRun) -> Iterator[str]:
    indexed, gone = run.report.count("added", "changed"), run.report.count("deleted")
    parts = [f"indexed {plural(indexed, 'changed note')}"] if indexed else []
    parts += [f"forgot {plural(gone, 'note')} no longer there"] if gone else []
    embedded = read_embedded(run.manifest)
    if parts and embedded and embedded.embedded and not embedded.is_complete:
        parts.append("some chunks have no embedding")
        yield f"{', '.join(parts)} {EMBED_REST}"
    elif parts:
        yield ", ".join(parts)
    for report in run.report.vaults.values():
        for path, why in report.failed.items():
            yield f"{report.vault}/{path}: {why}"
