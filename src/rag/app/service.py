"""Indexing at intervals, or as notes are written: a job in the scheduler of the system, put in,
shown and taken out.

Reports have the field names of schema 1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag.app.schedulers import (
    INSTALL_SERVICE,
    PATIENCE,
    Cron,
    Installed,
    Job,
    Launchd,
    ServiceReport,
    Step,
    Systemd,
    call,
    interval_text,
    our_lines,
    write_line,
)
from rag.app.serving.program_start import program_start
from rag.config import RAGConfig, keys_in_use
from rag.config.files import nearest_file
from rag.exceptions import UPDATE_INDEX, ConnectionError, UsageError
from rag.support.durable_files import replace_durably

AnyScheduler = Launchd | Systemd | Cron
# In the order in which one is chosen: only macOS has the first, and the last is on both.
SCHEDULERS: dict[str, AnyScheduler] = {one.name: one for one in (Launchd(), Systemd(), Cron())}


@dataclass
class InstallReport:
    """A job that was put into a scheduler, or would be.

    :param replaced: the schedulers that held one before.
    :param deleted: the files, and the lines of a crontab, that went, or would.
    :param installed: what the scheduler holds now; `None` when nothing was done.
    """

    scheduler: str
    every: str
    command: list[str]
    folder: str
    environment: dict[str, str]
    replaced: list[str]
    steps: list[Step]
    deleted: list[str]
    installed: Installed | None
    notices: list[str]


@dataclass
class RemovalReport:
    """The files and lines that are gone, by scheduler; and of which it cannot be told, or done."""

    removed: dict[str, list[str]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def index_job(
    config: RAGConfig, options: Sequence[str] = (), words: Sequence[str] = ("index", "-q")
) -> Job:
    """Return what indexes with this program, in the same project and with the same index as here.

    :param options: those that name the file of settings; without them it is looked for.
    :param words: of the command.
    """
    start = program_start(config)
    # The warm process is about commands that a user types.
    environment = {name: value for name, value in start.environment.items() if name != "RAG_WARM"}
    named = "" if options else os.environ.get("RAG_CONFIG", "")
    if named:
        environment["RAG_CONFIG"] = str(Path(named).expanduser().absolute())
    # The project's file is found again from its folder. To name it would trust it for ever.
    nearest = None if options or named else nearest_file(Path.cwd())
    command = [*start.program, *words, *options]
    return Job(command, str(nearest[1].resolve()) if nearest else "/", environment)


def install(
    config: RAGConfig, job: Job, minutes: int, name: str = "", dry_run: bool = False
) -> InstallReport:
    """Put a job into a scheduler, in the place of any that one holds.

    :param minutes: between two runs; 0 for a program that goes on.
    :param name: that of the scheduler; without it, the first that works here.
    :param dry_run: do nothing, and return what would be done, also where the scheduler does not
        work.
    :raises UsageError: where somebody else's file is in the way, or cron is to keep a program
        running.
    :raises ConnectionError: when no scheduler works here, or one does not do what it is asked.
    """
    chosen, notices = _choose(name, dry_run)
    steps, replaced = chosen.to_install(job, minutes), []
    removals: list[Step] = []
    for scheduler in SCHEDULERS.values():
        try:
            removal = scheduler.to_remove()
        except ConnectionError as error:
            notices.append(str(error))
            continue
        replaced += [scheduler.name] if removal else []
        removals += removal if scheduler is not chosen else []
    deleted = _deleted([*steps, *removals])
    notices += _lacks(config, chosen)
    state = ServiceReport()
    if not dry_run:
        _carry_out(steps)
        _carry_out(removals, notices)
        chosen.read(state)
        notices += [*state.notices, *state.unknown]
        notices += [chosen.stopped for job in state.installed if job.waits is False]
    installed, run = next(iter(state.installed), None), (job.command, job.folder, job.environment)
    every = interval_text(minutes)
    steps += removals
    return InstallReport(chosen.name, every, *run, replaced, steps, deleted, installed, notices)


def _deleted(steps: Sequence[Step]) -> list[str]:
    """Return the files and lines of a crontab that go by steps which are yet to be carried out, and
    that are not written anew by them."""
    files = [step["delete"] for step in steps if "delete" in step]
    written = {Path(step["write"]).name for step in steps if "write" in step}
    lines = {step["line"] for step in steps if step.get("run", [])[:1] == ["crontab"]}
    gone = [line for line in our_lines()[0] if line not in lines] if lines else []
    return [*(file for file in files if Path(file).name not in written), *gone]


def _choose(name: str, dry_run: bool) -> tuple[AnyScheduler, list[str]]:
    """Return the named scheduler, or the first that works here, and why others do not.

    A dry run takes one that does not work here too: without a name that which the system has.
    """
    if name and name not in SCHEDULERS:
        raise UsageError(f"no scheduler {name!r}", hint=f"Name one of {', '.join(SCHEDULERS)}.")
    reasons: dict[str, str] = {}
    for scheduler in [SCHEDULERS[name]] if name else SCHEDULERS.values():
        if not (reason := scheduler.unusable()):
            systemd = reasons.get("systemd")
            return scheduler, [f"systemd is not used: {systemd}"] if systemd else []
        if name or scheduler.name != "launchd":  # which is a part of macOS, and nowhere else
            reasons[scheduler.name] = reason
    causes = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    message = f"{name or 'no scheduler'} {'cannot be used' if name else 'works'} here: {causes}"
    if dry_run:
        usual = "launchd" if sys.platform == "darwin" else "systemd"
        return SCHEDULERS[name or usual], [message]
    hint = (
        "Install cron, or log in so that systemd runs for you (`loginctl enable-linger` as root"
        " starts it at boot). Any other scheduler may run `rag index -q`."
    )
    raise ConnectionError(message, hint=hint)


def _lacks(config: RAGConfig, scheduler: AnyScheduler) -> list[str]:
    """Return what the job will lack: a vault, and API keys, for secrets are not written down."""
    from rag.index.vault_registry import NO_VAULT, configured_vaults

    lacks = [] if configured_vaults(config) else [NO_VAULT]
    if names := sorted({key.variable for key in keys_in_use(config)}):
        lacks.append(f"the job is not given {', '.join(names)}, a secret. {scheduler.secrets}")
    return lacks


def _carry_out(steps: Sequence[Step], failures: list[str] | None = None) -> None:
    """Carry out steps; where programs may fail, add to `failures` why they did."""
    for step in steps:
        words = step.get("run", [])
        if words[:1] == ["crontab"]:
            write_line(step["line"])
        elif words and (failure := call(words, seconds=10 * PATIENCE).stderr):
            why = f"`{' '.join(words)}` failed: {failure}"
            if failures is None:
                raise ConnectionError(
                    why, words[0], hint="`rag service remove` takes away what was written."
                )
            failures.append(why)
        elif not words:
            path = Path(step.get("write") or step["delete"])
            try:
                if "write" in step:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    replace_durably(path, step["text"].encode())
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                why = error.strerror or str(error)
                raise ConnectionError(f"{path} cannot be written", details=why) from error


def remove() -> RemovalReport:
    """Take the job out of every scheduler; one that does not do what it is asked stops no other."""
    report = RemovalReport()
    for name, scheduler in SCHEDULERS.items():
        try:
            if steps := scheduler.to_remove():
                deleted = _deleted(steps)
                _carry_out(steps, report.notices)
                report.removed[name] = deleted
        except ConnectionError as error:
            report.failures.append(f"{name}: {error}")
    return report


def read_service() -> ServiceReport:
    """Return the job that is installed, and what is wrong with it."""
    report = ServiceReport()
    for name, scheduler in SCHEDULERS.items():
        try:
            scheduler.read(report)
        except ConnectionError as error:
            report.unknown.append(f"{name}: {error}")
    for job in report.installed:
        wrong = [f"{path} is not there any more" for path in job.missing]
        wrong += [] if job.command else [f"what {job.scheduler} runs cannot be told"]
        report.problems += [f"{cause}. {INSTALL_SERVICE}" for cause in wrong]
        if job.waits is False:
            report.problems.append(SCHEDULERS[job.scheduler].stopped)
        if job.last_run and job.last_run.failed:
            failed = f"the last run failed, with exit code {job.last_run.exit_code}"
            report.problems.append(f"{failed}. {UPDATE_INDEX}")
    return report
