"""Carrying out what was planned for a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag.app.service.cron import made_now
from rag.app.service.programs import run
from rag.app.service.scheduler import Call, Delete, Edit, Step, Write
from rag.exceptions import ConnectionError, Remedy
from rag.support.durable_files import replace_durably


@dataclass
class Outcome:
    """What became of steps.

    :param deleted: the files, and the lines of a crontab, that are gone.
    """

    deleted: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def carry_out(steps: Sequence[Step]) -> Outcome:
    """Do what was planned.

    :raises ConnectionError: when a program fails that must not, or a file cannot be written.
    """
    outcome = Outcome()
    remedy = None  # what undoes what was done before
    for step in steps:
        if isinstance(step, Edit):
            call, gone = made_now(step)
            outcome.notices += _call(call, remedy) if call else []
            outcome.deleted += gone
        elif isinstance(step, Call):
            outcome.notices += _call(step, remedy)
        else:
            _change(step)
            if isinstance(step, Write):
                remedy = Remedy.REMOVE_SERVICE
            else:
                outcome.deleted.append(str(step.path))
    return outcome


def _change(step: Write | Delete) -> None:
    """Write or delete a file.

    :raises ConnectionError: when that cannot be done.
    """
    try:
        if isinstance(step, Write):
            step.path.parent.mkdir(parents=True, exist_ok=True)
            replace_durably(step.path, step.text.encode())
        else:
            step.path.unlink(missing_ok=True)
    except OSError as error:
        raise ConnectionError(
            f"{step.path} cannot be written", details=error.strerror or str(error)
        ) from error


def _call(step: Call, remedy: Remedy | None) -> list[str]:
    """Run a program, and return what there is to know of it.

    :param remedy: what undoes what was done before.
    :raises ConnectionError: when it fails and must not.
    """
    done = run(step.words, step.given)
    if done.code == 0 or step.failing == "normal":
        return []
    why = f"`{' '.join(step.words)}` failed: {done.failure}"
    if step.failing == "notice":
        return [why]
    raise ConnectionError(why, step.words[0], remedy=remedy)
