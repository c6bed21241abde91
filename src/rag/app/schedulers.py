"""The schedulers that may run a job again and again: systemd, launchd and cron, what each is given,
and how it stands with the job that it holds.

Steps and states have the field names of schema 1.
"""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired, run
from typing import Any, TypedDict
from xml.parsers.expat import ExpatError

from rag.exceptions import ConnectionError, LockedError, UsageError
from rag.text.messages import brief

INSTALL_SERVICE = "`rag service install` installs it anew."
# What the files that we write begin with: without it, one is somebody else's.
HEADING = "Written by `rag service install`; `rag service remove` takes it away."
ALWAYS = "always"  # no interval, 0 minutes: a program that goes on, and is started when it fails
UNANSWERED = 124  # the exit code that `timeout` has
PATIENCE = 5  # seconds
_UNITS = {"d": 1440, "h": 60, "m": 1}  # minutes
# Minutes that divide an hour, or a day by whole hours: runs are at the same times of every day.
EVEN = [n for n in range(1, 1441) if (1440 % n if n % 60 == 0 else 60 % n) == 0]
PLAIN = re.compile(r"[\w./=:@,+-]+", re.ASCII)  # words that every scheduler reads as they are


def parse_interval(text: str) -> int:
    """Return the minutes of an interval: `15m`, `2h`, `1d`.

    :raises UsageError: for any other text, and for what divides neither an hour nor a day.
    """
    match = re.fullmatch(r"(\d{1,9}) ?([smhd])", text.strip(), re.ASCII)
    hint = "Say a number and m, h or d: 15m, 2h, 1d."
    if match is None or match[2] == "s":
        why = ": seconds are not counted" if match else ""
        raise UsageError(f"{text!r} is no interval{why}", hint=hint)
    minutes = int(match[1]) * _UNITS[match[2]]
    if minutes not in EVEN:
        nearest = sorted(sorted(EVEN, key=lambda even: abs(even - minutes))[:2])
        raise UsageError(
            f"{text!r} divides neither an hour nor a day",
            hint=f"Take {' or '.join(map(interval_text, nearest))}.",
        )
    return minutes


def interval_text(minutes: int) -> str:
    """Return an interval in the largest unit that it is a whole number of: `15m`, `2h`, `1d`."""
    if not minutes:
        return ALWAYS
    unit = next(unit for unit, size in _UNITS.items() if minutes % size == 0)
    return f"{minutes // _UNITS[unit]}{unit}"


def how_often(every: str) -> str:
    """Return when a job runs, in words."""
    return every if every == ALWAYS else f"every {every}"


@dataclass(frozen=True)
class Job:
    """What is to be run, the folder that it works in, and variables beside the scheduler's own."""

    command: list[str]
    folder: str
    environment: dict[str, str]

    def __post_init__(self) -> None:
        """Refuse what would end a line of a scheduler's file, or is read differently by some."""
        for text in (*self.command, self.folder, *self.environment.values()):
            if any(unicodedata.category(c) in ("Cc", "Cs") or c in "\\\ufffe\uffff" for c in text):
                why = "it holds a control character or a backslash, or is not UTF-8"
                hint = "Rename the folder or the file, or change the setting."
                raise UsageError(f"no scheduler takes {text!r}: {why}", hint=hint)


class Step(TypedDict, total=False):
    """A file to `write`, one to `delete`, or a program to `run`, which may write a `line` into the
    crontab."""

    write: str
    text: str
    delete: str
    run: list[str]
    line: str


@dataclass(frozen=True)
class LastRun:
    """How the last run ended, as far as a scheduler tells; `line` is the last that it printed."""

    ended: str | None = None
    exit_code: int | None = None
    failed: bool = False
    line: str = ""


@dataclass(frozen=True)
class Installed:
    """A job that a scheduler holds. Times are in ISO 8601.

    :param places: the files it is written in, or what else holds it.
    :param every: `15m`; `always`; or how a crontab has it where it was changed by hand.
    :param waits: whether the scheduler will run it; `None` where that is not told.
    :param missing: paths that the job names and that are not there any more.
    :param log: where its output is, if it is a file.
    """

    scheduler: str
    places: list[str]
    every: str
    command: list[str]
    folder: str
    environment: dict[str, str]
    waits: bool | None
    running: bool = False
    next_run: str | None = None
    last_run: LastRun | None = None
    missing: list[str] = field(init=False)
    log: str = ""

    def __post_init__(self) -> None:
        paths = [word for word in (*self.command, self.folder) if word.startswith("/")]
        object.__setattr__(self, "missing", [path for path in paths if not Path(path).exists()])


@dataclass
class ServiceReport:
    """The job that is installed; several only where schedulers were changed by hand.

    :param problems: why it does not do what it should, each with what mends it.
    :param unknown: what a scheduler does not tell: whether it holds a job, or how that is.
    """

    installed: list[Installed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


class Scheduler:
    """What runs a job again and again.

    `to_install` returns the steps that put a job into it, in the place of the one that it holds;
    `to_remove` those that take it out, none where it holds none; `read` adds the job that it holds
    to a report. They raise `ConnectionError` when it does not say what it holds, and `UsageError`
    for what it cannot do, or a file of somebody else.

    :param job: what a job is to it: "the systemd timer rag-index.timer".
    :param program: that it is told by.
    :param secrets: how a user gives it a variable that is not written down.
    :param stopped: why a job of it does not run, when it does not.
    """

    name: str
    job: str
    program: str
    secrets: str
    stopped: str

    def unusable(self) -> str:
        """Return why it cannot be used here; empty when it can."""
        return "" if shutil.which(self.program) else f"there is no program `{self.program}`"


def _own_text(file: Path) -> str:
    """Return what a file of ours says; nothing for one that somebody else wrote, or linked here."""
    try:
        text = "" if file.is_symlink() else file.read_text("utf-8", "replace")
    except OSError:
        return ""
    return text if HEADING in text[:1024] else ""


def _writes(files: Mapping[Path, str]) -> list[Step]:
    """Return the steps that write files.

    :raises UsageError: where one is there that somebody else wrote.
    """
    for file in files:
        if os.path.lexists(file) and not _own_text(file):
            what = f"{file} was not written by this program, and is left as it is"
            raise UsageError(what, hint="Move it away, or use another scheduler.")
    return [{"write": str(file), "text": text} for file, text in files.items()]


def _run(words: list[str]) -> Step:
    return {"run": words, "line": ""}


def _deletion(file: Path) -> Step:
    return {"delete": str(file)}


def call(
    words: Sequence[str], stdin: bytes = b"", seconds: int = PATIENCE
) -> CompletedProcess[str]:
    """Run a program to its end, its messages in English.

    :return: with why it failed as `stderr`, in one line; bytes that are no UTF-8 are surrogates.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        ran = run(words, input=stdin, capture_output=True, timeout=seconds, env=environment)
    except OSError as error:
        return CompletedProcess(words, 127, "", f"{words[0]} cannot be run ({error})")
    except TimeoutExpired:
        why = f"{words[0]} has not answered for {seconds} seconds"
        return CompletedProcess(words, UNANSWERED, "", why)
    code, message = ran.returncode, brief(ran.stderr.decode(errors="replace"))
    failure = message or f"exit code {code}" if code else ""
    return CompletedProcess(words, code, ran.stdout.decode(errors="surrogateescape"), failure)


# -- systemd -------------------------------------------------------------------------------

TIMER, SERVICE = "rag-index.timer", "rag-index.service"
_CONTROL = ["systemctl", "--user"]
_ENV = "/usr/bin/env"  # which starts a program whose name systemd would refuse, or misread
_STATE = (
    "ActiveState,LastTriggerUSec,NextElapseUSecRealtime,Result,"
    "InvocationID,ExecMainStatus,ExecMainExitTimestamp"
)
# Of the folder nothing is unquoted: the slash keeps a space from its end.
_SERVICE = f"""\
# {HEADING}
[Unit]
Description=rag: {{what}}

[Service]
{{kind}}WorkingDirectory={{folder}}/
{{environment}}ExecStart={{command}}
{{ending}}"""
_BY_TURNS = f"""\
# {LockedError.exit_code}: another run holds the index, which is no failure.
SuccessExitStatus={LockedError.exit_code}
Nice=10
IOSchedulingClass=idle
"""
_LASTING = """\
Restart=on-failure
RestartSec=30

[Install]
WantedBy=default.target
"""
_TIMER = f"""\
# {HEADING}
[Unit]
Description=rag: index notes every {{every}}

[Timer]
OnCalendar={{calendar}}
Persistent=true
RandomizedDelaySec={{delay}}

[Install]
WantedBy=timers.target
"""


class Systemd(Scheduler):
    """The manager that runs while the user is logged in, or always where lingering is on."""

    name = "systemd"
    job = f"the systemd timer {TIMER}"
    program = "systemctl"
    secrets = "Write NAME=VALUE into ~/.config/environment.d/rag.conf, and log in again."
    stopped = f"systemd has it, but does not run it. {INSTALL_SERVICE}"

    def unusable(self) -> str:
        return super().unusable() or call([*_CONTROL, "show", "--property=Version"]).stderr

    def to_install(self, job: Job, minutes: int) -> list[Step]:
        timer, service = _units()
        files = {service: service_unit(job, lasting=not minutes)}
        files |= {timer: timer_unit(minutes)} if minutes else {}
        unit = TIMER if minutes else SERVICE
        begin = _control(["daemon-reload"], ["enable", unit], ["restart", unit])
        return [*self.to_remove(), *_writes(files), *begin]

    def to_remove(self) -> list[Step]:
        """Return what stops and deletes the units; a run of a timer is not interrupted."""
        timer, service = _units()
        files = [file for file in (timer, service) if _own_text(file)]
        units = [TIMER] if timer in files else []
        units += [SERVICE] if _is_lasting(service) else []
        for target, unit in (("timers", timer), ("default", service)):
            enabled = unit.parent / f"{target}.target.wants" / unit.name
            if enabled.is_symlink() and (unit in files or not os.path.lexists(unit)):
                files.insert(0, enabled)
        if not files:
            return []
        stop = _control(*(["disable", "--now", unit] for unit in units))
        return [*stop, *map(_deletion, files), *_control(["daemon-reload"])]

    def read(self, report: ServiceReport) -> None:
        units = _units()
        timer, service = map(_own_text, units)
        if not timer and not service:
            return
        reply = call([*_CONTROL, "show", TIMER, SERVICE, f"--property={_STATE}"])
        if reply.stderr:
            report.unknown.append(f"systemd does not tell how it is: {reply.stderr}")
        linger = call(["loginctl", "show-user", str(os.getuid()), "--property=Linger"])
        if not reply.stderr and linger.stdout.strip() == "Linger=no":
            text = "it runs only while you are logged in; `loginctl enable-linger` lets it run"
            report.notices.append(f"{text} always")
        timer_state, service_state = map(_properties, f"{reply.stdout}\n\n".split("\n\n")[:2])
        every = re.search(r"^Description=.* every (\w+)$", timer, re.MULTILINE)
        is_lasting = _is_lasting(units[1])
        state = service_state if is_lasting else timer_state
        unit, variables = _properties(service), re.findall(r"^Environment=(.*)$", service, re.M)
        command = [word.replace("$$", "$") for word in unit_words(unit.get("ExecStart", ""))]
        report.installed.append(
            Installed(
                self.name,
                [str(file) for file in (units[1:] if is_lasting else units)],
                ALWAYS if is_lasting else every[1] if every else "",
                command[1:] if command[:1] == [_ENV] else command,
                unit.get("WorkingDirectory", "").replace("%%", "%").rstrip("/") or "/",
                dict(word.partition("=")[::2] for line in variables for word in unit_words(line)),
                waits=None if reply.stderr else state.get("ActiveState") == "active",
                running=service_state.get("ActiveState") in ("active", "activating"),
                next_run=_time(timer_state.get("NextElapseUSecRealtime")),
                last_run=_last_run(service_state, _time(timer_state.get("LastTriggerUSec"))),
            )
        )


def _control(*commands: list[str]) -> list[Step]:
    return [_run([*_CONTROL, *words]) for words in commands]


def _units() -> tuple[Path, Path]:
    """Return the files of the timer and the service, where a user's units are."""
    configuration = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(configuration) if configuration.startswith("/") else Path.home() / ".config"
    return home / "systemd" / "user" / TIMER, home / "systemd" / "user" / SERVICE


def _is_lasting(service: Path) -> bool:
    """Return whether a unit of ours is that of a program that goes on."""
    return "\nRestart=" in _own_text(service)


def service_unit(job: Job, lasting: bool = False) -> str:
    """Return the text of the service. `$` begins a variable in a command, and is doubled.

    :param lasting: for a program that goes on, and is started again when it fails.
    """
    variables = (_unit_word(f"{name}={value}") for name, value in job.environment.items())
    starter = [_ENV] if re.search(r"[\"'$]", job.command[0]) else []
    return _SERVICE.format(
        what="keep notes indexed" if lasting else "index notes",
        kind="" if lasting else "Type=oneshot\n",
        folder=job.folder.rstrip("/").replace("%", "%%"),
        environment="".join(f"Environment={variable}\n" for variable in variables),
        command=" ".join(_unit_word(word).replace("$", "$$") for word in [*starter, *job.command]),
        ending=_LASTING if lasting else _BY_TURNS,
    )


def timer_unit(minutes: int) -> str:
    """Return the text of the timer; a run that was slept through is made up for."""
    calendar = "12:00" if minutes == 1440 else f"0/{minutes // 60}:00"
    calendar = f"*:0/{minutes}" if minutes < 60 else calendar
    delay = min(minutes * 6, 300)  # seconds: a tenth
    return _TIMER.format(every=interval_text(minutes), calendar=calendar, delay=delay)


def _unit_word(text: str) -> str:
    """Return a word of a unit: `%` begins what is filled in, and is doubled."""
    escaped = text.replace('"', '\\"').replace("%", "%%")
    return text if PLAIN.fullmatch(text) else f'"{escaped}"'


def unit_words(line: str) -> list[str]:
    """Return the words of a line of a unit; none where it cannot be read."""
    try:
        return [word.replace("%%", "%") for word in shlex.split(line)]
    except ValueError:
        return []


def _properties(text: str) -> dict[str, str]:
    """Return the values of lines such as `Linger=no` by name."""
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def _last_run(service: dict[str, str], triggered: str | None) -> LastRun | None:
    ended = _time(service.get("ExecMainExitTimestamp"))
    if ended is None:  # not since the manager was started, which forgets how runs ended
        return LastRun(triggered) if triggered else None
    run = f"_SYSTEMD_INVOCATION_ID={service.get('InvocationID')}"
    journal = ["journalctl", "--user", "--quiet", "--lines=1", "--output=cat", "_TRANSPORT=stdout"]
    code, line = service.get("ExecMainStatus", ""), call([*journal, run]).stdout.strip()
    failed = service.get("Result") != "success"
    return LastRun(ended, int(code) if code.isdecimal() else None, failed, line)


def _time(text: str | None) -> str | None:
    """Return a time that systemd prints, in ISO 8601."""
    match = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text or "")
    return datetime.fromisoformat(match[0]).astimezone().isoformat() if match else None


# -- launchd -------------------------------------------------------------------------------

LABEL = "org.rag.index"
_DOMAIN = f"gui/{os.getuid()}"
_AGENT = f"{_DOMAIN}/{LABEL}"


class Launchd(Scheduler):
    """The agents of the user who is logged in."""

    name = "launchd"
    job = f"the launchd agent {LABEL}"
    program = "launchctl"
    secrets = "`launchctl setenv NAME VALUE` gives it until you log out."
    stopped = f"launchd has it, but does not run it. {INSTALL_SERVICE}"

    def to_install(self, job: Job, minutes: int) -> list[Step]:
        load = _run(["launchctl", "bootstrap", _DOMAIN, str(_agent_file())])
        return [*self.to_remove(), *_writes({_agent_file(): agent(job, minutes)}), load]

    def to_remove(self) -> list[Step]:
        if not _own_text(_agent_file()):
            return []
        is_loaded = call(["launchctl", "print", _AGENT]).returncode in (0, UNANSWERED)
        unload = [_run(["launchctl", "bootout", _AGENT])] if is_loaded else []
        return [*unload, _deletion(_agent_file())]

    def read(self, report: ServiceReport) -> None:
        if not (text := _own_text(_agent_file())):
            return
        plist: dict[str, Any] = {}
        try:
            plist = plistlib.loads(text.encode())
        except (ValueError, ExpatError) as error:
            report.notices.append(f"{_agent_file()} cannot be read: {error}")
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
                [str(_agent_file())],
                interval_text(plist.get("StartInterval", 0 if "KeepAlive" in plist else 60) // 60),
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
    by_turns = {
        "StartInterval": minutes * 60,
        "RunAtLoad": True,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
    }
    lasting = {"KeepAlive": {"SuccessfulExit": False}, "RunAtLoad": True, "ThrottleInterval": 30}
    text = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": job.command,
            "WorkingDirectory": job.folder,
            "EnvironmentVariables": job.environment,
            **(by_turns if minutes else lasting),
            "StandardOutPath": log,
            "StandardErrorPath": log,
        },
        sort_keys=False,
    ).decode()
    return text.replace("<plist ", f"<!-- {HEADING} -->\n<plist ", 1)


def _agent_file() -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


# -- cron ----------------------------------------------------------------------------------

MARK = "# rag-index: written by rag service"  # which our line ends with
_OURS = re.compile(rf"(?!#)(@\w+|\S+(?:[ \t]+\S+){{4}})[ \t]+(.*?)[ \t]+{MARK}")
# Cron takes a % for the end of a line; its escape is outside of the quotes around.
_ESCAPES = str.maketrans({"'": "'\"'\"'", "%": "'\\%'"})
# All that `crontab -l` says where there is none: Debian's, cronie's and the BSDs', and busybox's.
_EMPTY = re.compile(
    r"(?:crontab: )?(?:no crontab for [^\s:]+|can't open '[^\s/':]+': No such file or directory)",
    re.IGNORECASE,
)
_DAEMONS = {"cron", "crond", "fcron", "dcron"}
_PROCESSES = Path("/proc")


class Cron(Scheduler):
    """The crontab of the user who runs this."""

    name = "cron"
    job = "a line in your crontab"
    program = "crontab"
    secrets = "Write NAME=VALUE into a line of its own above it: `crontab -e`."
    stopped = "no cron daemon is seen here, and without one nothing runs"

    def to_install(self, job: Job, minutes: int) -> list[Step]:
        if not minutes:
            what = "cron starts programs at times, and keeps none running"
            raise UsageError(what, hint="Take `--every 15m`, or `--with systemd` where that runs.")
        _crontab()  # can be read
        return [{"run": ["crontab", "-"], "line": crontab_line(job, minutes)}]

    def to_remove(self) -> list[Step]:
        """Return what takes the line out; a crontab of which nothing is left is removed."""
        ours, others = our_lines()
        return [_run(["crontab", "-" if others else "-r"])] if ours else []

    def read(self, report: ServiceReport) -> None:
        for fields, job in filter(None, map(parse_line, our_lines()[0])):
            minutes = next((minutes for minutes in EVEN if _fields(minutes) == fields), None)
            report.installed.append(
                Installed(
                    self.name,
                    ["crontab"],
                    interval_text(minutes) if minutes else fields,
                    job.command,
                    job.folder,
                    job.environment,
                    waits=None if _may_run() else False,
                )
            )


def crontab_line(job: Job, minutes: int) -> str:
    """Return the line of a job, without its end."""
    given = [f"{name}={value}" for name, value in job.environment.items()]
    # To `env` a path with = in it would be a variable: not to `nice`.
    words = ["env", *given, "nice", "-n", "10", *job.command]
    command = f"cd {_cron_word(job.folder)} && {' '.join(map(_cron_word, words))}"
    return f"{_fields(minutes)} {command} {MARK}"


def _fields(minutes: int) -> str:
    """Return when a line runs."""
    if minutes == 1440:
        return "0 12 * * *"  # at noon, when machines that sleep at night are on
    fields = f"*/{minutes} * * * *" if minutes < 60 else f"0 */{minutes // 60} * * *"
    return fields.replace("*/1 ", "* ")


def _cron_word(text: str) -> str:
    """Return a word of a command of a crontab: for the shell, and before it for cron itself."""
    return text if PLAIN.fullmatch(text) else f"'{text.translate(_ESCAPES)}'"


def parse_line(line: str) -> tuple[str, Job] | None:
    """Return when a line with our mark runs, and what: an empty command where that cannot be told,
    since it was changed by hand; `None` for any other line."""
    match = _OURS.fullmatch(line)
    if match is None:
        return None
    try:
        words = shlex.split(match[2].replace("\\%", "%"))
        nice = words.index("nice")
        job = Job(words[nice + 3 :], words[1], dict(w.split("=", 1) for w in words[4:nice]))
    except (ValueError, IndexError, UsageError):
        job = Job([], "/", {})
    return " ".join(match[1].split()), job


def our_lines() -> tuple[list[str], list[str]]:
    """Return the lines of the crontab: those with our mark, and all others."""
    crontab = _crontab()
    lines = crontab.removesuffix("\n").split("\n") if crontab else []
    ours = [line for line in lines if parse_line(line)]
    return ours, [line for line in lines if line not in ours]


def write_line(line: str) -> None:
    """Write our line into the crontab as it is now, or take it out.

    :raises ConnectionError: when the crontab cannot be read, or is refused.
    """
    lines = [*our_lines()[1], *([line] if line else [])]
    words = ["crontab", "-" if lines else "-r"]
    text = "".join(f"{one}\n" for one in lines).encode(errors="surrogateescape")
    if failure := call(words, text, 10 * PATIENCE).stderr:
        raise ConnectionError(f"`{' '.join(words)}` failed: {failure}", "crontab")


def _crontab() -> str:
    """Return the crontab, which is empty where there is none, or no cron.

    :raises ConnectionError: when it cannot be read: to write another would lose what is in it.
    """
    if not shutil.which("crontab"):
        return ""
    reply = call(["crontab", "-l"])
    if reply.stderr and not (reply.returncode == 1 and _EMPTY.fullmatch(reply.stderr)):
        what, hint = "the crontab cannot be read, and was left as it is", "Look at `crontab -l`."
        raise ConnectionError(what, "crontab", details=reply.stderr, hint=hint)
    return reply.stdout


def _may_run() -> bool:
    """Return whether a cron daemon runs; where processes cannot be listed, one is taken for
    granted."""
    names = set()
    for file in _PROCESSES.glob("[0-9]*/comm"):
        with suppress(OSError):  # it has ended
            names.add(file.read_text("utf-8", "replace").strip())
    return not names or bool(names & _DAEMONS)
