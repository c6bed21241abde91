"""`rag status` and `rag doctor`: what the index holds, and what is wrong."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from rag.cli.framework.options import Given, argument, flag, shared
from rag.cli.render.console import plural, print_report, show, visible
from rag.config import load_config
from rag.text.messages import minute, time_left

if TYPE_CHECKING:
    from rag.app.status import SkippedFile, StatusReport, VaultFiles
    from rag.app.watch_state import WatcherStatus
    from rag.config import RAGConfig
    from rag.index.embedding_space import Embedded

_MOST = 50  # notes without vectors that are listed


def status(
    problems: bool = flag("--problems", "List the notes that could not be read or embedded."),
    links: bool = flag("--links", "List the links that no note answers to, or several do."),
    skipped: bool = flag("--skipped", "List the files whose text is not indexed, and why."),
    given: Given = shared("json config_file"),
) -> None:
    """Show what the index holds, and what was wrong with notes.

    \b
    rag status
    rag status --problems
    rag status --problems --links
    rag status --skipped
    """
    from rag.app.status import read_status

    config = given.config
    report = read_status(config, links, problems, skipped)
    lines = [*_problems(report)] if problems else []
    if skipped:
        lines += [*_skipped(report.skipped or [], config)] or ["every file is indexed"]
    if links:
        from rag.cli.commands.notes import link_line

        lines += [*map(link_line, report.links or ())] or ["every link leads to one note"]
    show(
        report, given.json, lines if problems or links or skipped else _status_lines(report, config)
    )
    if problems and any(note.failed for note in report.problems):
        raise typer.Exit(5)


def _status_lines(report: StatusReport, config: RAGConfig) -> Iterator[str]:
    index, changed = report.index, report.index.changed
    age = "up to date" if changed == 0 else f"{plural(changed or 0, 'note')} changed since"
    yield f"index     {index.path} ({index.bytes / 1e6:.1f} MB)"
    if index.server:
        silent = "" if index.server.answers else " (it does not answer: this is what is known here)"
        yield f"server    {index.server.url}, collection {index.server.collection}{silent}"
    if index.writer:
        who = "this machine" if index.writer.here else index.writer.name
        yield f"written   by {who}, since {minute(index.writer.since)}"
    if index.writer and not index.writer.here:
        age = "as it was published there"
    elif changed is None:
        age = "unknown if stale"
    yield f"indexed   {minute(index.indexed_at)}, {age}"
    yield f"notes     {index.notes:,} in {plural(index.chunks, 'chunk')}"
    yield from _embedding(index.embedding) if index.embedding else ()
    yield from [f"reader    {report.reader}"] if report.reader else ()
    notices = set[str]()
    for name, vault in report.vaults.items():
        is_here = os.path.isdir(vault.path)  # noqa: PTH112 - `Path.is_dir` may raise
        away = "" if is_here else "  (the folder is not there)"
        yield f"  {name}  {plural(vault.notes, 'note')}  {vault.path}{away}"
        yield from _files(vault.files, config) if vault.files else ()
        yield from (f"    {notice}" for notice in vault.notices if notice not in notices)
        notices |= {*vault.notices}
    yield from (f"  {name}  not indexed yet (`rag index`)" for name in report.not_indexed)
    yield from _watcher(report.watcher) if report.watcher else ()
    if report.problems:
        yield f"problems  {plural(len(report.problems), 'note')} (`rag status --problems`)"


def _files(files: VaultFiles, config: RAGConfig) -> Iterator[str]:
    if files.left_out or {*files.indexed} - {"markdown"}:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in files.indexed.items())
        share = f"{sum(files.indexed.values()):,} of {plural(files.total, 'file')}"
        yield f"    indexed {share}{f': {kinds}' if kinds else ''}"
    if files.left_out:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in files.left_out.items())
        yield f"    not indexed, or by name alone: {reasons} (`rag status --skipped`)"
    if files.scans:
        how = _to_read_scans(config)
        waiting = f"{files.scans.waiting:,} wait for OCR ({how})" if files.scans.waiting else ""
        read = f"{files.scans.read:,} read by OCR" if files.scans.read else ""
        yield f"    scans {', '.join(filter(None, (waiting, read)))}"


def _skipped(files: list[SkippedFile], config: RAGConfig) -> Iterator[str]:
    from rag.app.status import HINTS
    from rag.support.file_kinds import kind_by_name
    from rag.vault.discovery import NO_READER
    from rag.vault.documents import SCAN

    yield from (f"{file.vault}/{file.path}: {file.reason}" for file in files)
    reasons = {file.reason for file in files}
    yield from (hint for reason, hint in HINTS.items() if reason in reasons)
    kinds = {kind_by_name(file.path) for file in files if file.reason == NO_READER}
    if SCAN in reasons or "image" in kinds:
        yield f"scans and pictures: {_to_read_scans(config)}"


def _to_read_scans(config: RAGConfig) -> str:
    """Return what there is to do so that scans and pictures are read."""
    from rag.support.installation import command_to_add
    from rag.vault.ocr import has_ocr

    if not has_ocr():
        return f"index.ocr = true, and `{command_to_add('ocr')}`"
    return "`rag index` reads them" if config.index.ocr else "index.ocr = true has them read"


def _embedding(made: Embedded) -> Iterator[str]:
    readable, left = made.readable, made.unreadable
    line = f"vectors   {made.embedded:,} of {plural(readable, 'chunk')}, by {made.space.model}"
    line += f" ({made.runtime})" if made.runtime else ""
    yield f"{line}; {left:,} more are in a script it does not read" if left else line
    if made.lacking:
        share = 100 * made.embedded // max(1, readable)
        time = f", {time_left(made.lacking, made.rate)} left" if made.rate else ""
        yield f"meaning   {share} % of chunks{time} (`rag index` goes on)"


def _watcher(watcher: WatcherStatus) -> Iterator[str]:
    if not watcher.alive:
        yield f"watcher   ended unexpectedly after {minute(watcher.heartbeat)} (`rag watch`)"
        return
    late = f", no sign of life since {minute(watcher.heartbeat)}" if watcher.is_late else ""
    yield f"watcher   process {watcher.process} since {minute(watcher.started)}{late}"
    event, run = watcher.last_event, watcher.last_run
    if run:
        last = f"last event {minute(event)}, " if event else ""
        how = run.error or f"{plural(run.changed, 'note')} changed"
        yield f"  {last}last run {minute(run.ended)} ({run.elapsed_ms / 1000:.1f} s): {how}"
    for folder in watcher.polled:
        yield f"  {folder}: looked at every few seconds, since the system tells nothing of it"


def _problems(report: StatusReport) -> Iterator[str]:
    lacking = report.without_vectors or []
    if not (report.problems or lacking):
        yield "no problems"
    for note in report.problems:
        mark = "not read: " if note.failed else ""
        yield from (f"{note.vault}/{note.path}: {mark}{problem}" for problem in note.problems)
    for lack in lacking[:_MOST]:
        yield f"{lack.vault}/{lack.path}: {plural(lack.chunks, 'chunk')} without a vector"
    if len(lacking) > _MOST:
        yield f"and {len(lacking) - _MOST:,} more notes"
    if lacking:
        yield "`rag index` embeds them; until then they are found by words"


def tags(
    below: str = argument("[NAME]", "Only tags below this one, or the values of a property.", ""),
    given: Given = shared("json config_file"),
) -> None:
    """List the tags and properties of the notes, with their counts.

    \b
    rag tags
    rag tags ops        those of #ops, and the values of a property `ops`
    rag tags status
    """
    from rag.app.workspace import Workspace, count_names

    with Workspace(given.config) as workspace:
        report = count_names(workspace, below)
    lines = [f"{notes:>6,}  #{name}" for name, notes in report.tags.items()]
    head = f"{below}: " if below else ""
    lines += [f"{notes:>6,}  {head}{name}" for name, notes in report.properties.items()]
    missing = f"no tag or property {below!r} (`rag tags` lists all)"
    show(report, given.json, lines, missing if below else "no note has tags or properties")


_MARKS = {"pass": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "bold red")}


def doctor(given: Given = shared("quiet json config_file")) -> None:
    """Check settings, vaults, index, models and servers.

    It says what mends what is wrong. Each line is pass, warn (search does without) or fail
    (something does not work, or results would be wrong). The exit code is 1 when a check
    failed. Nothing is changed.

    \b
    rag doctor
    rag doctor -q                  only what is wrong
    rag doctor --json
    """
    from rich.text import Text

    from rag.app.doctor import DoctorReport, run_checks
    from rag.cli.render.terminal import make_console

    json, quiet = given.json, given.quiet
    console = make_console()
    report = DoctorReport([])
    for check in run_checks(load_config(given.config_file)):
        report.checks.append(check)
        if json or (quiet and check.status == "pass"):
            continue
        mark, style = _MARKS[check.status]
        line = Text.assemble((f"{mark} {check.status}", style), (f"  {check.name:16}", "bold"))
        console.print(line.append(visible(check.message)), soft_wrap=True)
        if check.hint:
            console.print(f"{'':24}{visible(check.hint)}", style="dim", soft_wrap=True)
    counts = Counter(check.status for check in report.checks)
    if json:
        print_report(report)
    elif not quiet:
        wrong = f"{plural(counts['warn'], 'warning')}, {plural(counts['fail'], 'failure')}"
        console.print(f"{counts['pass']} passed, {wrong}")
    if counts["fail"]:
        raise typer.Exit(1)
