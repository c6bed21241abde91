"""Cron: one line of the user's crontab, known by the comment at its end."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from pathlib import Path

from rag.app.service.interval import EVEN, Interval, nearest_even
from rag.app.service.job import Job
from rag.app.service.programs import Done, is_there, run
from rag.app.service.scheduler import Call, Installed, Step
from rag.exceptions import ConnectionError, UsageError

MARK = "# rag service"  # which our line ends with
_EMPTY = re.compile(r"no crontab for|can't open .*: No such file", re.IGNORECASE)
_FIELDS = r"(?:@\w+|\S+(?:[ \t]+\S+){4})"
_OURS = re.compile(rf"\s*(?P<fields>(?!#){_FIELDS})[ \t]+(?P<command>.*?)\s*{MARK}\s*")
_PLAIN = re.compile(r"[\w./=:@,+-]+", re.ASCII)
# Cron takes a % for the end of a line, and implementations differ in what `\\` is to them: a
# backslash is written by its number. All of it is outside of the quotes around.
_BACKSLASH = "$(printf '\\134')"
_QUOTED = str.maketrans({"'": "'\"'\"'", "%": "'\\%'", "\\": f"'\"{_BACKSLASH}\"'"})
_NICE = ["nice", "-n", "10"]
_DAEMONS = {"cron", "crond", "fcron", "dcron"}


class Cron:
    """The crontab of the user who runs this."""

    name = "cron"
    job = "a line in your crontab"
    secrets = "Write NAME=VALUE into a line of its own above it: `crontab -e`."

    def reason_against(self) -> str:
        """Return why there is no crontab here; empty when there is one, or may be."""
        return "" if is_there("crontab") else "there is no program `crontab`"

    def plan_install(self, job: Job, interval: Interval) -> list[Step]:
        """Return what writes a line into the crontab.

        :raises UsageError: for an interval that no line can express.
        :raises ConnectionError: when the crontab cannot be read.
        """
        line = crontab_line(job, interval)
        return [_write(with_line(_read(), line), line)]

    def plan_removal(self) -> list[Step]:
        """Return what takes the line out; an empty crontab is removed.

        :raises ConnectionError: when the crontab cannot be read.
        """
        if self.reason_against():
            return []
        before = _read()
        after = with_line(before, "")
        if after == before:
            return []
        return [_write(after, "") if after else Call(["crontab", "-r"])]

    def find(self) -> Installed | None:
        """Return the job in the crontab.

        :raises ConnectionError: when it cannot be read.
        """
        if self.reason_against():
            return None
        lines = _read().decode("utf-8", "replace").split("\n")
        found = next(filter(None, map(_OURS.fullmatch, lines)), None)
        if found is None:
            return None
        fields = " ".join(found["fields"].split())
        interval = next((one for one in EVEN if cron_fields(one) == fields), None)
        folder, command = words_of(found["command"])
        return Installed(
            self.name,
            ["crontab"],
            str(interval or fields),
            command,
            folder,
            next_run=interval.next_after(datetime.now()).astimezone() if interval else None,
            notices=[]
            if _may_run()
            else ["no cron daemon is seen here, and without one nothing runs"],
        )


def cron_fields(interval: Interval) -> str:
    """Return the five fields of a crontab's line.

    :raises UsageError: for an interval that they cannot express.
    """
    if not interval.is_even:
        near = " or ".join(map(str, nearest_even(interval)))
        raise UsageError(
            f"a crontab cannot say every {interval}",
            hint=f"The nearest that it can say: {near}.",
        )
    minutes, hours = interval.minutes, interval.minutes // 60
    if minutes < 60:
        return f"*/{minutes} * * * *" if minutes > 1 else "* * * * *"
    if hours < 24:
        return f"0 */{hours} * * *" if hours > 1 else "0 * * * *"
    return "0 12 * * *"


def crontab_line(job: Job, interval: Interval) -> str:
    """Return the line of a job, without its end.

    :raises UsageError: for an interval that it cannot express.
    """
    given = [quoted(f"{name}={value}") for name, value in job.environment.items()]
    # To `env` a path with = in it would be a variable: not to `nice`.
    words = ["env", *given, *_NICE, *map(quoted, job.command)]
    place = quoted(str(job.folder))
    return f"{cron_fields(interval)} cd {place} && {' '.join(words)} {MARK}"


def quoted(text: str) -> str:
    """Return a word of a command of a crontab: for the shell, and before it for cron itself."""
    return text if _PLAIN.fullmatch(text) else f"'{text.translate(_QUOTED)}'"


def words_of(command: str) -> tuple[str, list[str]]:
    """Return the folder and the command, as `Job` has them, of the command of our line.

    Both are empty where it was changed so that they cannot be told.
    """
    try:
        words = shlex.split(command.replace("\\%", "%"))
        program = words.index(_NICE[0]) + len(_NICE)
    except ValueError:
        return "", []
    words = [word.replace(_BACKSLASH, "\\") for word in words]
    return words[1], words[program:]


def with_line(crontab: bytes, line: str) -> bytes:
    """Return a crontab with our line, or without one; each other line is as it was.

    :param line: in the place of the one that is there, or at the end; empty: none.
    """
    ours = [line.encode()] if line else []
    kept: list[bytes] = []
    for one in crontab.removesuffix(b"\n").split(b"\n") if crontab else []:
        if _OURS.fullmatch(one.decode("utf-8", "replace")):
            kept += ours
            ours = []
        else:
            kept.append(one)
    kept += ours
    return b"\n".join([*kept, b""]) if kept else b""


def _write(crontab: bytes, line: str) -> Call:
    return Call(["crontab", "-"], crontab, line)


def _read() -> bytes:
    """Return the crontab, which is empty when there is none.

    :raises ConnectionError: when it cannot be read: to write another would lose what is in it.
    """
    done: Done = run(["crontab", "-l"])
    if done.code == 0:
        return done.output
    if _EMPTY.search(done.error):
        return b""
    raise ConnectionError(
        "the crontab cannot be read, and was left as it is",
        "crontab",
        details=done.error or f"exit code {done.code}",
        hint="Look at it with `crontab -l`.",
    )


def _may_run() -> bool:
    """Return whether a cron daemon runs, as far as can be seen: where processes are not listed as
    on Linux, one is taken for granted."""
    names = set()
    for file in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.add(file.read_text("utf-8", "replace").strip())
        except OSError:  # it has ended
            continue
    return not names or bool(names & _DAEMONS)
