"""Launchd: an agent of the user's own session on macOS."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from rag.app.service.scheduler import (
    HEADING,
    INSTALL_SERVICE,
    UNANSWERED,
    Installed,
    Job,
    LastRun,
    Plan,
    ServiceReport,
    Step,
    call,
    interval_text,
    own_text,
    write_files,
)
from rag.exceptions import LockedError

LABEL = "org.rag.index"
_DOMAIN = f"gui/{os.getuid()}"
_AGENT = f"{_DOMAIN}/{LABEL}"


class Launchd:
    """The agents of the user who is logged in."""

    name = "launchd"
    job = f"the launchd agent {LABEL}"
    secrets = "`launchctl setenv NAME VALUE` gives it until you log out."
    stopped = f"launchd has it, but does not run it. {INSTALL_SERVICE}"

    def unusable(self) -> str:
        return "" if shutil.which("launchctl") else "there is no program `launchctl`"

    def plan_install(self, job: Job, minutes: int) -> Plan:
        write = write_files({_file(): agent(job, minutes)})
        load: Step = {"run": ["launchctl", "bootstrap", _DOMAIN, str(_file())], "line": ""}
        return Plan([*_unload(), *write, load])

    def plan_removal(self) -> Plan:
        path = str(_file())
        return Plan([*_unload(), {"delete": path}], [path]) if own_text(_file()) else Plan()

    def read(self, report: ServiceReport) -> None:
        if not (text := own_text(_file())):
            return
        plist: dict[str, Any] = {}
        try:
            plist = plistlib.loads(text.encode())
        except (ValueError, ExpatError) as error:
            report.notices.append(f"{_file()} cannot be read: {error}")
        reply = call(["launchctl", "print", _AGENT])
        is_silent = reply.returncode == UNANSWERED
        if is_silent:
            report.unknown.append(f"launchd does not tell how it is: {reply.stderr}")
        state = dict(reversed(re.findall(r"^\s*(\w[\w ]*) = (.*)$", reply.stdout, re.MULTILINE)))
        code = re.match(r"\d+", state.get("last exit code", ""))  # or "(never exited)"
        failed = code is not None and int(code[0]) not in (0, LockedError.exit_code)
        report.installed.append(
            Installed(
                self.name,
                [str(_file())],
                interval_text(plist.get("StartInterval", 60) // 60),
                plist.get("ProgramArguments", []),
                plist.get("WorkingDirectory", "/"),
                plist.get("EnvironmentVariables", {}),
                waits=None if is_silent else reply.returncode == 0,
                running=state.get("state") == "running",
                last_run=LastRun(None, int(code[0]), failed) if code else None,
                log=plist.get("StandardErrorPath", ""),
            )
        )


def agent(job: Job, minutes: int) -> str:
    """Return the text of the agent's file. It runs at login too: launchd counts from there."""
    log = str(Path.home() / "Library" / "Logs" / "rag-index.log")
    text = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": job.command,
            "WorkingDirectory": job.folder,
            "EnvironmentVariables": job.environment,
            "StartInterval": minutes * 60,
            "RunAtLoad": True,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 10,
            "StandardOutPath": log,
            "StandardErrorPath": log,
        },
        sort_keys=False,
    ).decode()
    return text.replace("<plist ", f"<!-- {HEADING} -->\n<plist ", 1)


def _file() -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def _unload() -> list[Step]:
    """Return what unloads the agent; nothing when none is loaded."""
    is_loaded = call(["launchctl", "print", _AGENT]).returncode in (0, UNANSWERED)
    return [{"run": ["launchctl", "bootout", _AGENT], "line": ""}] if is_loaded else []
