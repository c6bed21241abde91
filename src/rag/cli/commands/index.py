"""`rag index`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import Given, argument, flag, shared, value
from rag.cli.render.console import plural, say, say_notice, show, visible
from rag.exceptions import UsageError
from rag.text.messages import time_left

if TYPE_CHECKING:
    from rag.app.sync import SyncReport
    from rag.indexing.reports import Progress, RunReport


def index(
    folders: list[Path] | None = argument(
        "[FOLDERS]...", "Folders, each a vault; none: all known.", None
    ),
    name: str = value("--name", "NAME", "Name of the vault (one folder).", ""),
    dry_run: bool = flag("--dry-run", "Say what would be done."),
    prune: bool = flag("--prune", "Forget the notes of empty or missing folders."),
    rebuild: bool = flag("--rebuild", "Rebuild the index from the notes."),
    embed: bool | None = flag("--embed/--no-embed", "Embed all chunks anew; or none.", None),
    wait: bool = flag("--wait", "Wait for another `rag index` to finish."),
    to_server: bool = flag("--to-server", "Copy the embedded index to the Qdrant server."),
    take_over: bool = flag("--take-over", "Write an index that another machine wrote."),
    given: Given = shared("quiet json config_file"),
) -> None:
    """Index notes: all the first time, then only what changed.

    \b
    rag index ~/notes              index a folder as the vault "notes"
    rag index                      bring every known vault up to date
    rag index -q                   for cron: silent unless something happened
    rag index --dry-run            what would be done
    rag index --to-server          copy the index to the server of store.url
    """
    from rag.app.requests import SyncRequest
    from rag.app.sync import copy_index, preview_sync, sync

    config, quiet, json = given.config, given.quiet, given.json
    is_watched = sys.stderr.isatty() and not (quiet or json)
    seconds = None if is_watched else 60 * config.embedding.minutes
    request = opt.make_request(SyncRequest, given, seconds=seconds)
    if name and len(request.folders) != 1:
        raise UsageError("--name goes with exactly one folder", hint="rag index --name NAME FOLDER")
    changing: dict[str, object] = {"--rebuild": rebuild, "--embed": embed}
    changing |= {"--no-embed": embed is False, "--take-over": take_over}
    opt.exclude("--dry-run", dry_run, changing)
    changing |= {"--dry-run": dry_run, "--prune": prune, "FOLDERS": folders}
    opt.exclude("--to-server", to_server, changing)
    bars = partial(_progress, quiet=quiet or json)
    if to_server:
        copy = copy_index(config, wait, bars)
        report = copy.copied
        line = f"{plural(report.notes, 'note')} in {plural(report.chunks, 'chunk')}"
        line += f" ({report.embedded:,} with vectors) copied to {report.url}, collection"
        line += f" {report.collection} ({copy.elapsed_ms / 1000:.1f} s)"
        show(copy, json, [] if quiet else [line])
    elif dry_run:
        preview = preview_sync(config, request)
        show(preview, json, _preview(preview))
    else:
        done = sync(config, request, bars)
        _say_problems(done.run, quiet)
        show(done, json, _summary(done, quiet))
        if done.run.incomplete:
            raise typer.Exit(5)


@contextmanager
def _progress(what: str, noun: str, quiet: bool) -> Iterator[Progress | None]:
    """Show a bar with counts and the time that is left, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from rag.cli.render.terminal import make_console

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), MofNCompleteColumn(), TextColumn(noun), TimeRemainingColumn())
    bar = Bar(*columns, console=make_console(stderr=True), transient=True)

    def show(done: int, total: int) -> None:
        if total and not bar.tasks:
            bar.start()
            bar.add_task(visible(what), total=total, completed=done)
        for task in bar.task_ids:
            bar.update(task, completed=done)

    try:
        yield show
    finally:
        bar.stop()


def _say_problems(report: RunReport, quiet: bool) -> None:
    for notice in report.notices:
        say_notice(notice, "rag: ")
    for vault in report.vaults.values():
        if not (vault.total or vault.problem or vault.deleted or quiet):
            say(f"rag: vault {vault.vault!r}: its folder holds no .md files")
        if vault.problem:
            kept = f"; {plural(vault.kept, 'note')} kept (--prune forgets)" if vault.kept else ""
            say(f"rag: vault {vault.vault!r}: {vault.problem}{kept}")
        for path, why in (*vault.failed.items(), *vault.notices.items()):
            say(f"rag: {vault.vault}/{path}: {why}")
    for chunk, why in (report.embedding.failed if report.embedding else {}).items():
        say(f"rag: {chunk}: not embedded: {why}")


def _summary(report: SyncReport, quiet: bool) -> Iterator[str]:
    """Yield the line that says what was done; none where nothing was, and that is to be quiet."""
    run, parts = report.run, list[str]()
    if quiet and not (run.touched or run.notices):
        return
    for what, word in (("added", "new"), ("changed", "changed"), ("deleted", "deleted")):
        if count := run.count(what):
            parts.append(f"{count:,} {word}")
    done = run.embedding
    if done and run.embedded:
        cached = f" ({done.reused:,} known already)" if done.reused else ""
        parts.append(f"{plural(run.embedded, 'chunk')} embedded{cached}")
        if done.unreadable:
            script = "a script that the model does not read"
            parts.append(f"{done.unreadable:,} found by words alone ({script})")
    if done and done.left:
        left = f", {time_left(done.left, done.rate)}" if done.rate else ""
        parts.append(
            f"{plural(done.left, 'chunk')} left to the next run{left} (`rag index` goes on)"
        )
    if run.scans and run.scans.read:
        parts.append(f"{plural(run.scans.read, 'page')} read by OCR")
    if run.scans and run.scans.left:
        parts.append(f"{plural(run.scans.left, 'scanned page')} left to the next run")
    size = f"{plural(run.notes, 'note')}, {plural(run.chunks, 'chunk')}"
    line = f"{', '.join(parts)}; {size} in the index" if parts else f"nothing changed: {size}"
    problems = sum(len(vault.problems) for vault in run.vaults.values())
    if problems and not quiet:
        line += f"; {plural(problems, 'note')} with problems (rag status --problems)"
    yield f"{line} ({report.elapsed_ms / 1000:.1f} s)"


def _preview(report: SyncReport) -> Iterator[str]:
    vaults = report.run.vaults.values()
    for vault in vaults:
        for mark, paths in zip("+~-", vault.paths.values(), strict=True):
            yield from (f"{mark} {vault.vault}/{path}" for path in paths)
        if vault.problem:
            say(f"rag: vault {vault.vault!r}: {vault.problem}")
    added, changed, deleted = (
        sum(getattr(vault, what) for vault in vaults) for what in ("added", "changed", "deleted")
    )
    yield f"would index {added:,} new and {changed:,} changed, forget {deleted:,}"
