"""What a scheduler is to run: this program, as it is run here."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.app.serving.program_start import program_start
from rag.config import RAGConfig
from rag.config.files import nearest_file
from rag.exceptions import UsageError

# What the files that we write begin with: without it, one is somebody else's.
HEADING = "Written by `rag service install`; `rag service remove` takes it away."
# Words that no scheduler reads as anything but themselves.
PLAIN = re.compile(r"[\w./=:@,+-]+", re.ASCII)
_NO_XML = "\ufffe\uffff"  # which the files of launchd cannot hold
_ROOT = Path("/")  # where no project's file is found


@dataclass(frozen=True)
class Job:
    """What is to be run.

    :param command: its words, the first the whole path of a program.
    :param folder: the folder that it works in.
    :param environment: variables beside those that the scheduler gives.
    """

    command: list[str]
    folder: Path
    environment: dict[str, str]

    def __post_init__(self) -> None:
        """Refuse what the files of schedulers cannot hold.

        :raises UsageError: for control characters, and names that are no UTF-8.
        """
        given = (*self.command, str(self.folder), *self.environment.values())
        for text in given:
            if any(unicodedata.category(one) in ("Cc", "Cs") or one in _NO_XML for one in text):
                raise UsageError(
                    f"no scheduler takes {text!r}: it holds a control character or is not UTF-8",
                    hint="Rename the folder or the file, or change the setting.",
                )


def make_job(config: RAGConfig, arguments: Sequence[str], is_named: bool) -> Job:
    """Return what runs this program as it is run here, in the same project and with the same index.

    :param arguments: those of the command.
    :param is_named: whether they name the file of settings, which is then not looked for.
    :raises UsageError: for paths that no scheduler takes.
    """
    start = program_start(config)
    environment, folder = dict(start.environment), _ROOT
    environment.pop("RAG_WARM", None)  # which is about the commands that a user types
    if not is_named:
        folder = _working_folder(Path.cwd())
        if named := os.environ.get("RAG_CONFIG"):
            environment["RAG_CONFIG"] = str(Path(named).expanduser())
    return Job([*start.program, *arguments], folder, environment)


def _working_folder(here: Path) -> Path:
    """Return where the same project's file is found as here. It is not named to the job: that would
    trust it whatever becomes of it."""
    named = os.environ.get("RAG_CONFIG")
    if named:
        return _ROOT if Path(named).expanduser().is_absolute() else here
    nearest = nearest_file(here)
    return nearest[1] if nearest else _ROOT
