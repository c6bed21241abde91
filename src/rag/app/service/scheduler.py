"""What every scheduler can do: plan how a job gets into it and out of it, and tell what it holds.

What is planned is a list of steps, so that it can be shown before it is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from rag.app.service.interval import Interval
from rag.app.service.job import Job


@dataclass(frozen=True)
class Write:
    """A file to be written."""

    path: Path
    text: str


@dataclass(frozen=True)
class Delete:
    """A file to be deleted, if it is there."""

    path: Path


@dataclass(frozen=True)
class Call:
    """A program to be run.

    :param given: what it reads on stdin.
    :param failing: whether it may fail: `error` stops, `notice` is told, `normal` is not.
    """

    words: list[str]
    given: bytes = b""
    failing: Literal["error", "notice", "normal"] = "error"


@dataclass(frozen=True)
class Edit:
    """A change of our line of the crontab, made in what the crontab is when it is carried out.

    :param words: the program that it takes, as far as can be told before.
    :param line: the line that it is to hold, without its end; empty: none.
    :param deleted: the lines that go, as far as can be told before.
    """

    words: list[str]
    line: str
    deleted: list[str]


Step = Write | Delete | Call | Edit


@dataclass(frozen=True)
class Removal:
    """What takes a job out of a scheduler.

    :param steps: none when it holds no job.
    :param notices: what is left, since somebody else wrote it, or what there is to know.
    """

    steps: list[Step] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LastRun:
    """How the last run ended, as far as a scheduler tells.

    :param ended: when; `None` where that is not told.
    :param exit_code: `None` where that is not told.
    :param failed: whether the scheduler takes it for a failure.
    :param line: the last line that it printed.
    """

    ended: datetime | None = None
    exit_code: int | None = None
    failed: bool = False
    line: str = ""


@dataclass(frozen=True)
class Installed:
    """A job that a scheduler holds.

    :param places: the files it is written in, or what else holds it.
    :param every: `15m`, or how the scheduler writes it where it was changed by hand.
    :param environment: the variables that it is given.
    :param waits: whether the scheduler will run it; `None` where that is not told.
    :param obstacle: why it will not, where that is known.
    :param log: where its output is, if it is a file.
    """

    scheduler: str
    places: list[str]
    every: str
    command: list[str]
    folder: str
    environment: dict[str, str] = field(default_factory=dict)
    waits: bool | None = None
    obstacle: str = ""
    is_running: bool = False
    next_run: datetime | None = None
    last_run: LastRun | None = None
    log: str = ""

    @property
    def missing(self) -> list[str]:
        """Paths that the job names and that are not there any more."""
        return missing_paths([*self.command, self.folder])


@dataclass(frozen=True)
class Found:
    """What a scheduler holds.

    :param job: ours; `None` when it holds none.
    :param notices: what there is to know, such as what has our name and is not ours.
    :param unknown: what it does not tell.
    """

    job: Installed | None = None
    notices: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


class Scheduler(Protocol):
    """What runs a job again and again."""

    name: str
    job: str  # what a job is to it: "the timer rag-index.timer"
    secrets: str  # how a user gives it a variable that is not written down

    def reason_against(self) -> str:
        """Return why it cannot be used here; empty when it can."""

    def plan_install(self, job: Job, interval: Interval) -> list[Step]:
        """Return what puts a job into it, in the place of the one that it holds.

        :raises UsageError: for an interval that it cannot express, and where somebody else's file
            is in the way.
        :raises ConnectionError: when it does not say what it holds.
        """

    def plan_removal(self) -> Removal:
        """Return what takes the job out of it.

        :raises ConnectionError: as `plan_install`.
        """

    def find(self) -> Found:
        """Return the job that it holds.

        :raises ConnectionError: as `plan_install`.
        """


def missing_paths(words: Iterable[str]) -> list[str]:
    """Return the whole paths among some words where there is nothing."""
    return [word for word in words if word.startswith("/") and not Path(word).exists()]
