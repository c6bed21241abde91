"""`rag index`."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.framework.options import ConfigFile, Json, Quiet
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_json, print_line, say

if TYPE_CHECKING:
    from rag.config import RAGConfig
    from rag.index.vault_registry import Registry
    from rag.indexing.changes import Changes
    from rag.indexing.reports import RunReport
    from rag.indexing.run import IndexRun, Progress


def index(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of notes; each becomes a vault. None: all known vaults."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the vault (one folder).")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Forget the notes of empty or missing folders.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make the index anew from the notes.")
    ] = False,
    embed: Annotated[
        bool | None,
        typer.Option(
            "--embed/--no-embed",
            help="Embed all chunks, those of another model anew; or none this time.",
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for another `rag index` to finish.")
    ] = False,
    to_server: Annotated[
        bool, typer.Option("--to-server", help="Copy the embedded index to the Qdrant server.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    config_file: ConfigFile = None,
) -> None:
    """Index notes: all the first time, then only what changed.

    \b
    rag index ~/notes              index a folder; it is a vault named "notes" from now on
    rag index                      bring every known vault up to date
    rag index -q                   the same for cron: silent unless something happened
    rag index --dry-run            what would be done
    rag index --to-server          copy the index to the server that store.url names
    """
    from rag.exceptions import UsageError

    config = load_settings(config_file)
    if name and len(folders or []) != 1:
        raise UsageError("--name goes with exactly one folder", hint="rag index --name NAME FOLDER")
    if to_server:
        if folders or dry_run or prune or rebuild or embed is not None:
            raise UsageError("--to-server copies the index as it is", hint="rag index --to-server")
        _copy(config, wait, quiet, json)
        return
    if dry_run and (rebuild or embed is not None):
        raise UsageError("--dry-run looks at notes only", hint="rag index --dry-run")
    if dry_run:
        _preview(config, folders or [], name, prune, json)
        return
    from rag.index.snapshots import IndexDirectory
    from rag.indexing.child_writer import watch

    def work(tell_size: Callable[[int], None]) -> RunReport:
        with _open_run(config, folders or [], name, rebuild, wait) as run:
            run.tell_size = tell_size
            _refresh(run, config, folders or [], name, prune, quiet or json)
            if embed is not False:
                _embed(run, config, bool(embed), quiet, json)
        return run.report

    started = time.monotonic()
    report = watch(IndexDirectory.of(config), work)
    _report(report, time.monotonic() - started, quiet, json)
    if report.incomplete:
        raise typer.Exit(5)


def _open_run(
    config: RAGConfig, folders: list[Path], name: str, rebuild: bool, wait: bool
) -> IndexRun:
    from rag.index.vault_registry import Registry
    from rag.indexing.run import IndexRun

    for folder in folders:  # refuse a bad one before the index is made or locked
        Registry.load(config).identify(config, folder, name)
    # Indexing makes millions of short-lived lists and no circles among them.
    gc.set_threshold(100_000, 20, 100)
    return IndexRun(config, rebuild=rebuild, wait=wait)


def _refresh(
    run: IndexRun, config: RAGConfig, folders: list[Path], name: str, prune: bool, quiet: bool
) -> None:
    from rag.index.vault_registry import (
        Registry,
        check_collision,
        configured_vaults,
        known_vaults,
        overlaps,
    )

    registry = Registry.load(config)
    if registry.notice:
        run.report.notices.append(registry.notice)
        registry.save()
    names = [registry.register(config, folder, name) for folder in folders]
    if not names:
        _drop_left_out(run, config, configured_vaults(config, registry))
    indexed = run.vaults()
    known = known_vaults(config, indexed, registry)
    wanted = {n: known[n] for n in names} if names else known
    _check_any(wanted, config)
    for vault, root in wanted.items():
        check_collision(vault, root, indexed)
    for inner, outer in overlaps(known):
        if {inner, outer} & {*names}:
            run.report.notices.append(
                f"vault {inner!r} lies in {outer!r}, so that its notes are found twice:"
                f" `rag vault remove {quote(inner)}` takes it out"
            )
    for vault, root in wanted.items():
        with _progress(vault, "notes", quiet) as progress:
            run.index_vault(vault, root, prune, progress)
    if prune:
        _drop_gone(run, registry, config, wanted)
    run.publish()


def _embed(run: IndexRun, config: RAGConfig, required: bool, quiet: bool, json: bool) -> None:
    """Embed what lacks an embedding; unless that was asked for, the words alone do too."""
    from rag.exceptions import (
        ConfigError,
        ConnectionError,
        IndexUnavailableError,
        StoreConnectionError,
    )

    if not (config.ollama.enabled and config.ollama.embedding_model):
        if required:
            what = "embedding model is configured" if config.ollama.enabled else "Ollama is allowed"
            raise ConfigError(f"no {what}", hint="Set ollama.enabled and ollama.embedding_model.")
        return
    if required:  # whatever was found a minute ago
        from rag.clients.ollama.silent_servers import forget

        forget(config.ollama.embedding_urls)
    try:
        with _progress("embeddings", "chunks", quiet or json) as progress:
            run.embed(required, progress)
    except (ConnectionError, IndexUnavailableError) as error:
        from rag.stores.edge.shard import StoreError

        if required or isinstance(error, (StoreError, StoreConnectionError)):
            raise
        has_some = bool(run.embedded)
        if has_some or not quiet:
            what = "some chunks have no embedding" if has_some else "no embeddings"
            run.report.notices.append(f"{what}: {error}. {error.hint}")


def _copy(config: RAGConfig, wait: bool, quiet: bool, json: bool) -> None:
    from rag.indexing.server_migration import copy_to_server

    started = time.monotonic()
    with _progress(config.store.collection, "chunks", quiet or json) as progress:
        report = copy_to_server(config, progress, wait)
    seconds = time.monotonic() - started
    if json:
        print_json({"copied": asdict(report), "elapsed_ms": round(seconds * 1000)})
    elif not quiet:
        there = f", {report.resumed:,} of them earlier" if report.resumed else ""
        print_line(
            f"{plural(report.notes, 'note')} in {plural(report.chunks, 'chunk')}"
            f" ({report.embedded:,} with vectors{there}) copied to {report.url},"
            f" collection {report.collection} ({seconds:.1f} s)"
        )


def _check_any(vaults: dict[str, Path], config: RAGConfig) -> None:
    from rag.exceptions import UsageError

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


@contextmanager
def _progress(what: str, noun: str, quiet: bool) -> Iterator[Progress | None]:
    """Show a bar with counts and time left, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar: Any = None
    task: Any = None

    def show(done: int, total: int) -> None:
        nonlocal bar, task
        if bar is None and total:
            bar, task = _make_bar(what, noun, total)
        if bar is not None:
            bar.update(task, completed=done)

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def _make_bar(what: str, noun: str, total: int) -> tuple[Any, Any]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    from rag.cli.render.console import make_console, visible

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(noun),
        Speed(),
        TimeRemainingColumn(),
        console=make_console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task(visible(what), total=total)


def _report(report: RunReport, seconds: float, quiet: bool, json: bool) -> None:
    for notice in report.notices:
        say(f"rag: {notice}")
    for vault in report.vaults.values():
        if not (vault.total or vault.problem or vault.deleted or quiet):
            say(f"rag: vault {vault.vault!r}: its folder holds no .md files")
        if vault.problem:
            kept = f"; {plural(vault.kept, 'note')} kept (--prune forgets)" if vault.kept else ""
            say(f"rag: vault {vault.vault!r}: {vault.problem}{kept}")
        for path, why in vault.failed.items():
            say(f"rag: {vault.vault}/{path}: {why}")
    embedding = report.embedding
    for chunk, why in (embedding.failed if embedding else {}).items():
        say(f"rag: {chunk}: not embedded: {why}")
    if json:
        _print_json(report, seconds)
        return
    if quiet and not (report.touched or report.notices):
        return
    parts = [*_counts(report), *_embedded(report)]
    size = f"{plural(report.notes, 'note')}, {plural(report.chunks, 'chunk')}"
    line = f"{', '.join(parts)}; {size} in the index" if parts else f"nothing changed: {size}"
    problems = sum(len(vault.problems) for vault in report.vaults.values())
    if problems and not quiet:
        line += f"; {plural(problems, 'note')} with problems (rag status --problems)"
    print_line(f"{line} ({seconds:.1f} s)")


def _counts(report: RunReport) -> Iterator[str]:
    for what, word in (("added", "new"), ("changed", "changed"), ("deleted", "deleted")):
        count = sum(getattr(vault, what) for vault in report.vaults.values())
        if count:
            yield f"{count:,} {word}"


def _embedded(report: RunReport) -> Iterator[str]:
    done = report.embedding
    if done and (done.made or done.reused):
        known = f" ({done.reused:,} known already)" if done.reused else ""
        yield f"{plural(done.made + done.reused, 'chunk')} embedded{known}"
        if done.unreadable:
            yield f"{done.unreadable:,} left to words (a script that the model does not read)"


def _print_json(report: RunReport, seconds: float) -> None:
    vaults = {
        vault.vault: {
            "added": vault.added,
            "changed": vault.changed,
            "deleted": vault.deleted,
            "unchanged": vault.unchanged,
            "chunks_written": vault.chunks,
            "kept": vault.kept,
            "problem": vault.problem,
            "failed": vault.failed,
            "problems": vault.problems,
        }
        for vault in report.vaults.values()
    }
    print_json(
        {
            "vaults": vaults,
            "notes": report.notes,
            "chunks": report.chunks,
            "published": report.published,
            "embedding": asdict(report.embedding) if report.embedding else None,
            "notices": report.notices,
            "elapsed_ms": round(seconds * 1000),
        }
    )


def _preview(config: RAGConfig, folders: list[Path], name: str, prune: bool, json: bool) -> None:
    from rag.indexing.dry_run import preview_changes

    found = preview_changes(config, folders, name, prune)
    _check_any({changes.vault: Path(changes.root) for changes in found}, config)
    if json:
        print_json({"dry_run": True, "vaults": {c.vault: _changes_json(c) for c in found}})
        return
    for changes in found:
        for mark, paths in zip("+~-", _paths(changes), strict=True):
            for path in paths:
                print_line(f"{mark} {changes.vault}/{path}")
        if changes.problem:
            say(f"rag: vault {changes.vault!r}: {changes.problem}")
    added, changed, deleted = (sum(len(_paths(changes)[i]) for changes in found) for i in range(3))
    print_line(f"would index {added:,} new and {changed:,} changed, forget {deleted:,}")


def _paths(changes: Changes) -> tuple[list[str], list[str], list[str]]:
    added = [file.path for file in changes.added]
    return added, [file.path for file in changes.changed], sorted(changes.deleted)


def _changes_json(changes: Changes) -> dict[str, Any]:
    added, changed, deleted = _paths(changes)
    return {
        "added": added,
        "changed": changed,
        "deleted": deleted,
        "unchanged": changes.unchanged,
        "problem": changes.problem,
    }
