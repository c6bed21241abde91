"""`rag index`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, say, say_notice, visible
from rag.text.messages import time_left

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from rag.app.requests import SyncRequest
    from rag.app.sync import ShowProgress, SyncCopy, SyncReport
    from rag.indexing.reports import Progress, RunReport

_SURE = 3.0  # seconds after which the time that is left can be told


def index(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of notes; each becomes a vault. None: all known vaults."),
    ] = None,
    name: Annotated[str, opt.value("--name", "NAME", "Name of the vault (one folder).")] = "",
    dry_run: Annotated[bool, opt.flag("--dry-run", "Say what would be done.")] = False,
    prune: Annotated[
        bool, opt.flag("--prune", "Forget the notes of empty or missing folders.")
    ] = False,
    rebuild: Annotated[bool, opt.flag("--rebuild", "Rebuild the index from the notes.")] = False,
    embed: Annotated[
        bool | None,
        opt.flag(
            "--embed/--no-embed",
            "Embed all chunks, those of another model again; or none this time.",
        ),
    ] = None,
    wait: Annotated[bool, opt.flag("--wait", "Wait for another `rag index` to finish.")] = False,
    to_server: Annotated[
        bool, opt.flag("--to-server", "Copy the embedded index to the Qdrant server.")
    ] = False,
    take_over: Annotated[
        bool,
        opt.flag("--take-over", "Write an index that another machine wrote until now."),
    ] = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
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

    config = load_settings(config_file)
    is_watched = sys.stderr.isatty() and not (quiet or json)
    seconds = None if is_watched else 60 * config.embedding.minutes
    request = SyncRequest(
        folders or [], name, prune, rebuild, embed, wait, quiet, take_over, seconds
    )
    _check(request, dry_run, to_server)
    if to_server:
        _print_copy(copy_index(config, wait, _bars(quiet or json)), quiet, json)
    elif dry_run:
        _print_preview(preview_sync(config, request), json)
    else:
        report = sync(config, request, _bars(quiet or json))
        _print(report, quiet, json)
        if report.run.incomplete:
            raise typer.Exit(5)


def _check(request: SyncRequest, dry_run: bool, to_server: bool) -> None:
    """Refuse options that do not go together.

    :raises UsageError: naming them.
    """
    from rag.exceptions import UsageError

    if request.name and len(request.folders) != 1:
        raise UsageError("--name goes with exactly one folder", hint="rag index --name NAME FOLDER")
    remade = request.rebuild or request.embed is not None
    if dry_run and request.take_over:
        raise UsageError("--dry-run changes nothing", hint="rag index --take-over")
    kept = not (request.folders or request.prune or request.take_over)
    if to_server and (dry_run or remade or not kept):
        raise UsageError(
            "--to-server copies the index as it is: no folder, and no option that changes it, goes"
            " with it",
            hint="rag index --to-server",
        )
    if dry_run and remade:
        raise UsageError("--dry-run looks at notes only", hint="rag index --dry-run")


def _bars(quiet: bool) -> ShowProgress:
    return partial(_progress, quiet=quiet)


def _print_copy(found: SyncCopy, quiet: bool, json: bool) -> None:
    report = found.copied
    if json:
        print_report(found)
    elif not quiet:
        there = f", {report.resumed:,} of them earlier" if report.resumed else ""
        print_line(
            f"{plural(report.notes, 'note')} in {plural(report.chunks, 'chunk')}"
            f" ({report.embedded:,} with vectors{there}) copied to {report.url},"
            f" collection {report.collection} ({found.elapsed_ms / 1000:.1f} s)"
        )


@contextmanager
def _progress(what: str, noun: str, quiet: bool) -> Iterator[Progress | None]:
    """Show a bar with counts and time left, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar: Bar | None = None
    before = 0

    def show(done: int, total: int, tokens: int = 0) -> None:
        nonlocal bar, before
        if bar is None and total:
            bar, before = make_bar(what, noun, total), done
        if bar is not None:
            [task] = bar.tasks
            rest = total - done
            told = pace(done - before, rest, tokens, task.elapsed or 0)
            bar.update(task.id, completed=done, pace=told)

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def make_bar(what: str, noun: str, total: int) -> Bar:
    """Show a bar on stderr, which is to be stopped."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from rag.cli.render.terminal import make_console

    name, pace = TextColumn("{task.description}", markup=False), TextColumn("{task.fields[pace]}")
    bar = Bar(
        *(name, BarColumn(), MofNCompleteColumn(), TextColumn(noun), pace),
        console=make_console(stderr=True),
        transient=True,
    )
    bar.start()
    bar.add_task(visible(what), total=total, pace="")
    return bar


def pace(done: int, rest: int, tokens: int, seconds: float) -> str:
    """Say how fast a run is and how long the rest takes at the rate of the whole of it: some notes
    take much longer than others.

    :param done: by this run; what one before it has done took none of its time.
    """
    rate = done / seconds if seconds else 0
    parts = [f"{tokens / seconds:,.0f} tokens/s"] if tokens and seconds else []
    if rate and not tokens:
        parts.append(f"{rate:,.{0 if rate >= 10 else 1}f}/s")
    if rate and seconds > _SURE:
        parts.append(time_left(rest, rate))
    return " ".join(parts)


def _print(found: SyncReport, quiet: bool, json: bool) -> None:
    report = found.run
    _say_problems(report, quiet)
    if json:
        print_report(found)
        return
    if quiet and not (report.touched or report.notices):
        return
    parts = [*_counts(report), *_embedded(report)]
    size = f"{plural(report.notes, 'note')}, {plural(report.chunks, 'chunk')}"
    line = f"{', '.join(parts)}; {size} in the index" if parts else f"nothing changed: {size}"
    problems = sum(len(vault.problems) for vault in report.vaults.values())
    if problems and not quiet:
        line += f"; {plural(problems, 'note')} with problems (rag status --problems)"
    print_line(f"{line} ({found.elapsed_ms / 1000:.1f} s)")


def _say_problems(report: RunReport, quiet: bool) -> None:
    """Say what there is to know of a run, and which notes and chunks failed."""
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
    embedding = report.embedding
    for chunk, why in (embedding.failed if embedding else {}).items():
        say(f"rag: {chunk}: not embedded: {why}")


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
    if done and done.left:
        left = f", {time_left(done.left, done.rate)}" if done.rate else ""
        yield f"{plural(done.left, 'chunk')} left to the next run{left}"


def _print_preview(report: SyncReport, json: bool) -> None:
    if json:
        print_report(report)
        return
    vaults = report.run.vaults.values()
    for vault in vaults:
        for mark, paths in zip("+~-", vault.paths.values(), strict=True):
            for path in paths:
                print_line(f"{mark} {vault.vault}/{path}")
        if vault.problem:
            say(f"rag: vault {vault.vault!r}: {vault.problem}")
    added, changed, deleted = (
        sum(getattr(vault, what) for vault in vaults) for what in ("added", "changed", "deleted")
    )
    print_line(f"would index {added:,} new and {changed:,} changed, forget {deleted:,}")
