"""Indexing at intervals, or as notes are written: a job in the scheduler of the system (systemd,
launchd or cron), put in, shown and taken out. What was put in is kept in a file of our own, so that
no scheduler's syntax is read back."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired, run
from typing import Any, TypedDict

from rag.app.program_start import program_start
from rag.config import RAGConfig, keys_in_use
from rag.config.files import nearest_file, platform_folder
from rag.exceptions import UPDATE_INDEX, ConnectionError, LockedError, UsageError
from rag.support.files import replace_durably
from rag.text.messages import brief

# What the files that we write begin with: without it, one is somebody else's.
HEADING = "Written by `rag service install`; `rag service remove` takes it away."
_INSTALL_AGAIN = "`rag service install` installs it anew."
_ALWAYS = "always"  # 0 minutes: a program that goes on, and is started when it fails
_UNITS = {"d": 1440, "h": 60, "m": 1, "s": -1}  # minutes
_UNANSWERED = 124  # the exit code that `timeout` has
_PATIENCE = 5  # seconds
_PLAIN = re.compile(r"[\w./=:@,+-]+", re.ASCII)  # words that every scheduler reads as they are


def parse_interval(text: str) -> int:
    """Return the minutes of an interval: `15m`, `2h`, `1d`.

    :raises UsageError: for any other text, and for what divides neither an hour nor a day.
    """
    match = re.fullmatch(r"(\d{1,9}) ?([smhd])", text.strip(), re.ASCII)
    minutes = int(match[1]) * _UNITS[match[2]] if match else -1
    why = "divides neither an hour nor a day"
    if minutes < 0:
        why = f"is not an interval{': seconds are not counted' if match else ''}"
    elif minutes and not (1440 % minutes if minutes % 60 == 0 else 60 % minutes):
        return minutes
    raise UsageError(f"{text!r} {why}", hint="Say a number and m, h or d: 15m, 2h, 1d.")


def interval_text(minutes: int) -> str:
    """Return an interval in its largest unit: `15m`, `2h`, `1d`."""
    if not minutes:
        return _ALWAYS
    unit = next(unit for unit in _UNITS if minutes % _UNITS[unit] == 0)
    return f"{minutes // _UNITS[unit]}{unit}"


def how_often(every: str) -> str:
    """Return when a job runs, in words."""
    return every if every == _ALWAYS else f"every {every}"


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
    """How the last run ended, as far as a scheduler tells."""

    ended: str | None = None
    exit_code: int | None = None
    failed: bool = False


@dataclass
class Installed:
    """A job that a scheduler holds, as it was put in. Times are in ISO 8601.

    :param places: the files it is written in, or what else holds it.
    :param waits: whether the scheduler will run it; `None` where that is not told.
    :param missing: paths that the job names and that are not there any more.
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
    missing: list[str] = field(default_factory=list)
    log: str = ""


@dataclass
class ServiceReport:
    """The job that is installed; several only where schedulers were changed by hand. `unknown` is
    what a scheduler does not tell: whether it holds a job, or how that is."""

    installed: list[Installed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass
class InstallReport:
    """A job that was put into a scheduler, or would be; `installed` is what that holds now.

    :param replaced: the schedulers that held one before.
    :param deleted: the files, and the lines of a crontab, that went, or would.
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


def _call(words: Sequence[str], stdin: str = "", seconds: int = _PATIENCE) -> CompletedProcess[str]:
    """Run a program to its end, its messages in English; `stderr` is why it failed, in a line."""
    given: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}
    given["env"] = {**os.environ, "LC_ALL": "C"}
    try:
        ran = run(words, input=stdin, capture_output=True, timeout=seconds, **given)
    except OSError as error:
        return CompletedProcess(words, 127, "", f"{words[0]} cannot be run ({error})")
    except TimeoutExpired:
        failure = f"{words[0]} has not answered for {seconds} seconds"
        return CompletedProcess(words, _UNANSWERED, "", failure)
    ran.stderr = (brief(ran.stderr) or f"exit code {ran.returncode}") if ran.returncode else ""
    return ran


def _run(*words: str, line: str = "") -> Step:
    return {"run": [*words], "line": line}


def _is_ours(file: Path) -> bool:
    """Return whether we wrote a file; a link to one of ours is somebody else's."""
    try:
        return not file.is_symlink() and HEADING in file.read_text("utf-8", "replace")[:1024]
    except OSError:
        return False


def _last_run(code: str, ended: str | None) -> LastRun | None:
    if not code.isdecimal():
        return LastRun(ended) if ended else None
    return LastRun(ended, int(code), int(code) not in (0, LockedError.exit_code))


def _writes(files: Mapping[Path, str]) -> list[Step]:
    """Return the steps that write files, or refuse to where somebody else wrote one."""
    for file in files:
        if os.path.lexists(file) and not _is_ours(file):
            what = f"{file} was not written by this program, and is left as it is"
            raise UsageError(what, hint="Move it away, or use another scheduler.")
    return [{"write": str(file), "text": text} for file, text in files.items()]


# What the three schedulers have: `places` are the files of ours that they read, or the lines of the
# crontab; `to_install` and `to_remove` return the steps that put a job in, in the place of one that
# they hold, and take it out; `state` returns how a job is, as fields of `Installed`, and adds to a
# report what is not told. They raise `ConnectionError` when one does not say what it holds.


# -- systemd -------------------------------------------------------------------------------

_TIMER, _SERVICE = "rag-index.timer", "rag-index.service"
_CONTROL = ("systemctl", "--user")
_ENV = "/usr/bin/env"  # which starts a program whose name systemd would refuse, or misread
_STATE = "ActiveState,LastTriggerUSec,NextElapseUSecRealtime,ExecMainStatus,ExecMainExitTimestamp"
# Of the folder nothing is unquoted: the slash keeps a space from its end.
_SERVICE_UNIT = f"""\
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
_TIMER_UNIT = f"""\
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


class Systemd:
    """The manager that runs while the user is logged in, or always where lingering is on."""

    name = "systemd"
    program = "systemctl"
    job = f"the systemd timer {_TIMER}"
    secrets = "Write NAME=VALUE into ~/.config/environment.d/rag.conf, and log in again."

    def _units(self) -> list[Path]:
        configuration = os.environ.get("XDG_CONFIG_HOME", "")
        home = Path(configuration) if configuration.startswith("/") else Path.home() / ".config"
        return [home / "systemd" / "user" / unit for unit in (_TIMER, _SERVICE)]

    def places(self) -> list[str]:
        units = self._units()
        links = [
            unit.parent / f"{target}.target.wants" / unit.name
            for target, unit in zip(("timers", "default"), units, strict=True)
            if _is_ours(unit) or not os.path.lexists(unit)
        ]
        return [str(file) for file in (*filter(Path.is_symlink, links), *filter(_is_ours, units))]

    def to_install(self, job: Job, minutes: int) -> list[Step]:
        timer, service = self._units()
        unit = timer.name if minutes else service.name
        texts = {service: service_unit(job, lasting=not minutes)}
        if minutes:
            calendar = "12:00" if minutes == 1440 else f"0/{minutes // 60}:00"
            calendar = f"*:0/{minutes}" if minutes < 60 else calendar
            delay = min(minutes * 6, 300)  # seconds: a tenth
            every = interval_text(minutes)
            texts[timer] = _TIMER_UNIT.format(every=every, calendar=calendar, delay=delay)
        start = (["daemon-reload"], ["enable", unit], ["restart", unit])
        return [*self.to_remove(), *_writes(texts), *(_run(*_CONTROL, *words) for words in start)]

    def to_remove(self) -> list[Step]:
        places, units = self.places(), [unit.name for unit in self._units() if _is_ours(unit)]
        steps = [_run(*_CONTROL, "disable", "--now", *units)] if units else []
        steps += [{"delete": place} for place in places]
        return [*steps, _run(*_CONTROL, "daemon-reload")] if places else []

    def state(self, lasting: bool, report: ServiceReport) -> dict[str, Any]:
        reply = _call([*_CONTROL, "show", _TIMER, _SERVICE, f"--property={_STATE}"])
        if reply.stderr:
            report.unknown.append(f"systemd does not tell how it is: {reply.stderr}")
        linger = _call(["loginctl", "show-user", str(os.getuid()), "--property=Linger"])
        if linger.stdout.strip() == "Linger=no":
            always = "`loginctl enable-linger` lets it run always"
            report.notices.append(f"it runs only while you are logged in; {always}")
        timer, service = (
            dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE))
            for unit in f"{reply.stdout}\n\n".split("\n\n")[:2]
        )
        # Both are empty where the manager was started anew, which forgets how runs ended.
        ended = _time(service.get("ExecMainExitTimestamp", ""))
        code = service.get("ExecMainStatus", "") if ended else ""
        waits = (service if lasting else timer).get("ActiveState") == "active"
        return {
            "waits": None if reply.stderr else waits,
            "running": service.get("ActiveState") in ("active", "activating"),
            "next_run": _time(timer.get("NextElapseUSecRealtime", "")),
            "last_run": _last_run(code, ended or _time(timer.get("LastTriggerUSec", ""))),
        }


def service_unit(job: Job, lasting: bool = False) -> str:
    """Return the text of the service. `$` begins a variable in a command, and is doubled."""
    variables = (_unit_word(f"{name}={value}") for name, value in job.environment.items())
    starter = [_ENV] if re.search(r"[\"'$]", job.command[0]) else []
    return _SERVICE_UNIT.format(
        what="keep notes indexed" if lasting else "index notes",
        kind="" if lasting else "Type=oneshot\n",
        folder=job.folder.rstrip("/").replace("%", "%%"),
        environment="".join(f"Environment={variable}\n" for variable in variables),
        command=" ".join(_unit_word(word).replace("$", "$$") for word in [*starter, *job.command]),
        ending=_LASTING if lasting else _BY_TURNS,
    )


def _unit_word(text: str) -> str:
    """Return a word of a unit: `%` begins what is filled in, and is doubled."""
    escaped = text.replace('"', '\\"').replace("%", "%%")
    return text if _PLAIN.fullmatch(text) else f'"{escaped}"'


def _time(text: str) -> str | None:
    match = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", text)
    return datetime.fromisoformat(match[0]).astimezone().isoformat() if match else None


# -- launchd -------------------------------------------------------------------------------

_LABEL = "org.rag.index"
_LOG = "Library/Logs/rag-index.log"
_DOMAIN = f"gui/{os.getuid()}"


class Launchd:
    """The agents of the user who is logged in."""

    name = "launchd"
    program = "launchctl"
    job = f"the launchd agent {_LABEL}"
    secrets = "`launchctl setenv NAME VALUE` gives it until you log out."

    def _file(self) -> Path:
        return Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"

    def _print(self) -> CompletedProcess[str]:
        return _call(["launchctl", "print", f"{_DOMAIN}/{_LABEL}"])

    def places(self) -> list[str]:
        return [str(self._file())] if _is_ours(self._file()) else []

    def to_install(self, job: Job, minutes: int) -> list[Step]:
        load = _run("launchctl", "bootstrap", _DOMAIN, str(self._file()))
        return [*self.to_remove(), *_writes({self._file(): agent(job, minutes)}), load]

    def to_remove(self) -> list[Step]:
        if not self.places():
            return []
        is_loaded = self._print().returncode in (0, _UNANSWERED)
        unload = [_run("launchctl", "bootout", f"{_DOMAIN}/{_LABEL}")] if is_loaded else []
        return [*unload, {"delete": str(self._file())}]

    def state(self, lasting: bool, report: ServiceReport) -> dict[str, Any]:
        reply = self._print()
        is_silent = reply.returncode == _UNANSWERED
        if is_silent:
            report.unknown.append(f"launchd does not tell how it is: {reply.stderr}")
        values = dict(reversed(re.findall(r"^\s*(\w[\w ]*) = (.*)$", reply.stdout, re.MULTILINE)))
        return {
            "waits": None if is_silent else reply.returncode == 0,
            "running": values.get("state") == "running",
            # A number, or "(never exited)".
            "last_run": _last_run(values.get("last exit code", "").partition(":")[0], None),
            "log": str(Path.home() / _LOG),
        }


def agent(job: Job, minutes: int) -> str:
    """Return the text of the agent's file. It runs at login too: launchd counts from there."""
    by_turns = {"StartInterval": minutes * 60, "RunAtLoad": True, "ProcessType": "Background"}
    by_turns |= {"LowPriorityIO": True, "Nice": 10}
    lasting = {"KeepAlive": {"SuccessfulExit": False}, "RunAtLoad": True, "ThrottleInterval": 30}
    plist = {
        "Label": _LABEL,
        "ProgramArguments": job.command,
        "WorkingDirectory": job.folder,
        "EnvironmentVariables": job.environment,
        **(by_turns if minutes else lasting),
        "StandardOutPath": str(Path.home() / _LOG),
        "StandardErrorPath": str(Path.home() / _LOG),
    }
    text = plistlib.dumps(plist, sort_keys=False).decode()
    return text.replace("<plist ", f"<!-- {HEADING} -->\n<plist ", 1)


# -- cron ----------------------------------------------------------------------------------

_MARK = "# rag-index: written by rag service"  # which our line ends with
# Cron takes a % for the end of a line; its escape is outside of the quotes around.
_ESCAPES = str.maketrans({"'": "'\"'\"'", "%": "'\\%'"})
# All that `crontab -l` says where there is none: Debian's, cronie's and the BSDs', and busybox's.
_EMPTY = re.compile(
    r"(?:crontab: )?(?:no crontab for [^\s:]+|can't open '[^\s/':]+': No such file or directory)",
    re.IGNORECASE,
)


class Cron:
    """The crontab of the user who runs this."""

    name = "cron"
    program = "crontab"
    job = "a line in your crontab"
    secrets = "Write NAME=VALUE into a line of its own above it: `crontab -e`."

    def places(self) -> list[str]:
        return _crontab()[0]

    def to_install(self, job: Job, minutes: int) -> list[Step]:
        if not minutes:
            what = "cron runs programs at fixed times and cannot keep one running"
            raise UsageError(what, hint="Take `--every 15m`, or `--with systemd` where that runs.")
        _crontab()  # can be read
        return [_run("crontab", "-", line=crontab_line(job, minutes))]

    def to_remove(self) -> list[Step]:
        return [_run("crontab", "-")] if self.places() else []

    def state(self, lasting: bool, report: ServiceReport) -> dict[str, Any]:
        return {"waits": None}


def crontab_line(job: Job, minutes: int) -> str:
    """Return the line of a job, without its end."""
    given = [f"{name}={value}" for name, value in job.environment.items()]
    # To `env` a path with = in it would be a variable: not to `nice`.
    words = ["env", *given, "nice", "-n", "10", *job.command]
    command = f"cd {_cron_word(job.folder)} && {' '.join(map(_cron_word, words))}"
    fields = f"*/{minutes} * * * *" if minutes < 60 else f"0 */{minutes // 60} * * *"
    if minutes == 1440:
        fields = "0 12 * * *"  # at noon, when machines that sleep at night are on
    return f"{fields.replace('*/1 ', '* ')} {command} {_MARK}"


def _cron_word(text: str) -> str:
    """Return a word of a command of a crontab: for the shell, and before it for cron itself."""
    return text if _PLAIN.fullmatch(text) else f"'{text.translate(_ESCAPES)}'"


def _crontab() -> tuple[list[str], list[str]]:
    """Return our line and all others, or raise: what cannot be read must not be written over."""
    if not shutil.which("crontab"):
        return [], []
    reply = _call(["crontab", "-l"])
    if reply.stderr and not (reply.returncode == 1 and _EMPTY.fullmatch(reply.stderr)):
        what, hint = "the crontab cannot be read, and was left as it is", "Look at `crontab -l`."
        raise ConnectionError(what, "crontab", details=reply.stderr, hint=hint)
    lines = reply.stdout.removesuffix("\n").split("\n") if reply.stdout else []
    ours = [line for line in lines if line.endswith(_MARK) and line[0] != "#"]
    return ours, [line for line in lines if line not in ours]


# -- all of them ---------------------------------------------------------------------------

Scheduler = Launchd | Systemd | Cron
# In the order in which one is chosen: only macOS has the first, and the last is on both.
SCHEDULERS: dict[str, Scheduler] = {s.name: s for s in (Launchd(), Systemd(), Cron())}


def index_job(
    config: RAGConfig, options: Sequence[str] = (), words: Sequence[str] = ("index", "-q")
) -> Job:
    """Return what runs this program, in the same project and with the same index as here; options
    may name the file of settings."""
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
    :param dry_run: do nothing; no scheduler need work here.
    :raises ConnectionError: when no scheduler works here, or one does not do what it is asked.
    """
    from rag.index.vault_registry import NO_VAULT, configured_vaults

    chosen, notices = _choose(name, dry_run)
    steps, held = chosen.to_install(job, minutes), _held(notices)
    others = [SCHEDULERS[other] for other in held if other != chosen.name]
    removals = [step for other in others for step in other.to_remove()]
    if not configured_vaults(config):
        notices.append(NO_VAULT)
    if keys := sorted({*keys_in_use(config)}):
        secret = f"the job is not given {', '.join(keys)}, a secret. {chosen.secrets}"
        notices.append(secret)  # which is not written down
    record = {"scheduler": chosen.name, "every": interval_text(minutes), **asdict(job)}
    installed = None
    if not dry_run:
        _carry_out(steps)
        _carry_out(removals, notices)
        _carry_out([{"write": str(_record_file()), "text": json.dumps(record)}])
        report = read_service()
        notices += [*report.notices, *report.problems, *report.unknown]
        installed = next(iter(report.installed), None)
    kept = {Path(step["write"]).name if "write" in step else step.get("line") for step in steps}
    return InstallReport(
        **record,
        replaced=[*held],
        steps=[*steps, *removals],
        deleted=[p for places in held.values() for p in places if not {p, Path(p).name} & kept],
        installed=installed,
        notices=notices,
    )


def _choose(name: str, dry_run: bool) -> tuple[Scheduler, list[str]]:
    """Return the named scheduler, or the first that works here, and why systemd does not."""
    if name and name not in SCHEDULERS:
        hint = f"Name one of {', '.join(SCHEDULERS)}."
        raise UsageError(f"unknown scheduler {name!r}", hint=hint)
    reasons: dict[str, str] = {}
    for scheduler in [SCHEDULERS[name]] if name else SCHEDULERS.values():
        reason = ""
        if not shutil.which(scheduler.program):
            reason = f"there is no program `{scheduler.program}`"
        elif scheduler.name == "systemd":
            reason = _call([*_CONTROL, "show", "--property=Version"]).stderr
        if not reason or (name and dry_run):
            systemd = reasons.get("systemd")
            return scheduler, [f"systemd is not used: {systemd}"] if systemd else []
        if name or scheduler.name != "launchd":  # which is a part of macOS, and nowhere else
            reasons[scheduler.name] = reason
    causes = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    hint = (
        "Install cron, or log in so that systemd runs for you (`loginctl enable-linger` as root"
        " starts it at boot). Any other scheduler may run `rag index -q`."
    )
    what = f"{name} cannot be used" if name else "no scheduler works"
    if dry_run:  # what the usual one would be given is the same
        usual = "launchd" if sys.platform == "darwin" else "systemd"
        return SCHEDULERS[usual], [f"{what} here: {causes}. {hint}"]
    raise ConnectionError(f"{what} here: {causes}", hint=hint)


def _carry_out(steps: Iterable[Step], failures: list[str] | None = None) -> None:
    """Carry out steps; where programs may fail, add to `failures` why they did."""
    for step in steps:
        words = step.get("run", [])
        if words[:1] == ["crontab"]:  # our line, in the crontab as it is now, or without it
            lines = [*_crontab()[1], *filter(None, [step["line"]])]
            words = ["crontab", "-" if lines else "-r"]
            text = "".join(f"{line}\n" for line in lines)
            if failure := _call(words, text, 10 * _PATIENCE).stderr:
                raise ConnectionError(f"`{' '.join(words)}` failed: {failure}", "crontab")
        elif words and (failure := _call(words, seconds=10 * _PATIENCE).stderr):
            why = f"`{' '.join(words)}` failed: {failure}"
            if failures is None:
                hint = "`rag service remove` takes away what was written."
                raise ConnectionError(why, words[0], hint=hint)
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


def _record_file() -> Path:
    return platform_folder("user_config_dir") / "service.json"


def _held(failures: list[str]) -> dict[str, list[str]]:
    """Return the places of jobs of ours by scheduler; add to `failures` why one does not tell."""
    held = {}
    for name, scheduler in SCHEDULERS.items():
        try:
            held[name] = scheduler.places() if shutil.which(scheduler.program) else []
        except ConnectionError as error:
            failures.append(f"{name}: {error}")
    return {name: places for name, places in held.items() if places}


def remove() -> RemovalReport:
    """Take the job out of every scheduler; one that does not do what it is asked stops no other."""
    report = RemovalReport()
    for name, places in _held(report.failures).items():
        try:
            _carry_out(SCHEDULERS[name].to_remove(), report.notices)
            report.removed[name] = places
        except ConnectionError as error:
            report.failures.append(f"{name}: {error}")
    return report


def read_service() -> ServiceReport:
    """Return the job that is installed, and what is wrong with it."""
    report = ServiceReport()
    for name, places in _held(report.unknown).items():
        scheduler, files = SCHEDULERS[name], [Path(place) for place in places if place[0] == "/"]
        try:
            record = json.loads(_record_file().read_bytes())
            state = scheduler.state(record["every"] == _ALWAYS, report)
            written = [str(file) for file in files if not file.is_symlink()]
            job = Installed(**record, places=written or ["crontab"], **state)
            paths = [word for word in (*job.command, job.folder) if word.startswith("/")]
        except (OSError, ValueError, LookupError, TypeError):
            record = {}
        if record.get("scheduler") != name:
            report.unknown.append(f"what {name} runs cannot be told. {_INSTALL_AGAIN}")
            continue
        job.missing = [path for path in paths if not Path(path).exists()]
        report.installed.append(job)
        gone = "is not there any more"
        report.problems += [f"{path} {gone}. {_INSTALL_AGAIN}" for path in job.missing]
        if job.waits is False:
            report.problems.append(f"its scheduler does not run it. {_INSTALL_AGAIN}")
        if job.last_run and job.last_run.failed:
            failed = f"the last run failed, with exit code {job.last_run.exit_code}"
            report.problems.append(f"{failed}. {UPDATE_INDEX}")
    return report
