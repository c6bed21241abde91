"""What is run at intervals, what a scheduler does for that, and how it stands with a job.

Steps and states have the field names of schema 1.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired, run
from typing import NamedTuple, Protocol, TypedDict

from rag.app.serving.program_start import program_start
from rag.config import RAGConfig
from rag.config.files import nearest_file
from rag.exceptions import UsageError
from rag.text.messages import brief

INSTALL_SERVICE = "`rag service install` installs it anew."

# What the files that we write begin with: without it, one is somebody else's.
HEADING = "Written by `rag service install`; `rag service remove` takes it away."
UNANSWERED = 124  # the exit code that `timeout` has
_PATIENCE = 5  # seconds
_UNITS = {"d": 1440, "h": 60, "m": 1}  # minutes
# Minutes that divide an hour, or a day by whole hours: runs are at the same times of every day.
EVEN = [n for n in range(1, 1441) if (1440 % n if n % 60 == 0 else 60 % n) == 0]
# Words that every scheduler reads as they are.
PLAIN = re.compile(r"[\w./=:@,+-]+", re.ASCII)


def parse_interval(text: str) -> int:
    """Return the minutes of an interval: `15m`, `2h`, `1d`.

    :raises UsageError: for any other text, and for less than a minute or more than 30 days.
    """
    match = re.fullmatch(r"(\d{1,9}) ?([smhd])", text.strip(), re.ASCII)
    minutes = int(match[1]) * _UNITS.get(match[2], 0) if match else 0
    if 1 <= minutes <= 30 * _UNITS["d"]:
        return minutes
    why = ": 1m is the least, 30d the most" if match else ""
    why = ": seconds are not counted" if match and match[2] == "s" else why
    hint = "Say a number and m, h or d: 15m, 2h, 1d."
    raise UsageError(f"{text!r} is no interval{why}", hint=hint)


def interval_text(minutes: int) -> str:
    """Return an interval in the largest unit that it is a whole number of: `15m`, `2h`, `1d`."""
    unit = next(unit for unit, size in _UNITS.items() if minutes % size == 0)
    return f"{minutes // _UNITS[unit]}{unit}"


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


def index_job(config: RAGConfig, options: Sequence[str] = ()) -> Job:
    """Return what indexes with this program, in the same project and with the same index as here.

    :param options: those that name the file of settings; without them it is looked for.
    """
    start = program_start(config)
    # The warm process is about commands that a user types.
    environment = {name: value for name, value in start.environment.items() if name != "RAG_WARM"}
    named = "" if options else os.environ.get("RAG_CONFIG", "")
    if named:
        environment["RAG_CONFIG"] = str(Path(named).expanduser().absolute())
    # The project's file is found again from its folder. To name it would trust it for ever.
    nearest = None if options or named else nearest_file(Path.cwd())
    command = [*start.program, "index", "-q", *options]
    return Job(command, str(nearest[1]) if nearest else "/", environment)


class Step(TypedDict, total=False):
    """A file to `write`, one to `delete`, or a program to `run`, which may write a `line` into the
    crontab."""

    write: str
    text: str
    delete: str
    run: list[str]
    line: str


class Plan(NamedTuple):
    """Steps, and the files and lines of a crontab that go by them."""

    steps: Sequence[Step] = ()
    deletes: Sequence[str] = ()


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
    :param every: `15m`, or how a crontab has it where it was changed by hand.
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


class Scheduler(Protocol):
    """What runs a job again and again. It raises `ConnectionError` when it does not say what it
    holds, and `UsageError` for an interval that it cannot express, or a file of somebody else.

    :param job: what a job is to it: "the systemd timer rag-index.timer".
    :param secrets: how a user gives it a variable that is not written down.
    :param stopped: why a job of it does not run, when it does not.
    """

    name: str
    job: str
    secrets: str
    stopped: str

    def unusable(self) -> str:
        """Return why it cannot be used here; empty when it can."""

    def plan_install(self, job: Job, minutes: int) -> Plan:
        """Return what puts a job into it, in the place of the one that it holds."""

    def plan_removal(self) -> Plan:
        """Return what takes the job out of it; no steps where it holds none."""

    def read(self, report: ServiceReport) -> None:
        """Add the job that it holds to a report."""


def own_text(file: Path) -> str:
    """Return what a file of ours says; nothing for one that somebody else wrote, or linked here."""
    try:
        text = "" if file.is_symlink() else file.read_text("utf-8", "replace")
    except OSError:
        return ""
    return text if HEADING in text[:1024] else ""


def write_files(files: Mapping[Path, str]) -> list[Step]:
    """Return the steps that write files.

    :raises UsageError: where one is there that somebody else wrote.
    """
    for file in files:
        if os.path.lexists(file) and not own_text(file):
            what = f"{file} was not written by this program, and is left as it is"
            raise UsageError(what, hint="Move it away, or use another scheduler.")
    return [{"write": str(file), "text": text} for file, text in files.items()]


def call(words: Sequence[str], stdin: bytes = b"", patience: int = 1) -> CompletedProcess[str]:
    """Run a program to its end, its messages in English.

    :return: with why it failed as `stderr`, in one line; bytes that are no UTF-8 are surrogates.
    """
    seconds, environment = _PATIENCE * patience, {**os.environ, "LC_ALL": "C"}
    try:
        ran = run(words, input=stdin, capture_output=True, timeout=seconds, env=environment)
    except OSError as error:
        return CompletedProcess(words, 127, "", f"{words[0]} cannot be run ({error})")
    except TimeoutExpired:
        why = f"{words[0]} has not answered for {seconds} seconds"
        return CompletedProcess(words, UNANSWERED, "", why)
    code, said = ran.returncode, brief(ran.stderr.decode(errors="replace"))
    failure = said or f"exit code {code}" if code else ""
    return CompletedProcess(words, code, ran.stdout.decode(errors="surrogateescape"), failure)


def properties(text: str) -> dict[str, str]:
    """Return the values of lines such as `Linger=no` by name."""
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
