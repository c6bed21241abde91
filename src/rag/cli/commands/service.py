"""`rag service`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import flag, value
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_line, print_report, say
from rag.exceptions import ConnectionError, LockedError, UsageError
from rag.text.messages import minute

if TYPE_CHECKING:
    from rag.app.schedulers import Installed
    from rag.app.service import InstallReport

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keep the index up to date by the scheduler of the system.",
)
_EVERY = "15m"


@app.command("install")
def install(
    every: str = value(
        "--every",
        "TIME",
        "How often: a number and m, h or d. It must divide an hour or a day.",
        _EVERY,
    ),
    scheduler: str = value(
        "--with",
        "systemd|launchd|cron",
        "By which scheduler; without it the first that works here.",
        "",
    ),
    watch: bool = flag("--watch", "Run `rag watch` always, instead of now and then."),
    http: bool = flag("--http", "Run `rag serve --http` always, which watches too."),
    dry_run: bool = flag("--dry-run", "Show what would be written and run, and do nothing."),
    json: bool = opt.JSON,
    config_file: Path | None = opt.CONFIG,
) -> None:
    """Let the system index every 15 minutes, or as notes are written.

    A timer of systemd, an agent of launchd (macOS) or a line of your crontab runs `rag index -q`:
    this very program, in this project, with the settings and the index of here. A job that was
    installed before is replaced. It needs no rights of root. With --watch or --http a program goes
    on, which systemd and launchd start again when it fails; cron cannot.

    \b
    rag service install
    rag service install --every 2h
    rag service install --with cron --dry-run
    rag service install --watch              as notes are written
    rag service install --http               and serve the page
    """
    from rag.app import service
    from rag.app.schedulers import how_often, parse_interval

    if watch and http:
        raise UsageError("--http watches too", hint="`rag service install --http`")
    if (watch or http) and every != _EVERY:
        raise UsageError("what goes on has no --every", hint="`rag service install --watch`")
    minutes = 0 if watch or http else parse_interval(every)
    words = ["serve", "--http"] if http else ["watch", "-q"] if watch else ["index", "-q"]
    config = load_settings(config_file)
    options = ["--config", str(config_file.expanduser().absolute())] if config_file else []
    job = service.index_job(config, options, words)
    report = service.install(config, job, minutes, scheduler, dry_run)
    if json:
        print_report(report)
        return
    if dry_run:
        for step in report.steps:
            verb, what = next(iter(step.items()))
            print_line(f"would {verb} {shlex.join(step['run']) if 'run' in step else what}")
            for line in (step.get("text") or step.get("line", "")).splitlines():
                print_line(f"  {line.expandtabs(2)}".rstrip())
    else:
        verb = "replaced" if report.scheduler in report.replaced else "installed"
        what = service.SCHEDULERS[report.scheduler].job if minutes else report.scheduler
        print_line(f"{verb} {what}: {how_often(report.every)}")
        for step in report.steps:
            _print("wrote", step.get("write") or step.get("line", ""))
        others = (name for name in report.replaced if name != report.scheduler)
        _print("removed", *(f"the job of {name}" for name in others))
    _print("deletes" if dry_run else "deleted", *report.deleted)
    _print_job(report)
    if report.installed:
        _print("next", minute(report.installed.next_run or ""))
        _print("see", "`rag service status`")
        _print("undo", "`rag service remove`")
    for notice in report.notices:
        say(f"rag: {notice}")


@app.command("status")
def status(json: bool = opt.JSON) -> None:
    """Show what is installed, and how it runs.

    When it runs next, how the last run ended, and what is wrong, as far as the scheduler tells.

    The exit code is 1 when nothing is installed, or when what is installed does not work: the
    program it runs is gone, its timer is stopped, no cron daemon runs, or its last run failed. It
    is 4 when a scheduler does not tell.

    \b
    rag service status
    rag service status --json
    """
    from rag.app.service import read_service

    report = read_service()
    if json:
        print_report(report)
    else:
        if report.unknown and not report.installed:
            say("whether anything is installed cannot be told")
        elif not report.installed:
            say("nothing is installed: `rag service install` lets the system index")
        for job in report.installed:
            _print_installed(job)
        _print("wrong", *report.problems)
        _print("unknown", *report.unknown)
        _print("note", *report.notices)
    if report.unknown:
        raise typer.Exit(ConnectionError.exit_code)
    if report.problems or not report.installed:
        raise typer.Exit(1)


@app.command("remove")
def remove(json: bool = opt.JSON) -> None:
    """Take away what was installed.

    From whichever scheduler holds it. The index stays as it is, and a run that has begun goes on.
    What somebody else wrote is left.

    The exit code is 4 when a scheduler does not tell whether it holds one, or does not give it up.

    \b
    rag service remove
    """
    from rag.app import service

    report = service.remove()
    if json:
        print_report(report)
    else:
        for name, deleted in report.removed.items():
            print_line(f"removed the job of {name}")
            _print("deleted", *deleted)
        if not report.removed:
            say("nothing was removed" if report.failures else "nothing was installed")
        for notice in (*report.notices, *report.failures):
            say(f"rag: {notice}")
    if report.failures:
        raise typer.Exit(ConnectionError.exit_code)


def _print_job(job: InstallReport | Installed) -> None:
    """Print what is run. Variables are told by their names: they count at each run, whatever the
    environment is by then. Only the folder of the index is told apart by its value."""
    _print("runs", shlex.join(job.command))
    _print("in", job.folder if job.folder != "/" else "")
    names = (f"{n}={v}" if n == "RAG_DATA_DIR" else n for n, v in job.environment.items())
    _print("given", ", ".join(names))


def _print_installed(job: Installed) -> None:
    from rag.app.schedulers import how_often

    _print("by", f"{job.scheduler}, {how_often(job.every)}{', running now' if job.running else ''}")
    _print_job(job)
    _print("next", minute(job.next_run or ""))
    if last := job.last_run:
        how = "failed" if last.failed else "done"
        how = "another run was busy" if last.exit_code == LockedError.exit_code else how
        ending = "" if last.exit_code is None else f"{how}, exit code {last.exit_code}"
        _print("last", ", ".join(filter(None, (minute(last.ended or ""), ending))))
        _print("said", last.line)
    else:
        cron = "cron does not tell; `rag status` says when the index was written"
        _print("last", cron if job.scheduler == "cron" else "no run yet")
    _print("log", job.log)
    _print("written", *job.places)


def _print(name: str, *texts: str) -> None:
    """Print lines about something; an empty text is none."""
    for text in texts:
        if text:
            print_line(f"{name:10}{text}")
