"""Systemd: a timer and a service of the user's own manager."""

from __future__ import annotations

import os
import re
import shlex
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from rag.app.service.interval import EVEN, Interval
from rag.app.service.job import HEADING, PLAIN, Job
from rag.app.service.own_files import is_ours, refuse_others, told_of_others
from rag.app.service.programs import ask, is_there, properties
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

TIMER, SERVICE = "rag-index.timer", "rag-index.service"
_LONGEST_DELAY = 300  # seconds
_SECONDS = {"d": 86400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3, "us": 1e-6}
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_CONTROL = ["systemctl", "--user"]
# Systemd refuses such a name of a program, or takes a `$` in it as it stands in one place and as
# a variable in the other: a program that it knows starts that one.
_ODD = re.compile(r"[\"'\\$*?\[\]]")
_STARTER = ["/usr/bin/env", "nice", "-n", "0"]


class Systemd:
    """The manager that runs while the user is logged in, or always where lingering is on."""

    name = "systemd"
    job = f"the systemd timer {TIMER}"
    secrets = "Write NAME=VALUE into ~/.config/environment.d/rag.conf, and log in again."

    def reason_against(self) -> str:
        """Return why the manager cannot be reached; empty when it can."""
        if not has_systemd():
            return "there is no program `systemctl`"
        return ask([*_CONTROL, "show", "--property=Version"]).failure

    def plan_install(self, job: Job, interval: Interval) -> list[Step]:
        """Return what writes both units and starts the timer anew.

        :raises UsageError: where somebody else's unit is in the way.
        """
        folder = _folder()
        refuse_others([folder / SERVICE, folder / TIMER])
        return [
            Write(folder / SERVICE, service_unit(job)),
            Write(folder / TIMER, timer_unit(interval)),
            Call([*_CONTROL, "daemon-reload"]),
            Call([*_CONTROL, "enable", TIMER]),
            Call([*_CONTROL, "restart", TIMER]),
        ]

    def plan_removal(self) -> Removal:
        """Return what stops the timer and deletes both units; a run is not interrupted."""
        timer = _folder() / TIMER
        units = [timer, _folder() / SERVICE]
        notices = told_of_others(units)
        ours = [unit for unit in units if is_ours(unit)]
        wanted = timer.parent / "timers.target.wants" / TIMER
        is_left = not os.path.lexists(timer) and wanted.is_symlink() and wanted.readlink() == timer
        if is_left or (timer in ours and wanted.is_symlink()):
            ours.insert(0, wanted)
        deletions: list[Step] = [Delete(unit) for unit in ours]
        if not deletions:
            return Removal([], notices)
        if reason := self.reason_against():
            untold = f"systemd was not told of it, and may run it until it starts anew: {reason}"
            return Removal(deletions, [*notices, untold])
        stop = Call([*_CONTROL, "disable", "--now", TIMER], failing="notice")
        steps = [
            *([stop] if timer in ours else []),
            *deletions,
            Call([*_CONTROL, "daemon-reload"], failing="normal"),
            Call([*_CONTROL, "reset-failed", SERVICE], failing="normal"),
        ]
        return Removal(steps, notices)

    def find(self) -> Found:
        """Return the job in the units, and what the manager says of it."""
        units = [_folder() / TIMER, _folder() / SERVICE]
        notices = told_of_others(units)
        texts = [_text(unit) if is_ours(unit) else "" for unit in units]
        if not any(texts):
            return Found(None, notices)
        timer, service = map(properties, texts)
        interval = _interval(timer)
        found = Installed(
            self.name,
            [str(unit) for unit in units],
            str(interval or timer.get("OnCalendar") or timer.get("OnUnitActiveSec", "")),
            unquoted(service.get("ExecStart", "")),
            service.get("WorkingDirectory", "").replace("%%", "%").rstrip("/") or "/",
            environment_of(texts[1]),
        )
        return _told(found, notices)


def has_systemd() -> bool:
    """Return whether this is a machine with systemd, though its manager may not be reached."""
    return is_there("systemctl")


def service_unit(job: Job) -> str:
    """Return the text of the service."""
    given = [f"Environment={quoted(f'{name}={value}')}" for name, value in job.environment.items()]
    # Of the folder nothing is unquoted. The slash keeps a space or a backslash from its end.
    place = f"{str(job.folder).rstrip('/')}/".replace("%", "%%")
    lines = [
        f"# {HEADING}",
        "[Unit]",
        "Description=rag: index notes",
        "",
        "[Service]",
        "Type=oneshot",
        f"WorkingDirectory={place}",
        *given,
        f"ExecStart={exec_start(job.command)}",
        f"# {LockedError.exit_code}: another run holds the index, which is no failure.",
        f"SuccessExitStatus={LockedError.exit_code}",
        "Nice=10",
        "IOSchedulingClass=idle",
    ]
    return "\n".join([*lines, ""])


def timer_unit(interval: Interval) -> str:
    """Return the text of the timer."""
    delay = min(interval.minutes * 6, _LONGEST_DELAY)  # a tenth
    lines = [
        f"# {HEADING}",
        "[Unit]",
        f"Description=rag: index notes every {interval}",
        "",
        "[Timer]",
        *_times(interval),
        f"RandomizedDelaySec={delay}",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return "\n".join([*lines, ""])


def _times(interval: Interval) -> list[str]:
    """Return when the timer elapses: at times of the day, of which one that was slept through is
    made up for, or else so long after the last run, and a minute after the start."""
    if interval.is_even:
        return [f"OnCalendar={on_calendar(interval)}", "Persistent=true"]
    return ["OnActiveSec=1min", f"OnUnitActiveSec={interval.minutes}min"]


def on_calendar(interval: Interval) -> str:
    """Return an even interval as a calendar event."""
    minutes, hours = interval.minutes, interval.minutes // 60
    if minutes < 60:
        return f"*:0/{minutes}"
    return f"0/{hours}:00" if hours < 24 else "12:00"


def _interval(timer: dict[str, str]) -> Interval | None:
    if found := re.fullmatch(r"(\d+)min", timer.get("OnUnitActiveSec", "")):
        return Interval(int(found[1]))
    return next((one for one in EVEN if on_calendar(one) == timer.get("OnCalendar")), None)


def quoted(text: str) -> str:
    """Return a word of a unit: `%` begins what is filled in, and is doubled."""
    if PLAIN.fullmatch(text):
        return text
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"'


def exec_start(command: list[str]) -> str:
    """Return a command of a unit. `$` begins a variable, and is doubled."""
    words = [*_STARTER, *command] if _ODD.search(command[0]) else command
    return " ".join(quoted(word).replace("$", "$$") for word in words)


def unquoted(line: str) -> list[str]:
    """Return the words of a command of a unit; none where it cannot be read."""
    words = [word.replace("$$", "$") for word in _words(line)]
    return words[len(_STARTER) :] if words[: len(_STARTER)] == _STARTER else words


def environment_of(service: str) -> dict[str, str]:
    """Return the variables that the text of a service gives."""
    key = "Environment="
    lines = [line.removeprefix(key) for line in service.split("\n") if line.startswith(key)]
    pairs = (word.partition("=") for line in lines for word in _words(line))
    return {name: value for name, _, value in pairs}


def _words(line: str) -> list[str]:
    try:
        return [word.replace("%%", "%") for word in shlex.split(line)]
    except ValueError:
        return []


def _folder() -> Path:
    """Return where a user's units are."""
    configuration = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(configuration) if configuration.startswith("/") else Path.home() / ".config"
    return home / "systemd" / "user"


def _text(unit: Path) -> str:
    """Return what a unit says; nothing when it cannot be read."""
    try:
        return unit.read_text("utf-8", "replace")
    except OSError:
        return ""


def _told(found: Installed, notices: list[str]) -> Found:
    """Return a job with what the manager tells of it."""
    elapses = ("NextElapseUSecRealtime", "NextElapseUSecMonotonic")
    timer, failure = _show(TIMER, "ActiveState", "LastTriggerUSec", *elapses)
    if failure:
        return Found(found, notices, [f"systemd does not tell how it is: {failure}"])
    exit_of = ("ExecMainStatus", "ExecMainExitTimestamp")
    service, _ = _show(SERVICE, "ActiveState", "Result", "InvocationID", *exit_of)
    job = replace(
        found,
        waits=timer.get("ActiveState") == "active",
        is_running=service.get("ActiveState") in ("active", "activating"),
        next_run=_time(timer.get(elapses[0])) or _since_boot(timer.get(elapses[1], "")),
        last_run=_last_run(service, _time(timer.get("LastTriggerUSec"))),
    )
    return Found(job, [*notices, *_lingering()])


def _show(unit: str, *names: str) -> tuple[dict[str, str], str]:
    """Return properties of a unit by name, and why they cannot be had."""
    if not has_systemd():
        return {}, "there is no program `systemctl`"
    done = ask([*_CONTROL, "show", unit, f"--property={','.join(names)}"])
    return properties(done.text), done.failure


def _last_run(service: dict[str, str], triggered: datetime | None) -> LastRun | None:
    ended = _time(service.get("ExecMainExitTimestamp"))
    if ended is None:  # not since the manager was started, which forgets how runs ended
        return LastRun(triggered) if triggered else None
    code = service.get("ExecMainStatus", "")
    failed = service.get("Result") != "success"
    line = _last_line(service.get("InvocationID", ""))
    return LastRun(ended, int(code) if code.isdecimal() else None, failed, line)


def _last_line(invocation: str) -> str:
    """Return the last line that a run printed; empty when the journal has none."""
    if not invocation or not is_there("journalctl"):
        return ""
    matches = [f"_SYSTEMD_INVOCATION_ID={invocation}", "_TRANSPORT=stdout"]
    done = ask(["journalctl", "--user", "--quiet", "--lines=1", "--output=cat", *matches])
    return done.text.strip() if done.code == 0 else ""


def _lingering() -> list[str]:
    """Return that lingering is off, if it is."""
    if not is_there("loginctl"):
        return []
    done = ask(["loginctl", "show-user", str(os.getuid()), "--property=Linger"])
    if done.code != 0 or properties(done.text).get("Linger") != "no":
        return []
    return ["it runs only while you are logged in; `loginctl enable-linger` lets it run always"]


def _time(text: str | None) -> datetime | None:
    """Return a time as systemd prints it, in the zone of this place."""
    found = _TIME.search(text or "")
    return datetime.fromisoformat(found[0]).astimezone() if found else None


def _since_boot(text: str) -> datetime | None:
    """Return a time that is told by how long after the start of the machine it is: `2h 5.5s`."""
    parts = re.findall(r"([\d.]+)(d|h|min|ms|us|s)\b", text)
    if not parts or " ".join(map("".join, parts)) != text:  # "infinity", or months and years
        return None
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return datetime.now().astimezone() + timedelta(seconds=seconds - time.monotonic())
