"""Running the programs by which schedulers are governed."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

from rag.text.messages import brief

UNANSWERED, NOT_STARTED = 124, 127  # as `timeout` and shells have them
_TO_TELL, _TO_DO = 5.0, 60.0  # seconds that a program has


@dataclass(frozen=True)
class Done:
    """How a program ended.

    :param output: what it printed, byte for byte: names in other encodings are kept.
    :param error: what it said on stderr, as one line.
    """

    code: int
    output: bytes
    error: str

    @property
    def failure(self) -> str:
        """Why it failed; empty when it did not."""
        return self.error or f"exit code {self.code}" if self.code else ""

    @property
    def text(self) -> str:
        """What it printed, as text."""
        return self.output.decode("utf-8", "replace")


def is_there(program: str) -> bool:
    """Return whether a program is on the path."""
    return shutil.which(program) is not None


def ask(words: list[str]) -> Done:
    """Run a program that only tells something: as `run`, but it has seconds, not a minute."""
    return run(words, patience=_TO_TELL)


def run(words: list[str], given: bytes = b"", patience: float | None = None) -> Done:
    """Run a program to its end, its messages in English.

    One that does not end or cannot be started is told by its code, with the reason as its error.

    :param given: what it reads on stdin.
    :param patience: the seconds after which it is killed; without it, a minute.
    """
    patience = patience or _TO_DO
    try:
        ran = subprocess.run(
            words,
            input=given,
            capture_output=True,
            timeout=patience,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError as error:
        return Done(NOT_STARTED, b"", f"{words[0]} cannot be run ({error})")
    except subprocess.TimeoutExpired:
        return Done(UNANSWERED, b"", f"{words[0]} has not answered for {patience:.0f} seconds")
    said = ran.stderr.decode("utf-8", "replace")
    return Done(ran.returncode, ran.stdout, brief(said))


def properties(text: str) -> dict[str, str]:
    """Return the values of lines such as `Linger=no`, by name; the last of a name counts."""
    pairs = (line.partition("=") for line in text.split("\n"))
    return {name.strip(): value.strip(" \t\r") for name, equals, value in pairs if equals}
