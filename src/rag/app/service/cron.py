"""Cron: one line of the user's crontab, known by its shape and by the comment at its end."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from rag.app.service.scheduler import (
    EVEN,
    PLAIN,
    Installed,
    Job,
    Plan,
    ServiceReport,
    call,
    interval_text,
)
from rag.exceptions import ConnectionError, UsageError

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


class Cron:
    """The crontab of the user who runs this."""

    name = "cron"
    job = "a line in your crontab"
    secrets = "Write NAME=VALUE into a line of its own above it: `crontab -e`."
    stopped = "no cron daemon is seen here, and without one nothing runs"

    def unusable(self) -> str:
        return "" if shutil.which("crontab") else "there is no program `crontab`"

    def plan_install(self, job: Job, minutes: int) -> Plan:
        line = crontab_line(job, minutes)
        return Plan([{"run": ["crontab", "-"], "line": line}], _edited(_read(), line)[1])

    def plan_removal(self) -> Plan:
        """Return what takes the line out; a crontab of which nothing is left is removed."""
        crontab, gone = _edited("" if self.unusable() else _read(), "")
        run = ["crontab", "-" if crontab else "-r"]
        return Plan([{"run": run, "line": ""}], gone) if gone else Plan()

    def read(self, report: ServiceReport) -> None:
        crontab = "" if self.unusable() else _read()
        for fields, job in filter(None, map(parse_line, crontab.split("\n"))):
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
                    next_run=next_run(minutes, datetime.now()) if minutes else None,
                )
            )


def crontab_line(job: Job, minutes: int) -> str:
    """Return the line of a job, without its end.

    :raises UsageError: for an interval that it cannot express.
    """
    if minutes not in EVEN:
        near = sorted(EVEN, key=lambda even: abs(even - minutes))[:2]
        nearest = " or ".join(map(interval_text, sorted(near)))
        what = f"a crontab cannot say every {interval_text(minutes)}"
        raise UsageError(what, hint=f"Take {nearest}.")
    return f"{_fields(minutes)} {_command(job)} {MARK}"


def _fields(minutes: int) -> str:
    """Return when a line runs, for an even interval."""
    if minutes == 1440:
        return "0 12 * * *"  # at noon, when machines that sleep at night are on
    fields = f"*/{minutes} * * * *" if minutes < 60 else f"0 */{minutes // 60} * * *"
    return fields.replace("*/1 ", "* ")


def _command(job: Job) -> str:
    given = [f"{name}={value}" for name, value in job.environment.items()]
    # To `env` a path with = in it would be a variable: not to `nice`.
    words = ["env", *given, "nice", "-n", "10", *job.command]
    return f"cd {_quoted(job.folder)} && {' '.join(map(_quoted, words))}"


def _quoted(text: str) -> str:
    """Return a word of a command of a crontab: for the shell, and before it for cron itself."""
    return text if PLAIN.fullmatch(text) else f"'{text.translate(_ESCAPES)}'"


def parse_line(line: str) -> tuple[str, Job] | None:
    """Return when our line runs, and what; `None` for any other line.

    Ours has our mark, and a command that would be written just so for the job that it names: one
    that says more, or the same in other words, was written by somebody else. The times may differ.
    """
    match = _OURS.fullmatch(line)
    if match is None:
        return None
    try:
        words = shlex.split(match[2].replace("\\%", "%"))
        nice = words.index("nice")
        job = Job(words[nice + 3 :], words[1], dict(w.split("=", 1) for w in words[4:nice]))
    except (ValueError, IndexError, UsageError):
        return None
    is_ours = job.command and _command(job) == match[2]
    return (" ".join(match[1].split()), job) if is_ours else None


def write_line(line: str) -> None:
    """Write our line into the crontab as it is now, or take it out.

    :raises ConnectionError: when the crontab cannot be read, or is refused.
    """
    crontab = _edited(_read(), line)[0].encode(errors="surrogateescape")
    words = ["crontab", "-" if crontab else "-r"]
    if failure := call(words, crontab, patience=10).stderr:
        raise ConnectionError(f"`{' '.join(words)}` failed: {failure}", "crontab")


def _edited(crontab: str, line: str) -> tuple[str, list[str]]:
    """Return a crontab with our line, or without one, and those of our lines that are gone.

    :param line: in the place of the one that is there, or at the end; empty: none.
    """
    new, kept, gone = [line] if line else [], [], []
    for old in crontab.removesuffix("\n").split("\n") if crontab else []:
        if parse_line(old):
            gone += [old] if old != line else []
            kept += new
            new = []
        else:
            kept.append(old)
    return "".join(f"{one}\n" for one in kept + new), gone


def _read() -> str:
    """Return the crontab, which is empty when there is none.

    :raises ConnectionError: when it cannot be read: to write another would lose what is in it.
    """
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


def next_run(minutes: int, now: datetime) -> str:
    """Return when an even interval next begins, in ISO 8601."""
    first = now.replace(hour=12 if minutes == 1440 else 0, minute=0, second=0, microsecond=0)
    periods = (now - first) // timedelta(minutes=minutes) + 1
    return (first + periods * timedelta(minutes=minutes)).astimezone().isoformat()
