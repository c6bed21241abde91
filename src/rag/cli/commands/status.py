"""`rag status` and `rag doctor`: what the index holds, and what is wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.settings import load_settings, say_key
from rag.cli.render.console import plural, print_line, print_report, visible
from rag.config import load_config
from rag.text.messages import minute, time_left

if TYPE_CHECKING:
    from rich.console import Console

    from rag.app.doctor import CheckResult
    from rag.app.status import StatusReport
    from rag.app.watch_state import WatcherStatus
    from rag.index.embedding_space import Embedded

_NAMES = 10  # columns for what a line is about
_MOST = 50  # notes without vectors that are listed


def status(
    problems: Annotated[
        bool, opt.flag("--problems", "List the notes that could not be read or embedded.")
    ] = False,
    links: Annotated[
        bool,
        opt.flag("--links", "List the links that no note answers to, or several do."),
    ] = False,
    json: opt.Json = False,
    config_file: opt.ConfigFile = None,
) -> None:
    """Show what the index holds, how old it is, and what was wrong with notes.

    \b
    rag status
    rag status --problems
    rag status --problems --links
    """
    from rag.app.status import read_status

    found = read_status(load_settings(config_file), links, problems)
    if json:
        print_report(found)
    elif problems or links:
        if problems:
            _print_problems(found)
        _print_links(found)
    else:
        _print(found)


def _print(found: StatusReport) -> None:
    index, changed = found.index, found.index.changed
    age = "up to date" if changed == 0 else f"{plural(changed or 0, 'note')} changed since"
    _say(f"index     {index.path} ({index.bytes / 1e6:.1f} MB)")
    if index.server:
        silent = "" if index.server.answers else " (it does not answer: this is what is known here)"
        _say(f"server    {index.server.url}, collection {index.server.collection}{silent}")
    if index.writer:
        who = "this machine" if index.writer.here else index.writer.name
        _say(f"written   by {who}, since {minute(index.writer.since)}")
    if index.writer and not index.writer.here:
        age = "as it was published there"
    elif changed is None:
        age = "unknown if stale"
    _say(f"indexed   {minute(index.indexed_at)}, {age}")
    _say(f"notes     {index.notes:,} in {plural(index.chunks, 'chunk')}")
    for line in _embedding(index.embedding) if index.embedding else ():
        _say(line)
    for name, vault in found.vaults.items():
        is_here = os.path.isdir(vault.path)  # noqa: PTH112 - `Path.is_dir` may raise
        away = "" if is_here else "  (the folder is not there)"
        _say(f"  {name}  {plural(vault.notes, 'note')}  {vault.path}{away}")
        for notice in vault.notices:
            _say(f"    {notice}")
    for name in found.not_indexed:
        _say(f"  {name}  not indexed yet (`rag index`)")
    for line in _watcher(found.watcher) if found.watcher else ():
        _say(line)
    if found.problems:
        _say(f"problems  {plural(len(found.problems), 'note')} (`rag status --problems`)")


def _say(line: str) -> None:
    print_line(line, _NAMES)


def _embedding(made: Embedded) -> Iterator[str]:
    """Yield how many chunks have a vector, and how long the others take."""
    readable, left = made.readable, made.unreadable
    line = f"vectors   {made.embedded:,} of {plural(readable, 'chunk')}, by {made.space.model}"
    line += f" ({made.runtime})" if made.runtime else ""
    yield f"{line}; {left:,} more are in a script it does not read" if left else line
    if made.lacking:
        share = 100 * made.embedded // max(1, readable)
        time = f", {time_left(made.lacking, made.rate)} left" if made.rate else ""
        yield f"meaning   {share} % of chunks{time} (`rag index` goes on)"


def _watcher(watcher: WatcherStatus) -> Iterator[str]:
    """Yield whether a watcher runs, and how its last run went."""
    if not watcher.alive:
        yield f"watcher   ended unexpectedly after {minute(watcher.heartbeat)} (`rag watch`)"
        return
    late = f", no sign of life since {minute(watcher.heartbeat)}" if watcher.is_late else ""
    yield f"watcher   process {watcher.process} since {minute(watcher.started)}{late}"
    event, run = watcher.last_event, watcher.last_run
    if run:
        last = f"last event {minute(event)}, " if event else ""
        how = run.error or f"{plural(run.changed, 'note')} indexed"
        yield f"  {last}last run {minute(run.ended)} ({run.elapsed_ms / 1000:.1f} s): {how}"
    for folder in watcher.polled:
        yield f"  {folder}: looked at every few seconds, since the system tells nothing of it"


def _print_problems(found: StatusReport) -> None:
    lacking = found.without_vectors or []
    if not (found.problems or lacking):
        print_line("no problems")
    for note in found.problems:
        mark = "not read: " if note.failed else ""
        for problem in note.problems:
            print_line(f"{note.vault}/{note.path}: {mark}{problem}")
    for one in lacking[:_MOST]:
        print_line(f"{one.vault}/{one.path}: {plural(one.chunks, 'chunk')} without a vector")
    if len(lacking) > _MOST:
        print_line(f"and {len(lacking) - _MOST:,} more notes")
    if lacking:
        print_line("`rag index` embeds them; until then they are found by words")


def _print_links(found: StatusReport) -> None:
    if found.links is None:
        return
    from rag.cli.commands.notes import link_line

    if not found.links:
        print_line("every link leads to one note")
    for link in found.links:
        print_line(link_line(link))


# -- doctor --------------------------------------------------------------------------------

_MARKS = {"pass": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "bold red")}
_CHECK = 16  # columns
_INDENT = _CHECK + 8  # of the message


def doctor(
    quiet: opt.Quiet = False, json: opt.Json = False, config_file: opt.ConfigFile = None
) -> None:
    """Check settings, vaults, index, models and servers, and say what mends what is wrong.

    Each line is pass, warn (search does without) or fail (something does not work, or results
    would be wrong). The exit code is 1 when a check failed. Nothing is changed.

    \b
    rag doctor
    rag doctor -q                  only what is wrong
    rag doctor --json
    """
    from rag.app.doctor import DoctorReport, run_checks
    from rag.cli.render.terminal import make_console

    config = load_config(config_file)
    say_key(config)
    console = make_console()
    report = DoctorReport([])
    for check in run_checks(config):
        report.checks.append(check)
        if not json and not (quiet and check.status == "pass"):
            _print_check(console, check)
    counts = report.counts
    if json:
        print_report(report)
    elif not quiet:
        wrong = f"{plural(counts['warn'], 'warning')}, {plural(counts['fail'], 'failure')}"
        console.print(f"{counts['pass']} passed, {wrong}")
    if counts["fail"]:
        raise typer.Exit(1)


def _print_check(console: Console, check: CheckResult) -> None:
    from rich.text import Text

    from rag.cli.render.terminal import print_between_words

    mark, style = _MARKS[check.status]
    line = Text(f"{mark} {check.status}", style=style)
    line = Text.assemble(line, (f"  {check.name:{_CHECK}}", "bold"), visible(check.message))
    print_between_words(console, line, indent=_INDENT)
    if check.hint:
        hint = f"{'':{_INDENT}}{visible(check.hint)}"
        print_between_words(console, hint, "dim", _INDENT)
