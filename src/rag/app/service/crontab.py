"""Our line of a crontab, known by its shape and by the comment at its end."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from rag.app.service.interval import Interval, nearest_even
from rag.app.service.job import PLAIN, Job
from rag.exceptions import UsageError

MARK = "# rag-index: written by rag service"  # which our line ends with
_FIELDS = r"(?:@\w+|\S+(?:[ \t]+\S+){4})"
_MARKED = re.compile(rf"(?P<fields>(?!#){_FIELDS})[ \t]+(?P<command>.*?)[ \t]+{MARK}")
# Cron takes a % for the end of a line, and implementations differ in what `\\` is to them: a
# backslash is written by its number. All of it is outside of the quotes around.
_BACKSLASH = "$(printf '\\134')"
_QUOTED = str.maketrans({"'": "'\"'\"'", "%": "'\\%'", "\\": f"'\"{_BACKSLASH}\"'"})
_NICE = ["nice", "-n", "10"]


@dataclass(frozen=True)
class Entry:
    """Our line of a crontab.

    :param fields: when it runs, a space between two.
    """

    fields: str
    job: Job


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
    return f"{cron_fields(interval)} {_command(job)} {MARK}"


def _command(job: Job) -> str:
    given = [quoted(f"{name}={value}") for name, value in job.environment.items()]
    # To `env` a path with = in it would be a variable: not to `nice`.
    words = ["env", *given, *_NICE, *map(quoted, job.command)]
    return f"cd {quoted(str(job.folder))} && {' '.join(words)}"


def quoted(text: str) -> str:
    """Return a word of a command of a crontab: for the shell, and before it for cron itself."""
    return text if PLAIN.fullmatch(text) else f"'{text.translate(_QUOTED)}'"


def read_entry(line: str) -> Entry | None:
    """Return what our line says; `None` for any other line.

    Ours has our mark, and a command that would be written just so for the job that it names: one
    that says more, or the same in other words, was written by somebody else. The times may differ.
    """
    found = _MARKED.fullmatch(line)
    if found is None:
        return None
    try:
        words = shlex.split(found["command"].replace("\\%", "%"))
        program = words.index(_NICE[0]) + len(_NICE)
        words = [word.replace(_BACKSLASH, "\\") for word in words]
        given = dict(word.split("=", 1) for word in words[4 : program - len(_NICE)])
        job = Job(words[program:], Path(words[1]), given)
    except (ValueError, IndexError, UsageError):
        return None
    if not job.command or _command(job) != found["command"]:
        return None
    return Entry(" ".join(found["fields"].split()), job)


def entries(crontab: bytes) -> list[Entry]:
    """Return what our lines of a crontab say."""
    return [entry for line in _lines(crontab) if (entry := _entry(line))]


def marked_by_others(crontab: bytes) -> list[str]:
    """Return the lines that have our mark and are not as we write them; comments are not told."""
    return [
        _shown(line)
        for line in _lines(crontab)
        if line.rstrip().endswith(MARK.encode())
        and not line.lstrip().startswith(b"#")
        and not _entry(line)
    ]


def with_line(crontab: bytes, line: str) -> tuple[bytes, list[str]]:
    """Return a crontab with our line, or without one, and those of our lines that are gone.

    Each other line is as it was.

    :param line: in the place of the one that is there, or at the end; empty: none.
    """
    ours = [line.encode()] if line else []
    kept: list[bytes] = []
    gone: list[str] = []
    for one in _lines(crontab):
        if _entry(one):
            kept += ours
            ours = []
            gone += [_shown(one)] if one != line.encode() else []
        else:
            kept.append(one)
    kept += ours
    return b"\n".join([*kept, b""]) if kept else b"", gone


def _lines(crontab: bytes) -> list[bytes]:
    return crontab.removesuffix(b"\n").split(b"\n") if crontab else []


def _entry(line: bytes) -> Entry | None:
    try:
        return read_entry(line.decode())
    except UnicodeDecodeError:  # which we write none of
        return None


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace")
