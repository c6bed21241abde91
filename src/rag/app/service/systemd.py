"""Systemd: a timer and a service of the user's own manager."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time
from datetime import datetime, timedelta
from pathlib import Path

from rag.app.service.scheduler import (
    EVEN,
    HEADING,
    INSTALL_SERVICE,
    PLAIN,
    Installed,
    Job,
    LastRun,
    Plan,
    ServiceReport,
    Step,
    call,
    interval_text,
    own_text,
    properties,
    write_files,
)
from rag.exceptions import LockedError

TIMER, SERVICE = "rag-index.timer", "rag-index.service"
_CONTROL = ["systemctl", "--user"]
_ENV = "/usr/bin/env"  # which starts a program whose name systemd would refuse, or misread
_STATE = (
    "ActiveState,LastTriggerUSec,NextElapseUSecRealtime,NextElapseUSecMonotonic,"
    "Result,InvocationID,ExecMainStatus,ExecMainExitTimestamp"
)
_SECONDS = {"y": 31557600, "month": 2629800, "w": 604800, "d": 86400, "h": 3600, "min": 60, "s": 1}
# Of the folder nothing is unquoted: the slash keeps a space from its end.
_SERVICE = f"""\
# {HEADING}
[Unit]
Description=rag: index notes

[Service]
Type=oneshot
WorkingDirectory={{folder}}/
{{environment}}ExecStart={{command}}
# {LockedError.exit_code}: another run holds the index, which is no failure.
SuccessExitStatus={LockedError.exit_code}
Nice=10
IOSchedulingClass=idle
"""
_TIMER = f"""\
# {HEADING}
[Unit]
Description=rag: index notes every {{every}}

[Timer]
{{times}}
RandomizedDelaySec={{delay}}

[Install]
WantedBy=timers.target
"""


class Systemd:
    """The manager that runs while the user is logged in, or always where lingering is on."""

    name = "systemd"
    job = f"the systemd timer {TIMER}"
    secrets = "Write NAME=VALUE into ~/.config/environment.d/rag.conf, and log in again."
    stopped = f"systemd has it, but does not run it. {INSTALL_SERVICE}"

    def unusable(self) -> str:
        if not shutil.which("systemctl"):
            return "there is no program `systemctl`"
        return call([*_CONTROL, "show", "--property=Version"]).stderr

    def plan_install(self, job: Job, minutes: int) -> Plan:
        timer, service = _units()
        files = write_files({service: service_unit(job), timer: timer_unit(minutes)})
        return Plan([*files, *_control(["daemon-reload"], ["enable", TIMER], ["restart", TIMER])])

    def plan_removal(self) -> Plan:
        """Return what stops the timer and deletes both units; a run is not interrupted."""
        timer, service = _units()
        files = [file for file in (timer, service) if own_text(file)]
        enabled = timer.parent / "timers.target.wants" / TIMER
        if enabled.is_symlink() and (timer in files or not os.path.lexists(timer)):
            files.insert(0, enabled)
        if not files:
            return Plan()
        stop = [["disable", "--now", TIMER]] if timer in files else []
        state = call([*_CONTROL, "show", SERVICE, "--property=ActiveState"]).stdout
        forget = [["reset-failed", SERVICE]] if "=failed" in state else []
        deletes = [str(file) for file in files]
        steps: list[Step] = [{"delete": path} for path in deletes]
        return Plan([*_control(*stop, *forget), *steps, *_control(["daemon-reload"])], deletes)

    def read(self, report: ServiceReport) -> None:
        timer, service = map(own_text, _units())
        if not timer and not service:
            return
        reply = call([*_CONTROL, "show", TIMER, SERVICE, f"--property={_STATE}"])
        if reply.stderr:
            report.unknown.append(f"systemd does not tell how it is: {reply.stderr}")
        else:
            report.notices += _lingering()
        timer_state, service_state = map(properties, f"{reply.stdout}\n\n".split("\n\n")[:2])
        every = re.search(r"^Description=.* every (\w+)$", timer, re.MULTILINE)
        unit, variables = properties(service), re.findall(r"^Environment=(.*)$", service, re.M)
        command = [word.replace("$$", "$") for word in _words(unit.get("ExecStart", ""))]
        report.installed.append(
            Installed(
                self.name,
                [str(file) for file in _units()],
                every[1] if every else "",
                command[1:] if command[:1] == [_ENV] else command,
                unit.get("WorkingDirectory", "").replace("%%", "%").rstrip("/") or "/",
                dict(word.partition("=")[::2] for line in variables for word in _words(line)),
                waits=None if reply.stderr else timer_state.get("ActiveState") == "active",
                running=service_state.get("ActiveState") in ("active", "activating"),
                next_run=_time(timer_state.get("NextElapseUSecRealtime"))
                or _since_boot(timer_state.get("NextElapseUSecMonotonic", "")),
                last_run=_last_run(service_state, _time(timer_state.get("LastTriggerUSec"))),
            )
        )


def _units() -> tuple[Path, Path]:
    """Return the files of the timer and the service, where a user's units are."""
    configuration = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(configuration) if configuration.startswith("/") else Path.home() / ".config"
    return home / "systemd" / "user" / TIMER, home / "systemd" / "user" / SERVICE


def _control(*commands: list[str]) -> list[Step]:
    return [{"run": [*_CONTROL, *words], "line": ""} for words in commands]


def service_unit(job: Job) -> str:
    """Return the text of the service. `$` begins a variable in a command, and is doubled."""
    variables = (_quoted(f"{name}={value}") for name, value in job.environment.items())
    starter = [_ENV] if re.search(r"[\"'$]", job.command[0]) else []
    return _SERVICE.format(
        folder=job.folder.rstrip("/").replace("%", "%%"),
        environment="".join(f"Environment={variable}\n" for variable in variables),
        command=" ".join(_quoted(word).replace("$", "$$") for word in [*starter, *job.command]),
    )


def timer_unit(minutes: int) -> str:
    """Return the text of the timer. It elapses at times of the day, of which one that was slept
    through is made up for, or else so long after the last run, and a minute after the start."""
    calendar = "12:00" if minutes == 1440 else f"0/{minutes // 60}:00"
    calendar = f"*:0/{minutes}" if minutes < 60 else calendar
    times = f"OnActiveSec=1min\nOnUnitActiveSec={minutes}min"
    times = f"OnCalendar={calendar}\nPersistent=true" if minutes in EVEN else times
    delay = min(minutes * 6, 300)  # seconds: a tenth
    return _TIMER.format(every=interval_text(minutes), times=times, delay=delay)


def _quoted(text: str) -> str:
    """Return a word of a unit: `%` begins what is filled in, and is doubled."""
    escaped = text.replace('"', '\\"').replace("%", "%%")
    return text if PLAIN.fullmatch(text) else f'"{escaped}"'


def _words(line: str) -> list[str]:
    """Return the words of a line of a unit; none where it cannot be read."""
    try:
        return [word.replace("%%", "%") for word in shlex.split(line)]
    except ValueError:
        return []


def _last_run(service: dict[str, str], triggered: str | None) -> LastRun | None:
    ended = _time(service.get("ExecMainExitTimestamp"))
    if ended is None:  # not since the manager was started, which forgets how runs ended
        return LastRun(triggered) if triggered else None
    run = f"_SYSTEMD_INVOCATION_ID={service.get('InvocationID')}"
    journal = ["journalctl", "--user", "--quiet", "--lines=1", "--output=cat", "_TRANSPORT=stdout"]
    code, line = service.get("ExecMainStatus", ""), call([*journal, run]).stdout.strip()
    failed = service.get("Result") != "success"
    return LastRun(ended, int(code) if code.isdecimal() else None, failed, line)


def _lingering() -> list[str]:
    """Return that lingering is off, if it is."""
    reply = call(["loginctl", "show-user", str(os.getuid()), "--property=Linger"])
    text = "it runs only while you are logged in; `loginctl enable-linger` lets it run always"
    return [text] if reply.stdout.strip() == "Linger=no" else []


def _time(text: str | None) -> str | None:
    """Return a time that systemd prints, in ISO 8601."""
    match = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text or "")
    return datetime.fromisoformat(match[0]).astimezone().isoformat() if match else None


def _since_boot(text: str) -> str | None:
    """Return a time that is told by how long after the start of the machine it is: `2h 5.5s`."""
    parts = re.findall(rf"([\d.]+)({'|'.join(_SECONDS)})\b", text)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts) - time.monotonic()
    moment = datetime.now().astimezone() + timedelta(seconds=seconds)
    return moment.isoformat(timespec="seconds") if parts else None
