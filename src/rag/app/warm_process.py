"""The warm process, in which commands run without their start-up time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WarmReport:
    """The warm process, if there is one: a `rag.daemon.control.Status`, whose fields are told."""

    warm: object | None


@dataclass(frozen=True)
class StoppedReport:
    """The numbers of the processes that were ended."""

    stopped: list[int]
