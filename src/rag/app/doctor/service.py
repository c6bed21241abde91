"""Whether the job that indexes at intervals does so."""

from __future__ import annotations

from collections.abc import Iterator

from rag.app.doctor.check import Check, Examination
from rag.app.service import read_service
from rag.exceptions import Message

_NAME = "service"


def check_service(_examination: Examination) -> Iterator[Check]:
    """Look whether the job that a scheduler holds can run, and how it last did.

    Nothing without one, unless a scheduler does not tell.
    """
    found = read_service()
    facts = {"schedulers": [one.scheduler for one in found.installed]}
    for problem in found.problems:
        yield Check(_NAME, "warn", problem.cause, Message(remedy=problem.remedy), facts)
    for unknown in found.unknown:
        yield Check(_NAME, "warn", unknown, facts=facts)
    if found.installed and not found.problems and not found.unknown:
        how = " and ".join(f"{one.scheduler}, every {one.every}" for one in found.installed)
        yield Check(_NAME, "pass", f"the index is kept up to date by {how}", facts=facts)
