"""`rag service`."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.framework.options import ConfigFile, Json
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import print_line, print_report, say
from rag.cli.render.remedies import worded
from rag.exceptions import ConnectionError, LockedError, UsageError

if TYPE_CHECKING:
    from rag.app.service import InstallReport, RemovalReport
    from rag.app.service.scheduler import Installed, LastRun, Step


def _schedulers() -> list[str]:
    from rag.app.service import SCHEDULERS

    return [scheduler.name for scheduler in SCHEDULERS]


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keep the index up to date by the scheduler of the system.",
)
_FOLDER = "RAG_DATA_DIR"
_NAMES = 10  # columns for what a line is about


@app.command("install")
def install(
    every: Annotated[
        str,
        typer.Option(
            "--every",
            metavar="TIME",
            help="How often: a number and m, h or d. For cron it must divide an hour or a day.",
        ),
    ] = "15m",
    scheduler: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="systemd|launchd|cron",
            help="By which scheduler; without it the first that works here.",
            autocompletion=_schedulers,
        ),
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be written and run, and do nothing."),
    ] = False,
    json: Json = False,
    config_file: ConfigFile = None,
) -> None:
    """Let the system index every 15 minutes.

    A timer of systemd, an agent of launchd (macOS) or a line of your crontab runs `rag index -q`:
    this very program, in this project, with the settings and the index of here. A job that was
    installed before is replaced. It needs no rights of root.

    \b
    rag service install
    rag service install --every 2h
    rag service install --with cron --dry-run
    """
    from rag.app import service
    from rag.app.service.interval import parse_interval
    from rag.app.service.job import make_job

    if scheduler not in ("", *_schedulers()):
        raise UsageError(
            f"no scheduler {scheduler!r}", hint=f"Use --with {', '.join(_schedulers())}."
        )
    interval = parse_interval(every)
    config = load_settings(config_file, may_ask=not dry_run)
    named = ["--config", str(config_file.expanduser().absolute())] if config_file else []
    job = make_job(config, ["index", "-q", *named], bool(named))
    done = service.install(config, job, interval, scheduler, dry_run)
    if json:
        print_report(done)
    elif dry_run:
        _print_plan(done)
    else:
        _print_installed(done)


@app.command("status")
def status(json: Json = False) -> None:
    """Show what is installed, and how it runs.

    When it runs next, how the last run ended, and what is wrong, as far as the scheduler tells.

    The exit code is 1 when nothing is installed, or when what is installed does not work: the
    program it runs is gone, its timer is stopped, no cron daemon runs, or its last run failed. It
    is 4 when a scheduler does not tell.
    """
    from rag.app.service import read_service

    found = read_service()
    if json:
        print_report(found)
    elif found.unknown and not found.installed:
        say("whether anything is installed cannot be told")
    elif not found.installed:
        say("nothing is installed: `rag service install` lets the system index")
    for one in () if json else found.installed:
        _print_status(one)
    if not json:
        for problem in found.problems:
            _print(("wrong", problem))
        _print(*(("unknown", unknown) for unknown in found.unknown))
        _print(*(("note", notice) for notice in found.notices))
    if found.unknown:
        raise typer.Exit(ConnectionError.exit_code)
    if found.problems or not found.installed:
        raise typer.Exit(1)


@app.command("remove")
def remove(json: Json = False) -> None:
    """Take away what was installed.

    From whichever scheduler holds it. The index stays as it is, and a run that has begun goes on.
    What somebody else wrote is left.

    The exit code is 4 when a scheduler does not tell whether it holds one, or does not give it up.
    """
    from rag.app.service import remove as take_out

    done = take_out()
    if json:
        print_report(done)
    else:
        _print_removed(done)
    if done.failures:
        raise typer.Exit(ConnectionError.exit_code)


def _print_removed(done: RemovalReport) -> None:
    for scheduler, deleted in done.removed.items():
        print_line(f"removed the job of {scheduler}")
        _print(*(("deleted", one) for one in deleted))
    if not done.removed:
        say("nothing was removed" if done.failures else "nothing was installed")
    for notice in (*done.notices, *done.failures):
        say(f"rag: {worded(notice)}")


def _print_plan(done: InstallReport) -> None:
    for step in done.steps:
        _print_step(step)
    _print(*(("deletes", one) for one in done.deleted))
    _print_job(done)
    for notice in done.notices:
        say(f"rag: {worded(notice)}")


def _print_step(step: Step) -> None:
    from rag.app.service.scheduler import Call, Edit, Write

    if isinstance(step, Call | Edit):
        print_line(f"would run {shlex.join(step.words)}")
        lines = [step.line] if isinstance(step, Edit) and step.line else []
    elif isinstance(step, Write):
        print_line(f"would write {step.path}")
        lines = step.text.splitlines()
    else:
        print_line(f"would delete {step.path}")
        lines = []
    for line in lines:
        print_line(f"  {line}".rstrip(), 4)


def _print_job(done: InstallReport) -> None:
    _print(("runs", shlex.join(done.job.command)))
    if str(done.job.folder) != "/":
        _print(("in", str(done.job.folder)))
    _print_given(done.job.environment)


def _print_given(environment: dict[str, str]) -> None:
    """Print the names of the variables that a job carries: they count at each run, whatever the
    environment is by then. Of them only the folder of the index is told apart by its value."""
    shown = [f"{name}={value}" if name == _FOLDER else name for name, value in environment.items()]
    if shown:
        _print(("given", ", ".join(shown)))


def _print_installed(done: InstallReport) -> None:
    from rag.app.service.scheduler import Edit, Write

    verb = "replaced" if done.scheduler in done.replaced else "installed"
    print_line(f"{verb} {done.holder}: every {done.every}")
    for step in done.steps:
        if isinstance(step, Write):
            _print(("wrote", str(step.path)))
        elif isinstance(step, Edit) and step.line:
            _print(("wrote", step.line))
    for other in done.replaced:
        if other != done.scheduler:
            _print(("removed", f"the job of {other}"))
    _print(*(("deleted", one) for one in done.deleted))
    _print_job(done)
    if done.installed and done.installed.next_run:
        _print(("next", _when(done.installed.next_run)))
    _print(("see", "`rag service status`"), ("undo", "`rag service remove`"))
    for notice in done.notices:
        say(f"rag: {worded(notice)}")


def _print_status(found: Installed) -> None:
    running = ", running now" if found.is_running else ""
    _print(("by", f"{found.scheduler}, every {found.every}{running}"))
    _print(("runs", shlex.join(found.command)))
    if found.folder not in ("", "/"):
        _print(("in", found.folder))
    _print_given(found.environment)
    if found.next_run:
        _print(("next", _when(found.next_run)))
    if found.last_run:
        _print(("last", _ended(found.last_run)))
        if found.last_run.line:
            _print(("said", found.last_run.line))
    elif found.scheduler == "cron":
        _print(("last", "cron does not tell; `rag status` says when the index was written"))
    else:
        _print(("last", "no run yet"))
    if found.log:
        _print(("log", found.log))
    _print(*(("written", place) for place in found.places))


def _ended(last: LastRun) -> str:
    """Return when and how a run ended."""
    when = [_when(last.ended)] if last.ended else []
    if last.exit_code == LockedError.exit_code:
        how = [f"another run was busy (exit code {last.exit_code})"]
    elif last.exit_code is None:
        how = [] if when else ["no run yet"]
    else:
        how = ["failed" if last.failed else "done", f"exit code {last.exit_code}"]
    return ", ".join([*when, *how])


def _when(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")


def _print(*lines: tuple[str, str]) -> None:
    for name, text in lines:
        print_line(f"{name:{_NAMES}}{worded(text)}", _NAMES)
