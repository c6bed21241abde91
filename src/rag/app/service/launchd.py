"""Launchd: an agent of the user's own session on macOS."""

from __future__ import annotations

import os
import plistlib
import re
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from rag.app.service.interval import Interval
from rag.app.service.job import HEADING, Job
from rag.app.service.own_files import is_ours, refuse_others, told_of_others
from rag.app.service.programs import UNANSWERED, ask, is_there
from rag.app.service.scheduler import (
    Call,
    Delete,
    Found,
    Installed,
    LastRun,
    Removal,
    Step,
    Write,
)
from rag.exceptions import LockedError

LABEL = "org.rag.index"


class Launchd:
    """The agents of the user who is logged in."""

    name = "launchd"
    job = f"the launchd agent {LABEL}"
    secrets = "`launchctl setenv NAME VALUE` gives it until you log out."

    def reason_against(self) -> str:
        """Return why there are no agents here; empty when there are."""
        return "" if is_there("launchctl") else "there is no program `launchctl`"

    def plan_install(self, job: Job, interval: Interval) -> list[Step]:
        """Return what writes the agent and loads it, in the place of the one that is loaded.

        :raises UsageError: where somebody else's agent is in the way.
        """
        file = _file()
        refuse_others([file])
        return [
            Call(["launchctl", "bootout", f"{_domain()}/{LABEL}"], failing="normal"),
            Write(file, agent(job, interval)),
            Call(["launchctl", "bootstrap", _domain(), str(file)]),
        ]

    def plan_removal(self) -> Removal:
        """Return what unloads the agent and deletes its file."""
        file = _file()
        if not is_ours(file):
            return Removal([], told_of_others([file]))
        unload = Call(["launchctl", "bootout", f"{_domain()}/{LABEL}"], failing="normal")
        return Removal([*([] if self.reason_against() else [unload]), Delete(file)])

    def find(self) -> Found:
        """Return the job in the agent's file, and what launchd says of it."""
        file = _file()
        if not is_ours(file):
            return Found(None, told_of_others([file]))
        try:
            found: dict[str, Any] = plistlib.loads(file.read_bytes())
        except (OSError, ValueError, ExpatError, plistlib.InvalidFileException) as error:
            damaged = Installed(self.name, [str(file)], "", [], "/", waits=False)
            return Found(damaged, [f"{file} cannot be read: {error}"])
        seconds = int(found.get("StartInterval", 0))
        every = str(Interval(seconds // 60)) if seconds >= 60 else f"{seconds}s"
        told, failure = ("", "") if self.reason_against() else _told()
        given = found.get("EnvironmentVariables", {})
        job = Installed(
            self.name,
            [str(file)],
            every,
            [str(word) for word in found.get("ProgramArguments", [])],
            str(found.get("WorkingDirectory", "/")),
            {str(name): str(value) for name, value in given.items()},
            waits=None if failure else bool(told),
            is_running=_value(told, "state") == "running",
            last_run=_last_run(told),
            log=str(found.get("StandardErrorPath", "")),
        )
        return Found(job, unknown=[f"launchd does not tell how it is: {failure}"] * bool(failure))


def agent(job: Job, interval: Interval) -> str:
    """Return the text of the agent's file. It runs at login too: launchd counts from there."""
    log = str(Path.home() / "Library" / "Logs" / "rag-index.log")
    text = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": job.command,
            "WorkingDirectory": str(job.folder),
            "EnvironmentVariables": job.environment,
            "StartInterval": interval.minutes * 60,
            "RunAtLoad": True,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 10,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        },
        sort_keys=False,
    ).decode("utf-8")
    return text.replace("<plist ", f"<!-- {HEADING} -->\n<plist ", 1)


def _file() -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _told() -> tuple[str, str]:
    """Return what launchd says of the agent, empty when it is not loaded, and why it is silent."""
    done = ask(["launchctl", "print", f"{_domain()}/{LABEL}"])
    return done.text if done.code == 0 else "", done.failure if done.code == UNANSWERED else ""


def _value(told: str, name: str) -> str:
    found = re.search(rf"^\s*{name} = (.*)$", told, re.MULTILINE)
    return found[1].strip() if found else ""


def _last_run(told: str) -> LastRun | None:
    """Return how the last run ended; launchd does not tell when."""
    code = _value(told, "last exit code")
    if not (found := re.match(r"\d+", code)):  # "(never exited)"
        return None
    return LastRun(exit_code=int(found[0]), failed=int(found[0]) not in (0, LockedError.exit_code))
