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
    :param line: the one line of that which is ours, to be shown.
    :param failing: whether it may fail: `error` stops, `notice` is told, `normal` is not.
    """

    words: list[str]
    given: bytes = b""
    line: str = ""
    failing: Literal["error", "notice", "normal"] = "error"


Step = Write | Delete | Call


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
    :param waits: whether the scheduler will run it; `None` where that is not told.
    :param log: where its output is, if it is a file.
    :param notices: what there is to know.
    """

    scheduler: str
    places: list[str]
    every: str
    command: list[str]
    folder: str
    waits: bool | None = None
    is_running: bool = False
    next_run: datetime | None = None
    last_run: LastRun | None = None
    log: str = ""
    notices: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        """Paths that the job names and that are not there any more."""
        return missing_paths([*self.command, self.folder])


class Scheduler(Protocol):
    """What runs a job again and again."""

    name: str
    job: str  # what a job is to it: "the timer rag-index.timer"
    secrets: str  # how a user gives it a variable that is not written down

    def reason_against(self) -> str:
        """Return why it cannot be used here; empty when it can."""

    def plan_install(self, job: Job, interval: Interval) -> list[Step]:
        """Return what puts a job into it, in the place of the one that it holds.

        :raises UsageError: for an interval that it cannot express.
        :raises ConnectionError: when it does not say what it holds.
        """

    def plan_removal(self) -> list[Step]:
        """Return what takes the job out of it; nothing when it holds none.

        :raises ConnectionError: as `plan_install`.
        """

    def find(self) -> Installed | None:
        """Return the job that it holds.

        :raises ConnectionError: as `plan_install`.
        """


def missing_paths(words: Iterable[str]) -> list[str]:
    """Return the whole paths among some words where there is nothing."""
    return [word for word in words if word.startswith("/") and not Path(word).exists()]
