"""Indexing at intervals: a job in the scheduler of the system, put in, shown and taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag.app.service.cron import Cron
from rag.app.service.interval import Interval
from rag.app.service.job import Job
from rag.app.service.launchd import Launchd
from rag.app.service.programs import run
from rag.app.service.scheduler import Call, Installed, Scheduler, Step, Write
from rag.app.service.systemd import Systemd, has_systemd
from rag.config import RAGConfig
from rag.config.keys import keys_in_use
from rag.exceptions import ConnectionError, Message, Remedy
from rag.support.durable_files import replace_durably

# In the order in which one is chosen: only macOS has the first, and the last is on both.
SCHEDULERS: tuple[Scheduler, ...] = (Launchd(), Systemd(), Cron())


@dataclass(frozen=True)
class InstallReport:
    """A job that was put into a scheduler, or would be.

    :param holder: what the job is to it: "the timer …".
    :param replaced: the schedulers that held one before.
    :param steps: what was written and run.
    :param installed: what the scheduler holds now; `None` when nothing was done.
    """

    scheduler: str
    holder: str
    every: str
    job: Job
    replaced: list[str]
    steps: list[Step]
    installed: Installed | None
    notices: list[str]


@dataclass(frozen=True)
class RemovalReport:
    """What was taken out of schedulers: what they held it in, by their names."""

    removed: dict[str, list[str]]
    notices: list[str]


@dataclass(frozen=True)
class ServiceReport:
    """The job that is installed; several only where schedulers were changed by hand.

    :param problems: why it does not do what it should, each with its remedy.
    """

    installed: list[Installed]
    problems: list[Message]
    notices: list[str]


def install(
    config: RAGConfig, job: Job, interval: Interval, wanted: str = "", dry_run: bool = False
) -> InstallReport:
    """Put a job into a scheduler, in the place of any that one holds.

    :param wanted: the name of the scheduler; without it, the first that works here.
    :param dry_run: do nothing, and return what would be done.
    :raises UsageError: for an interval that it cannot express.
    :raises ConnectionError: when no scheduler works here, or one does not do what it is asked.
    """
    scheduler, notices = _choose(wanted)
    steps = scheduler.plan_install(job, interval)
    held: list[str] = []
    for other in SCHEDULERS:
        removal, failures = _planned_removal(other)
        if removal:
            held.append(other.name)
        if other.name != scheduler.name:
            steps += removal
            notices += failures
    notices += _lacks(config, scheduler)
    installed = None
    if not dry_run:
        notices += _carry_out(steps)
        installed = scheduler.find()
        notices += installed.notices if installed else []
    return InstallReport(
        scheduler.name, scheduler.job, str(interval), job, held, steps, installed, notices
    )


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


def _planned_removal(scheduler: Scheduler) -> tuple[list[Step], list[str]]:
    """Return what takes the job out of a scheduler, and why that cannot be told."""
    try:
        return scheduler.plan_removal(), []
    except ConnectionError as error:
        return [], [str(error)]


def _lacks(config: RAGConfig, scheduler: Scheduler) -> list[str]:
    """Return what the job will lack: a vault, and API keys, for secrets are not written down."""
    from rag.index.vault_registry import configured_vaults

    vaults = [] if configured_vaults(config) else [Message(remedy=Remedy.MAKE_VAULT)]
    variables = sorted({use.variable for use in keys_in_use(config)})
    if not variables:
        return [*vaults]
    return [*vaults, f"the job is not given {', '.join(variables)}, a secret. {scheduler.secrets}"]


def _carry_out(steps: Sequence[Step]) -> list[str]:
    """Do what was planned, and return what there is to know of it.

    :raises ConnectionError: when a program fails that must not, or a file cannot be written.
    """
    notices: list[str] = []
    for number, step in enumerate(steps):
        if isinstance(step, Call):
            has_written = any(isinstance(done, Write) for done in steps[:number])
            notices += _call(step, Remedy.REMOVE_SERVICE if has_written else None)
            continue
        try:
            if isinstance(step, Write):
                step.path.parent.mkdir(parents=True, exist_ok=True)
                replace_durably(step.path, step.text.encode())
            else:
                step.path.unlink(missing_ok=True)
        except OSError as error:
            raise ConnectionError(
                f"{step.path} cannot be written", details=error.strerror or str(error)
            ) from error
    return notices


def _call(step: Call, remedy: Remedy | None) -> list[str]:
    """Run a program, and return what there is to know of it.

    :param remedy: what undoes what was done before.
    :raises ConnectionError: when it fails and must not.
    """
    done = run(step.words, step.given)
    if done.code == 0 or step.failing == "normal":
        return []
    why = f"`{' '.join(step.words)}` failed: {done.error or f'exit code {done.code}'}"
    if step.failing == "notice":
        return [why]
    raise ConnectionError(why, step.words[0], remedy=remedy)


def remove() -> RemovalReport:
    """Take the job out of every scheduler.

    :raises ConnectionError: when one does not do what it is asked.
    """
    removed: dict[str, list[str]] = {}
    notices: list[str] = []
    for scheduler in SCHEDULERS:
        steps, failures = _planned_removal(scheduler)
        notices += failures
        if steps:
            notices += _carry_out(steps)
            removed[scheduler.name] = [
                step.words[0] if isinstance(step, Call) else str(step.path)
                for step in steps
                if not isinstance(step, Call) or step.words[0] == "crontab"
            ]
    return RemovalReport(removed, notices)


def read_service() -> ServiceReport:
    """Return the job that is installed, and what is wrong with it."""
    installed: list[Installed] = []
    notices: list[str] = []
    for scheduler in SCHEDULERS:
        try:
            found = scheduler.find()
        except ConnectionError as error:
            notices.append(str(error))
            continue
        if found:
            installed.append(found)
            notices += found.notices
    problems = [problem for found in installed for problem in _problems(found)]
    return ServiceReport(installed, problems, notices)


def _problems(found: Installed) -> list[Message]:
    """Return why a job does not do what it should."""
    problems = [
        Message(f"{path} is not there any more", remedy=Remedy.INSTALL_SERVICE)
        for path in found.missing
    ]
    if not found.command:
        what = f"what {found.scheduler} runs cannot be told"
        problems.append(Message(what, remedy=Remedy.INSTALL_SERVICE))
    if found.waits is False:
        stopped = f"{found.scheduler} has it, but does not run it"
        problems.append(Message(stopped, remedy=Remedy.INSTALL_SERVICE))
    if found.last_run and found.last_run.failed:
        failed = f"the last run failed, with exit code {found.last_run.exit_code}"
        problems.append(Message(failed, remedy=Remedy.UPDATE_INDEX))
    return problems
