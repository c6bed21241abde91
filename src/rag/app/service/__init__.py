"""Indexing at intervals: a job in the scheduler of the system, put in, shown and taken out."""

from __future__ import annotations

from dataclasses import dataclass, field

from rag.app.service.cron import Cron
from rag.app.service.interval import Interval
from rag.app.service.job import Job
from rag.app.service.launchd import Launchd
from rag.app.service.scheduler import Delete, Edit, Installed, Removal, Scheduler, Step
from rag.app.service.steps import carry_out
from rag.app.service.systemd import Systemd, has_systemd
from rag.config import RAGConfig
from rag.config.keys import keys_in_use
from rag.exceptions import ConnectionError, Message, Remedy

# In the order in which one is chosen: only macOS has the first, and the last is on both.
SCHEDULERS: tuple[Scheduler, ...] = (Launchd(), Systemd(), Cron())


@dataclass(frozen=True)
class InstallReport:
    """A job that was put into a scheduler, or would be.

    :param holder: what the job is to it: "the timer …".
    :param replaced: the schedulers that held one before.
    :param steps: what was written and run.
    :param deleted: the files, and the lines of a crontab, that went; or would, as far as is known.
    :param installed: what the scheduler holds now; `None` when nothing was done.
    """

    scheduler: str
    holder: str
    every: str
    job: Job
    replaced: list[str]
    steps: list[Step]
    deleted: list[str]
    installed: Installed | None
    notices: list[str]


@dataclass
class RemovalReport:
    """What was taken out of schedulers.

    :param removed: the files and lines that are gone, by the name of the scheduler.
    :param failures: of which scheduler it cannot be told, or done, and why.
    """

    removed: dict[str, list[str]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@dataclass
class ServiceReport:
    """The job that is installed; several only where schedulers were changed by hand.

    :param problems: why it does not do what it should, each with its remedy.
    :param unknown: what a scheduler does not tell: whether it holds a job, or how that is.
    """

    installed: list[Installed] = field(default_factory=list)
    problems: list[Message] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def install(
    config: RAGConfig, job: Job, interval: Interval, wanted: str = "", dry_run: bool = False
) -> InstallReport:
    """Put a job into a scheduler, in the place of any that one holds.

    :param wanted: the name of the scheduler; without it, the first that works here.
    :param dry_run: do nothing, and return what would be done.
    :raises UsageError: for an interval that it cannot express, and where somebody else's file is in
        the way.
    :raises ConnectionError: when no scheduler works here, or one does not do what it is asked.
    """
    scheduler, notices = _choose(wanted)
    steps = scheduler.plan_install(job, interval)
    held: list[str] = []
    for other in SCHEDULERS:
        removal = _planned_removal(other)
        notices += removal.notices
        if removal.steps:
            held.append(other.name)
        if other.name != scheduler.name:
            steps += removal.steps
    notices += _lacks(config, scheduler)
    if dry_run:
        deleted, installed = _to_be_deleted(steps), None
    else:
        outcome = carry_out(steps)
        deleted, found = outcome.deleted, scheduler.find()
        installed = found.job
        now = [*outcome.notices, *found.notices, *found.unknown]
        notices += [one for one in now if one not in notices]
        notices += [installed.obstacle] if installed and installed.obstacle else []
    name, holder = scheduler.name, scheduler.job
    return InstallReport(name, holder, str(interval), job, held, steps, deleted, installed, notices)


def _to_be_deleted(steps: list[Step]) -> list[str]:
    files = [str(step.path) for step in steps if isinstance(step, Delete)]
    return [*files, *(line for step in steps if isinstance(step, Edit) for line in step.deleted)]


def _choose(wanted: str) -> tuple[Scheduler, list[str]]:
    """Return a scheduler that works here, and why another one was not taken.

    :raises ConnectionError: when there is none, or the wanted one does not.
    """
    reasons: dict[str, str] = {}
    for scheduler in SCHEDULERS:
        if wanted in ("", scheduler.name):
            reason = scheduler.reason_against()
            if not reason:
                why = f"systemd is not used: {reasons.get(Systemd.name)}"
                return scheduler, [why] if Systemd.name in reasons and has_systemd() else []
            reasons[scheduler.name] = reason
    if wanted:
        raise ConnectionError(
            f"{wanted} cannot be used here: {reasons[wanted]}",
            wanted,
            hint="Name none, and the first that works here is taken.",
            remedy=Remedy.SCHEDULE_ELSEWHERE,
        )
    causes = "; ".join(f"{name}: {reasons[name]}" for name in (Systemd.name, Cron.name))
    raise ConnectionError(
        f"no scheduler works here: {causes}",
        hint="Install cron, or log in so that systemd runs for you"
        " (`loginctl enable-linger` as root starts it at boot).",
        remedy=Remedy.SCHEDULE_ELSEWHERE,
    )


def _planned_removal(scheduler: Scheduler) -> Removal:
    """Return what takes the job out of a scheduler, or why that cannot be told."""
    try:
        return scheduler.plan_removal()
    except ConnectionError as error:
        return Removal(notices=[str(error)])


def _lacks(config: RAGConfig, scheduler: Scheduler) -> list[str]:
    """Return what the job will lack: a vault, and API keys, for secrets are not written down."""
    from rag.index.vault_registry import configured_vaults

    vaults = [] if configured_vaults(config) else [Message(remedy=Remedy.MAKE_VAULT)]
    variables = sorted({use.variable for use in keys_in_use(config)})
    if not variables:
        return [*vaults]
    return [*vaults, f"the job is not given {', '.join(variables)}, a secret. {scheduler.secrets}"]


def remove() -> RemovalReport:
    """Take the job out of every scheduler; one that does not do what it is asked stops no other."""
    report = RemovalReport()
    for scheduler in SCHEDULERS:
        try:
            removal = scheduler.plan_removal()
            report.notices += removal.notices
            if removal.steps:
                outcome = carry_out(removal.steps)
                report.removed[scheduler.name] = outcome.deleted
                report.notices += outcome.notices
        except ConnectionError as error:
            report.failures.append(f"{scheduler.name}: {error}")
    return report


def read_service() -> ServiceReport:
    """Return the job that is installed, and what is wrong with it."""
    report = ServiceReport()
    for scheduler in SCHEDULERS:
        try:
            found = scheduler.find()
        except ConnectionError as error:
            report.unknown.append(f"{scheduler.name}: {error}")
            continue
        report.notices += found.notices
        report.unknown += found.unknown
        if found.job:
            report.installed.append(found.job)
            report.problems += _problems(found.job)
    return report


def _problems(found: Installed) -> list[Message]:
    """Return why a job does not do what it should."""
    problems = [
        Message(f"{path} is not there any more", remedy=Remedy.INSTALL_SERVICE)
        for path in found.missing
    ]
    if not found.command:
        what = f"what {found.scheduler} runs cannot be told"
        problems.append(Message(what, remedy=Remedy.INSTALL_SERVICE))
    if found.obstacle:
        problems.append(Message(found.obstacle))
    elif found.waits is False:
        stopped = f"{found.scheduler} has it, but does not run it"
        problems.append(Message(stopped, remedy=Remedy.INSTALL_SERVICE))
    if found.last_run and found.last_run.failed:
        failed = f"the last run failed, with exit code {found.last_run.exit_code}"
        problems.append(Message(failed, remedy=Remedy.UPDATE_INDEX))
    return problems
