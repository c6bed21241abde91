"""The warm process, in which commands run without their start-up time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    """A warm process: `started` in seconds since 1970; how many `commands` it has begun, and how
    many of them are `running`. `answers` is false for one that is there but says nothing."""

    process: int
    started: int = 0
    commands: int = 0
    running: int = 0
    answers: bool = True


@dataclass(frozen=True)
class WarmReport:
    """The warm process, if there is one."""

    warm: Status | None


@dataclass(frozen=True)
class StoppedReport:
    """The numbers of the processes that were ended."""

    stopped: list[int]
