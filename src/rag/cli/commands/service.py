"""`rag service`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.lazy_group import group
from rag.cli.framework.options import Given, flag, shared, value
from rag.cli.render.console import say, show
from rag.exceptions import ConnectionError, LockedError
from rag.text.messages import minute

if TYPE_CHECKING:
    from rag.app.service import Installed, InstallReport, ServiceReport

app = group("Keep the index up to date by the scheduler of the system.")
_EVERY = "15m"


@opt.command(app, "install")
def install(
    every: str = value(
        "--every", "TIME", "How often: 15m, 2h, 1d; a part of an hour or day.", _EVERY
    ),
    scheduler: str = value("--with", "systemd|launchd|cron", "By which; the first that works.", ""),
    watch: bool = flag("--watch", "Run `rag watch` always, instead of now and then."),
    http: bool = flag("--http", "Run `rag serve --http` always, which watches too."),
    dry_run: bool = flag("--dry-run", "Show what would be written and run, and do nothing."),
    given: Given = shared("json config_file"),
) -> None:
    """Let the system index every 15 minutes, or as notes are written.

    A timer of systemd, an agent of launchd (macOS) or a line of your crontab runs `rag index -q` in
    this project, with the settings and the index of here. A job that was installed before is
    replaced. With --watch or --http a program goes on, which systemd and launchd start again when
    it fails; cron cannot.

    \b
    rag service install
    rag service install --every 2h
    rag service install --with cron --dry-run
    rag service install --watch              as notes are written
    rag service install --http               and serve the page
    """
    from rag.app import service

    opt.exclude("--watch", watch, {"--http": http, "--every": every != _EVERY})
    opt.exclude("--http", http, {"--every": every != _EVERY})
    minutes = 0 if watch or http else service.parse_interval(every)
    words = ["serve", "--http"] if http else ["watch", "-q"] if watch else ["index", "-q"]
    config, options = given.config, given.config_options
    job = service.index_job(config, options, words)
    report = service.install(config, job, minutes, scheduler, dry_run)
    show(report, given.json, _install_lines(report, dry_run))
    for notice in [] if given.json else report.notices:
        say(f"rag: {notice}")


def _install_lines(report: InstallReport, dry_run: bool) -> Iterator[str]:
    from rag.app.service import SCHEDULERS, how_often

    if not dry_run:
        lasting = report.every == how_often(report.every)
        what = report.scheduler if lasting else SCHEDULERS[report.scheduler].job
        verb = "replaced" if report.scheduler in report.replaced else "installed"
        yield f"{verb} {what}: {how_often(report.every)}"
    for step in report.steps:
        text = step.get("text") or step.get("line", "")
        if dry_run:
            verb, what = next((key, str(value)) for key, value in step.items())
            yield f"would {verb} {shlex.join(step['run']) if 'run' in step else what}"
            yield from (f"  {line.expandtabs(2)}".rstrip() for line in text.splitlines())
        else:
            yield from _lines("wrote", step.get("write") or text)
    yield from _lines("deletes" if dry_run else "deleted", *report.deleted)
    yield from _job_lines(report)
    if report.installed:
        yield from _lines("next", minute(report.installed.next_run or ""))
        yield from _lines("undo", "`rag service remove`")


@opt.command(app, "status")
def status(given: Given = shared("json")) -> None:
    """Show what is installed, and how it runs.

    The exit code is 1 when nothing is installed, or when what is installed does not work: the
    program it runs is gone, its timer is stopped, or its last run failed. It is 4 when a scheduler
    does not tell.

    \b
    rag service status
    rag service status --json
    """
    from rag.app.service import read_service

    report = read_service()
    show(report, given.json, _status_lines(report))
    if not given.json and not report.installed:
        cannot, nothing = "whether anything is installed cannot be told", "nothing is installed"
        say(cannot if report.unknown else f"{nothing}: `rag service install` lets the system index")
    if report.unknown:
        raise typer.Exit(ConnectionError.exit_code)
    if report.problems or not report.installed:
        raise typer.Exit(1)


def _status_lines(report: ServiceReport) -> Iterator[str]:
    from rag.app.service import how_often

    for job in report.installed:
        running = ", running now" if job.running else ""
        yield from _lines("by", f"{job.scheduler}, {how_often(job.every)}{running}")
        yield from _job_lines(job)
        yield from _lines("next", minute(job.next_run or ""))
        if last := job.last_run:
            how = "failed" if last.failed else "done"
            how = "another run was busy" if last.exit_code == LockedError.exit_code else how
            ending = "" if last.exit_code is None else f"{how}, exit code {last.exit_code}"
            yield from _lines("last", ", ".join(filter(None, (minute(last.ended or ""), ending))))
        else:
            cron = "cron does not tell; `rag status` says when the index was written"
            yield from _lines("last", cron if job.scheduler == "cron" else "no run yet")
        yield from _lines("log", job.log)
        yield from _lines("written", *job.places)
    yield from _lines("wrong", *report.problems)
    yield from _lines("unknown", *report.unknown)
    yield from _lines("note", *report.notices)


@opt.command(app, "remove")
def remove(given: Given = shared("json")) -> None:
    """Take away what was installed.

    From whichever scheduler holds it. What somebody else wrote is left. The exit code is 4 when a
    scheduler does not tell whether it holds one, or does not give it up.

    \b
    rag service remove
    """
    from rag.app import service

    report = service.remove()
    lines = [
        line
        for name, deleted in report.removed.items()
        for line in (f"removed the job of {name}", *_lines("deleted", *deleted))
    ]
    show(report, given.json, lines)
    if not (given.json or lines):
        say("nothing was removed" if report.failures else "nothing was installed")
    for notice in () if given.json else (*report.notices, *report.failures):
        say(f"rag: {notice}")
    if report.failures:
        raise typer.Exit(ConnectionError.exit_code)


def _job_lines(job: InstallReport | Installed) -> Iterator[str]:
    """Yield what is run. Variables are told by their names, but for the folder of the index."""
    yield from _lines("runs", shlex.join(job.command))
    yield from _lines("in", job.folder if job.folder != "/" else "")
    names = (f"{n}={v}" if n == "RAG_DATA_DIR" else n for n, v in job.environment.items())
    yield from _lines("given", ", ".join(names))


def _lines(name: str, *texts: str) -> Iterator[str]:
    """Yield lines about something; an empty text is none."""
    return (f"{name:10}{text}" for text in texts if text)
