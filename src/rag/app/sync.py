"""Bringing an index up to date: registering, reading, embedding, forgetting, copying."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rag.app.requests import SyncRequest
from rag.clients.factory import embedding_provider, resolved
from rag.config import AUTO, RAGConfig
from rag.exceptions import (
    INDEX_AGAIN,
    ConnectionError,
    IndexUnavailableError,
    ModelError,
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
    from rag.indexing.server_migration import CopyReport

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
    """Bring the index up to date; see `Workspace.sync`."""
    from rag.indexing.child_writer import watch

    directory = _directory(config, request)
    notice = _become_writer(config, directory, request, show_progress)

    def work(tell_size: Callable[[int], None]) -> RunReport:
        with _open_run(config, directory, request) as run:
            run.report.notices += [notice] if notice else []
            run.tell_size = tell_size
            _refresh(run, config, request, show_progress)
            if request.embed is not False:
                _embed(run, config, request, show_progress)
        return run.report

    started, before = time.monotonic(), gc.get_threshold()
    try:
        report = watch(directory, work)
    except KeyboardInterrupt:
        raise RunInterruptedError("interrupted", hint=INDEX_AGAIN) from None
    finally:
        gc.set_threshold(*before)
    return SyncReport(run=report, elapsed_ms=_milliseconds(started))


def preview_sync(config: RAGConfig, request: SyncRequest) -> SyncReport:
    """Return what `sync` would do; nothing is written.

    :raises UsageError: for a folder that is none, or when there is nothing to index.
    """
    from rag.index.lookup import open_manifest
    from rag.indexing.dry_run import preview_changes
    from rag.indexing.reports import RunReport, VaultReport

    started = time.monotonic()
    found = preview_changes(config, [*request.folders], request.name, request.prune)
    _check_any({changes.vault: Path(changes.root) for changes in found}, config)
    run = RunReport()
    for changes in found:
        paths = {
            "added": [file.path for file in changes.added],
            "changed": [file.path for file in changes.changed],
            "deleted": sorted(changes.deleted),
        }
        run.vaults[changes.vault] = VaultReport(
            changes.vault,
            added=len(changes.added),
            changed=len(changes.changed),
            deleted=len(changes.deleted),
            unchanged=changes.unchanged,
            kept=changes.kept,
            problem=changes.problem,
            failed=changes.unlisted,
            notices=changes.notices,
            paths=paths,
        )
    with suppress(IndexUnavailableError), open_manifest(config) as manifest:
        run.notes, run.chunks = manifest.totals()
    return SyncReport(dry_run=True, run=run, elapsed_ms=_milliseconds(started))


def _milliseconds(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def copy_index(
    config: RAGConfig, wait: bool = False, show_progress: ShowProgress = no_progress
) -> SyncCopy:
    """Copy the index to the server that the settings name; see `Workspace.copy_index`."""
    from rag.indexing.server_migration import copy_to_server

    started = time.monotonic()
    with show_progress(config.store.collection, "chunks") as progress:
        report = copy_to_server(config, progress, wait)
    return SyncCopy(report, _milliseconds(started))


def _directory(config: RAGConfig, request: SyncRequest) -> IndexDirectory:
    try:
        return open_directory(config)
    except IndexUnavailableError:
        if not request.rebuild:
            raise
        return IndexDirectory.of(config)  # what cannot be read of it is not needed


def _become_writer(
    config: RAGConfig, directory: IndexDirectory, request: SyncRequest, show_progress: ShowProgress
) -> str:
    """Make sure that this machine writes the index; return what there is to say of it."""
    if not config.store.url:
        if request.take_over:
            raise UsageError(
                "an index on this machine has no other writer",
                hint="Name the server whose index is meant in store.url.",
            )
        return ""
    from rag.indexing.take_over import require_writer, take_over

    if not request.take_over:
        require_writer(config, directory)
        return ""
    before = take_over(config, directory, request.wait, request.rebuild)
    return f"this machine writes the index now; {before} did before" if before else ""


def _open_run(config: RAGConfig, directory: IndexDirectory, request: SyncRequest) -> IndexRun:
    from rag.indexing.run import IndexRun

    registry = Registry.load(config)
    registry.check_place()  # before a rebuild takes anything away
    # A bad one is refused before the index is made or locked.
    registry.identify_all(config, request.folders, request.name)
    # Indexing makes millions of short-lived lists and no circles among them.
    gc.set_threshold(100_000, 20, 100)
    return IndexRun(config, directory, rebuild=request.rebuild, wait=request.wait)


def _refresh(
    run: IndexRun, config: RAGConfig, request: SyncRequest, show_progress: ShowProgress
) -> None:
    registry = Registry.load(config)
    named = registry.identify_all(config, request.folders, request.name)
    is_changed = registry.add(config, named)
    if not named:
        _drop_left_out(run, config, configured_vaults(config, registry))
    indexed = run.vaults()
    known = known_vaults(config, indexed, registry)
    wanted = named or known
    _check_any(wanted, config)
    for vault, root in wanted.items():
        if not request.take_over:  # the notes of another machine lay where they lay there
            check_collision(vault, root, indexed)
    if registry.notice:
        run.report.notices.append(registry.notice)
    if is_changed or registry.notice:  # all folders at once, and only when none is refused
        registry.save()
    if not named:
        run.report.notices += vaults_passed_over(config, registry)
    _tell_overlaps(run, known, named)
    _tell_appeared(run, config, wanted, indexed)
    for vault, root in wanted.items():
        with show_progress(vault, "notes") as progress:
            run.index_vault(vault, root, request.prune, progress)
    if request.prune:
        _drop_gone(run, registry, config, wanted)
    run.publish()


def _tell_appeared(
    run: IndexRun, config: RAGConfig, wanted: dict[str, Path], indexed: Collection[str]
) -> None:
    """Say which folders of `vaults_dir` become vaults of an index that has others already."""
    parent = config.vaults_dir and config.vaults_dir.resolve()
    for vault, root in wanted.items() if indexed else ():
        if vault not in indexed and root.parent == parent:
            said = f"{root} lies in vaults_dir, and is the vault {vault!r} from now on"
            run.report.notices.append(_or_take_out(said, vault))


def _tell_overlaps(run: IndexRun, known: dict[str, Path], named: Collection[str]) -> None:
    """Say which of the vaults that were named lie in another one, or hold one."""
    for inner, outer in overlaps(known):
        if inner in named or outer in named:
            said = f"vault {inner!r} lies in {outer!r}, so that its notes are found twice"
            run.report.notices.append(_or_take_out(said, inner))


def _or_take_out(said: str, vault: str) -> str:
    """Say something of a vault, and how to take it out of the index."""
    return f"{said}: `rag vault remove {quote(vault)}` takes it out"


def _embed(
    run: IndexRun, config: RAGConfig, request: SyncRequest, show_progress: ShowProgress
) -> None:
    """Embed what lacks an embedding; unless that was asked for, the words alone do too."""
    required = bool(request.embed)
    models = resolved(config, "" if required else maker(read_embedded(run.manifest)))
    provider = embedding_provider(models)
    if required:
        provider.check_configured()
    elif not provider.is_configured:
        if config.embedding.provider in _LOCAL:  # a server may be off on purpose
            run.report.notices.append(f"no embeddings: they need {provider.lacking}")
        return
    try:
        with show_progress("embeddings", "chunks") as progress:
            run.embed(required, progress, None if required else request.seconds, models)
    except (ConnectionError, IndexUnavailableError) as error:
        from rag.stores.edge.shard import StoreError

        if isinstance(error, (StoreError, StoreConnectionError)):
            raise
        is_local = models.embedding.provider in _LOCAL and isinstance(error, ModelError)
        if is_local:
            error.hint = (
                f"The notes are found by words; `rag index --embed` tries again. {error.hint}"
            )
        if required:
            raise
        run.report.model_failed = is_local
        has_some, is_named = bool(run.embedded), config.embedding.provider != AUTO
        may_be_silent = request.quiet and isinstance(error, ConnectionError) and not is_local
        if has_some or is_named or not may_be_silent:
            what = "some chunks have no embedding" if has_some else "no embeddings"
            run.report.notices.append(Standing(error.as_notice(f"{what}: ")))


def _check_any(vaults: dict[str, Path], config: RAGConfig) -> None:
    if not vaults:
        where = f" ({config.vaults_dir} holds no folders)" if config.vaults_dir else ""
        raise UsageError(
            f"there is nothing to index{where}",
            hint="Name a folder that holds your .md files: `rag index FOLDER`",
        )


def _drop_left_out(run: IndexRun, config: RAGConfig, configured: dict[str, Path]) -> None:
    """Take out the folders of `vaults_dir` that the configuration leaves out now."""
    for vault, root in run.vaults().items():
        of_ours = config.vaults_dir is not None and root.parent == config.vaults_dir.resolve()
        if of_ours and vault not in configured and root.is_dir():
            gone = run.remove_vault(vault)
            run.report.notices.append(f"vault {vault!r} is gone: {plural(gone, 'note')} removed")


def _drop_gone(
    run: IndexRun, registry: Registry, config: RAGConfig, vaults: dict[str, Path]
) -> None:
    """Forget the vaults whose folders are gone."""
    for vault, root in vaults.items():
        if not root.is_dir():
            registry.remove(config, vault)
            run.remove_vault(vault)
            run.report.notices.append(f"vault {vault!r} is gone, and forgotten")
